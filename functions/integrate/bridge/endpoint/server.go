package endpoint

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Limits of connections.
const (
	maxConnections = 512
	maxHeader      = 32 << 10 // bytes
	headerTime     = 5 * time.Second
	readTime       = 30 * time.Second // of a whole request
	answerTime     = 60 * time.Second // until a request is answered
	idleTime       = 2 * time.Minute
	shutdownTime   = storeTime + 5*time.Second
)

// Serve answers requests on a listener until ctx ends, then completes those in progress, and
// returns nil. It closes the listener. With config it uses TLS.
func (e *Endpoint) Serve(ctx context.Context, listener net.Listener, config *tls.Config) error {
	server := &http.Server{
		Handler:           e,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      answerTime,
		IdleTimeout:       idleTime,
		TLSConfig:         config,
		// Failed handshakes.
		ErrorLog: slog.NewLogLogger(e.logger.Handler(), slog.LevelDebug),
	}
	bounded := &limited{Listener: listener, slots: make(chan struct{}, maxConnections), closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() {
		if config != nil {
			served <- server.ServeTLS(bounded, "", "")
			return
		}
		served <- server.Serve(bounded)
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	err := server.Shutdown(ctx)
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// limited accepts a connection only while fewer than cap(slots) are open. Others wait in the
// kernel's queue.
type limited struct {
	net.Listener
	slots  chan struct{}
	close  sync.Once
	closed chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slot{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limited) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// slot is one connection of a limited listener.
type slot struct {
	net.Conn
	release func()
}

func (s *slot) Close() error {
	defer s.release()
	return s.Conn.Close()
}

// authorized reports whether a request has the token: as a bearer token, or as the password of
// basic authentication, for clients that only accept a URL. The comparison takes constant time. An
// empty token matches no request.
func authorized(r *http.Request, token string) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if _, password, ok := r.BasicAuth(); ok {
		scheme, given = "Bearer", password
	}
	is, want := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(is[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer") && token != ""
}

// isLoopbackName reports whether the host of a request names this machine by a name that no other
// site can have.
func isLoopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
