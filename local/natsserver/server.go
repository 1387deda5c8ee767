package natsserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options of a server. Only Dir is needed.
type Options struct {
	Dir  string // made if need be; holds the file store and the password
	Host string // to listen on; default 127.0.0.1, so that no other machine gets in
	Port int    // 0 for any free one
	// Also serve NATS's monitoring pages, over HTTP, on loopback; they ask for no password.
	Monitor bool
	// Every write reaches the disk before it is acknowledged: slower, safe against power loss.
	SyncAlways bool
	Logger     *slog.Logger // default: none
}

// Server is a running NATS server. Its methods may be called from many goroutines.
type Server struct {
	server   *server.Server
	password string
	log      *log
	ended    chan struct{} // closed once all of the server has ended
	fault    atomic.Pointer[error]
}

// readyTimeout is far above the milliseconds that a start takes: a server that was cut off reads
// all of its log again before it listens.
const readyTimeout = 10 * time.Minute

var (
	errNotReady = errors.New("not ready in " + readyTimeout.String())
	errEnded    = errors.New("the server ended before it was ready")
)

// Start runs a server and returns once it takes connections. ctx limits the start only; Close ends
// the server.
func Start(ctx context.Context, opts Options) (*Server, error) {
	password, err := readPassword(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("bus password: %w", err)
	}
	if err := free(ctx, opts); err != nil {
		return nil, fmt.Errorf("start bus in %s: %w", opts.Dir, err)
	}
	log := newLog(opts.Logger)
	nats, err := server.NewServer(serverOptions(opts, password))
	if err != nil {
		return nil, fmt.Errorf("start bus in %s: %w", opts.Dir, err)
	}
	nats.SetLoggerV2(log, false, false, false)
	s := &Server{server: nats, password: password, log: log, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		nats.Start() // returns once it listens, or can't
		nats.WaitForShutdown()
	}()
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start bus in %s: %w", opts.Dir, err), s.Close())
	}
	go s.watch()
	return s, nil
}

// free returns an error if the requested port is in use. The server would only log that.
func free(ctx context.Context, opts Options) error {
	if opts.Port == 0 {
		return nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(cmp.Or(opts.Host, "127.0.0.1"), strconv.Itoa(opts.Port)))
	if err != nil {
		return err
	}
	return listener.Close()
}

func serverOptions(opts Options, password string) *server.Options {
	port := opts.Port
	if port == 0 {
		port = server.RANDOM_PORT
	}
	out := &server.Options{
		ServerName:                 "stoker",
		Host:                       cmp.Or(opts.Host, "127.0.0.1"),
		Port:                       port,
		JetStream:                  true,
		StoreDir:                   filepath.Join(opts.Dir, "jetstream"),
		SyncAlways:                 opts.SyncAlways,
		NoSigs:                     true,
		CustomClientAuthentication: gate{password: password},
	}
	if opts.Monitor {
		out.HTTPHost, out.HTTPPort = "127.0.0.1", server.RANDOM_PORT
	}
	return out
}

// ready waits until the server accepts connections, and returns an error if it does not.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNotReady)
	defer cancel()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	// The server has no signal for it; it listens last, when everything else runs.
	for s.server.Addr() == nil {
		select {
		case <-s.log.failed:
			return errors.New(s.log.fatal)
		case <-s.ended:
			return errEnded
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
	return nil
}

// URL returns the server's address with the credentials that it asks for: not for logs.
func (s *Server) URL() string {
	return (&url.URL{Scheme: "nats", User: url.UserPassword(user, s.password), Host: s.host()}).String()
}

// Address returns the server's address without credentials.
func (s *Server) Address() string { return (&url.URL{Scheme: "nats", Host: s.host()}).String() }

func (s *Server) host() string { return s.server.Addr().String() }

// MonitorAddress returns where the monitoring pages are, host:port; "" without Options.Monitor.
func (s *Server) MonitorAddress() string {
	if addr := s.server.MonitorAddr(); addr != nil {
		return net.JoinHostPort(addr.IP.String(), fmt.Sprint(addr.Port))
	}
	return ""
}

// Close ends the server, and returns when all of it has ended and what it stored is in the files.
// Closing again is success.
func (s *Server) Close() error {
	s.server.Shutdown()
	<-s.ended
	return nil
}

// Done returns closed when the server ends, whether it was stopped or not. A server that can no
// longer write to its disk ends by itself, and Err returns why.
func (s *Server) Done() <-chan struct{} { return s.ended }

// The server is checked so often, and must have the same state so many times: a stream that is just
// being removed is missing too.
const (
	lookEvery = 2 * time.Second
	looks     = 3
)

// watch ends a server that can't write to its disk. It would store no more messages, even if the
// disk has space again, until it is restarted; what it has acknowledged is in its files.
func (s *Server) watch() {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for last, same := "", 0; ; {
		select {
		case <-s.ended:
			return
		case <-look.C:
		}
		now := s.server.Healthz(&server.HealthzOptions{}).Error
		if now != last {
			last, same = now, 0
		}
		if same++; now != "" && same == looks {
			fault := errors.New(now)
			s.fault.Store(&fault)
			s.server.Shutdown()
			return
		}
	}
}

// Err returns why the server has ended by itself; nil if it runs, or was stopped.
func (s *Server) Err() error {
	if fault := s.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// log passes the server's messages to slog. The server's own logger would print, and end the
// process on a fatal error.
type log struct {
	to     *slog.Logger
	failed chan struct{} // closed at the first fatal error
	once   sync.Once
	fatal  string // set before failed is closed
}

func newLog(to *slog.Logger) *log {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return &log{to: to, failed: make(chan struct{})}
}

const said = "nats-server" // the message; the server's text is an attribute

func (l *log) Noticef(format string, v ...any) { l.to.Debug(said, "text", fmt.Sprintf(format, v...)) }
func (l *log) Debugf(format string, v ...any)  { l.to.Debug(said, "text", fmt.Sprintf(format, v...)) }
func (l *log) Tracef(format string, v ...any)  { l.to.Debug(said, "text", fmt.Sprintf(format, v...)) }
func (l *log) Warnf(format string, v ...any)   { l.to.Warn(said, "text", fmt.Sprintf(format, v...)) }
func (l *log) Errorf(format string, v ...any)  { l.to.Error(said, "text", fmt.Sprintf(format, v...)) }

// Fatalf logs the server's last message: Start returns after it by itself.
func (l *log) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.to.Error(said, "text", text)
	l.once.Do(func() { l.fatal = text; close(l.failed) })
}
