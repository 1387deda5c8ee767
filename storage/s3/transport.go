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

// newTransport is minio-go's own, with connections that detect a peer that has gone silent.
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

// trust makes a transport trust only the certificates in a PEM file; "" means the system's.
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

// unusedFor is how long a new connection waits for its first request. net/http opens more
// connections than it needs when many requests start at once, and some servers don't stop until the
// client closes the unused ones.
const unusedFor = time.Second

// watched closes a connection on which no bytes have moved for a while, so that a stream can't hang
// forever. Bytes in either direction count, because the answer is awaited during the whole upload
// of a large object.
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

// Trusted checks once whether the certificate of a server behind TLS is trusted. It returns nil for
// a server that can't be reached: the next request reports that. Without it, minio-go treats a
// rejected certificate as a transient error, and retries for long. The connection is reused by the
// next request.
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
