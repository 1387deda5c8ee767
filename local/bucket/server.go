package bucket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/gofrs/flock"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

// Options of Start.
type Options struct {
	Dir    string       // holds everything: buckets, metadata, credentials, a lock. Made if need be
	Host   string       // to listen on; "" is 127.0.0.1
	Port   int          // 0 is any free one
	Tell   Tell         // whom to tell of new objects; zero: nobody
	Logger *slog.Logger // nil logs nothing
}

// ErrInUse says that another process serves the same Dir, or that this process has a server already.
var ErrInUse = errors.New("in use")

// Server is one running S3 server. It must be closed.
type Server struct {
	endpoint string
	creds    Credentials
	stop     context.CancelFunc
	lock     *flock.Flock
	log      *slog.Logger

	done chan struct{} // closed when the server is down
	err  error         // why; readable after done
	once sync.Once
}

const portTries = 5

// Start starts a server and returns when it answers. It runs until Close, or until it fails, not until ctx ends: ctx is for
// the start alone.
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
	s, err := start(ctx, dir, lock, opts)
	if err != nil {
		return nil, fmt.Errorf("start bucket server in %s: %w", dir, errors.Join(err, lock.Unlock()))
	}
	return s, nil
}

func start(ctx context.Context, dir string, lock *flock.Flock, opts Options) (*Server, error) {
	creds, err := loadCredentials(filepath.Join(dir, "credentials.json"))
	if err != nil {
		return nil, err
	}
	for range portTries {
		var s *Server
		s, err = listen(ctx, dir, creds, opts)
		if err == nil {
			s.lock = lock
			return s, nil
		}
		if opts.Port != 0 || !errors.Is(err, errPortTaken) {
			return nil, err
		}
	}
	return nil, err
}

var errPortTaken = errors.New("port is taken")

// listen makes one try on one port.
func listen(ctx context.Context, dir string, creds Credentials, opts Options) (*Server, error) {
	addr, err := pickAddress(opts)
	if err != nil {
		return nil, err
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	be, err := newBackend(dir, log)
	if err != nil {
		return nil, err
	}
	be.tell = opts.Tell
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{endpoint: "http://" + addr, creds: creds, stop: stop, log: log, done: make(chan struct{})}
	listening := make(chan struct{})
	cfg := gateway(addr, creds)
	cfg.S3Options = []s3api.Option{s3api.WithOnListen(func() { close(listening) })}
	go func() { // Close waits for it
		defer close(s.done)
		s.err = embedgw.RunVersityGW(serving, be, cfg)
	}()
	if err := s.ready(ctx, listening); err != nil {
		stop()
		<-s.done
		return nil, err
	}
	s.log.Info("bucket server ready", "endpoint", s.endpoint, "dir", dir)
	return s, nil
}

func gateway(addr string, creds Credentials) *embedgw.Config {
	root := auth.Account{Access: creds.AccessKey, Secret: creds.SecretKey, Role: auth.RoleAdmin}
	return &embedgw.Config{
		IAMService:        auth.NewIAMServiceSingle(root), // the gateway would make the same one, and print that it did
		RootUserAccess:    creds.AccessKey,
		RootUserSecret:    creds.SecretKey,
		Ports:             []string{addr},
		MaxConnections:    4096,
		MaxRequests:       4096,
		MultipartMaxParts: 10000,
		HealthPath:        "/healthz",
		KeepAlive:         true,
		Quiet:             true,
	}
}

// pickAddress finds a free port, because the gateway can't tell which one it got. Somebody else may take it first; then
// another is tried.
func pickAddress(opts Options) (string, error) {
	host := opts.Host
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(opts.Port)))
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// ready waits until the port is bound: from then on, requests are answered.
func (s *Server) ready(ctx context.Context, listening <-chan struct{}) error {
	select {
	case <-listening:
		return nil
	case <-s.done:
		return s.whyDown()
	case <-ctx.Done():
		return fmt.Errorf("wait for %s to listen: %w", s.endpoint, context.Cause(ctx))
	}
}
