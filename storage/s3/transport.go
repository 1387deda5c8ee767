package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// newTransport is minio-go's own, with connections that notice when the other side has gone silent.
func newTransport(secure bool, stall time.Duration, rootCA string) (*http.Transport, error) {
	if stall <= 0 {
		stall = defaultStall
	}
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	if err := trust(t, rootCA); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return watch(conn, stall), nil
	}
	t.ResponseHeaderTimeout = stall
	t.MaxIdleConnsPerHost = 64
	return t, nil
}

// trust has servers' certificates checked against those in a file, in PEM, and no others; "" leaves it at the system's.
func trust(t *http.Transport, rootCA string) error {
	if rootCA == "" {
		return nil
	}
	pem, err := os.ReadFile(rootCA)
	if err != nil {
		return fmt.Errorf("certificates of the store: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("certificates of the store: %s: expected certificates in PEM", rootCA)
	}
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.TLSClientConfig.RootCAs = pool
	return nil
}

// unusedFor is how long a new connection waits for its first request. net/http opens more than it needs when many requests come at
// once, and some servers don't end before somebody closes those on which none ever came.
const unusedFor = time.Second

// watched ends a connection on which nothing has moved for a while: a stream can't hang forever. Bytes in either direction
// count, because an answer is awaited all the while a large object is sent.
type watched struct {
	net.Conn
	stall  time.Duration
	unused *time.Timer // until the first Write
}

func watch(conn net.Conn, stall time.Duration) *watched {
	return &watched{Conn: conn, stall: stall, unused: time.AfterFunc(unusedFor, func() { conn.Close() })}
}

func (c *watched) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *watched) Write(p []byte) (int, error) {
	c.unused.Stop()
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *watched) Close() error {
	c.unused.Stop()
	return c.Conn.Close()
}

// Trusted asks a server behind TLS once whether its certificate is one to trust: nil, too, of one that can't be reached, which what is
// asked of it next will say. minio-go takes a certificate that is refused for a fault of the moment, and tries for long.
// The connection stays for what comes next.
func (s *Store) Trusted(ctx context.Context) error {
	if !strings.HasPrefix(s.endpoint, "https:") {
		return nil
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, s.endpoint, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := s.transport.RoundTrip(req)
	if err == nil {
		return answer.Body.Close()
	}
	if _, refused := errors.AsType[*tls.CertificateVerificationError](err); refused {
		return err
	}
	return nil
}
