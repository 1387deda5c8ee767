package s3

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

// newTransport is minio-go's own, with connections that notice when the other side has gone silent.
func newTransport(secure bool, stall time.Duration) (*http.Transport, error) {
	if stall <= 0 {
		stall = defaultStall
	}
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &watched{Conn: conn, stall: stall}, nil
	}
	t.ResponseHeaderTimeout = stall
	t.MaxIdleConnsPerHost = 64
	return t, nil
}

// watched ends a connection on which nothing has moved for a while: a stream can't hang for ever. Bytes in either direction
// count, because an answer is awaited all the while a large object is sent.
type watched struct {
	net.Conn
	stall time.Duration
}

func (c *watched) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *watched) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
