package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// TLS names the files for TLS. They are read again at run time, so that certificates can be
// renewed.
type TLS struct {
	Cert, Key string // certificate and key, in PEM
	ClientCA  string // certificates that sign those of clients; "" requires none of clients
}

// rereadTime is the maximum age of the files in use.
const rereadTime = 10 * time.Second

// Config reads the files. If they can't be read again later, the earlier ones stay in use, and
// logger reports it.
func (t TLS) Config(logger *slog.Logger) (*tls.Config, error) {
	first, err := t.read()
	if err != nil {
		return nil, err
	}
	return (&tlsFiles{TLS: t, logger: logger, now: time.Now, config: first, read: time.Now()}).server(), nil
}

func (t TLS) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", t.Cert, t.Key, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{pair},
		NextProtos:   []string{"h2", "http/1.1"},
		// A resumed session would outlive the authority of the client's certificate.
		SessionTicketsDisabled: true,
	}
	if t.ClientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(t.ClientCA)
	if err != nil {
		return nil, err
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %w", t.ClientCA, errors.New("expected certificates in PEM"))
	}
	return config, nil
}

// tlsFiles are the files as last read.
type tlsFiles struct {
	TLS
	logger *slog.Logger
	now    func() time.Time

	mu     sync.Mutex
	config *tls.Config
	read   time.Time
}

// server returns the configuration of a server that uses the current files for each connection.
func (f *tlsFiles) server() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.get(), nil },
		Certificates:       f.config.Certificates, // without any, a server does not start
	}
}

func (f *tlsFiles) get() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now().Sub(f.read) < rereadTime {
		return f.config
	}
	f.read = f.now()
	config, err := f.TLS.read()
	if err != nil {
		f.logger.Warn("certificates not reloaded; the previous ones stay in use", "error", err)
		return f.config
	}
	f.config = config
	return config
}
