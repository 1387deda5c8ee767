package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

// Options of Start.
type Options struct {
	// Contains everything: buckets, metadata, credentials, a lock. Created if missing.
	Dir    string
	Host   string        // to listen on; "" is 127.0.0.1
	Port   int           // 0 is any free one
	Notify Notifications // of new objects; the zero value sends none
	Logger *slog.Logger  // nil logs nothing
}

// ErrInUse is in the chain of the error if another server uses the same Dir.
var ErrInUse = errors.New("in use")

// Server is one running S3 server. It must be closed.
type Server struct {
	endpoint      string
	creds         Credentials
	notifications Notifications
	log           *slog.Logger
	files         *files
	lock          *flock.Flock
	http          *http.Server
	requests      atomic.Uint64
	completed     completed
	unused        connections

	done    chan struct{} // closed when the server is down
	failure error         // why, unless it was closed; readable after done
	once    sync.Once
	closing error
}

const (
	// Limit for a request's headers, so that idle connections are closed.
	headerTime = 30 * time.Second
	closeTime  = 10 * time.Second // for requests that are under way at Close
)

// Start starts a server and returns when it answers. It runs until Close, or until it fails, not
// until ctx ends: ctx is for the start alone.
func Start(ctx context.Context, opts Options) (*Server, error) {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("start bucket server: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("start bucket server: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, fmt.Errorf("start bucket server: folder %s: %w", dir, errors.Join(ErrInUse, err))
	}
	s, err := start(ctx, dir, opts)
	if err != nil {
		return nil, fmt.Errorf("start bucket server in %s: %w", dir, errors.Join(err, lock.Unlock()))
	}
	s.lock = lock
	s.log.InfoContext(ctx, "bucket server ready", "endpoint", s.endpoint, "dir", dir)
	return s, nil
}

func start(ctx context.Context, dir string, opts Options) (*Server, error) {
	creds, err := loadCredentials(filepath.Join(dir, "credentials.json"))
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(cmp.Or(opts.Host, "127.0.0.1"), strconv.Itoa(opts.Port)))
	if err != nil {
		return nil, err
	}
	files, err := openFiles(dir)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &Server{
		endpoint: "http://" + listener.Addr().String(), creds: creds, notifications: opts.Notify, log: opts.Logger, files: files, done: make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, ConnState: s.unused.follow, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	go func() { // Close waits for it
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failure = err
		}
	}()
	return s, nil
}

// Endpoint returns the server's URL: http://127.0.0.1:<port>.
func (s *Server) Endpoint() string { return s.endpoint }

// Credentials open every bucket of the server.
func (s *Server) Credentials() Credentials { return s.creds }

// Done returns closed when the server is down: after Close, or because it failed.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close stops the server and returns when it is down and its folder is free. It can be called more
// than once. Requests that are under way have ten seconds to end.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.unused.close()
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		err := s.http.Shutdown(ctx)
		if err != nil {
			err = s.http.Close()
		}
		<-s.done
		s.closing = errors.Join(s.failure, err, s.files.close(), s.lock.Unlock())
		s.log.Info("bucket server closed", "endpoint", s.endpoint)
	})
	return s.closing
}

// connections are those on which no request has come yet, which net/http would wait for.
type connections struct {
	mu    sync.Mutex
	known map[net.Conn]bool
}

// follow is a hook of http.Server.
func (c *connections) follow(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state != http.StateNew {
		delete(c.known, conn)
		return
	}
	if c.known == nil {
		c.known = map[net.Conn]bool{}
	}
	c.known[conn] = true
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.known {
		_ = conn.Close() // no bytes were received on it
	}
}

// completed remembers the uploads that were completed last: a client that lost the answer asks
// again.
type completed struct {
	mu    sync.Mutex
	etags map[string]string
	order []string
}

const completedMost = 1000

func (c *completed) add(r *request, etag string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.etags == nil {
		c.etags = map[string]string{}
	}
	if len(c.order) == completedMost {
		delete(c.etags, c.order[0])
		c.order = c.order[1:]
	}
	name := r.URL.Path + "?" + r.query.Get("uploadId")
	c.etags[name], c.order = etag, append(c.order, name)
}

// of returns the ETag of the object that an upload became; "" if it isn't one of the last ones.
func (c *completed) of(r *request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.etags[r.URL.Path+"?"+r.query.Get("uploadId")]
}
