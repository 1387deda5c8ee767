package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// Options of the servers.
type Options struct {
	DataDir string // absolute; created if it does not exist
	BusPort int    // 0: the port of the last start while it is free, else any
	S3Port  int    // the same
	// Receives notifications of new objects; the zero value: none are sent.
	Notify bucket.Notifications
	Logger *slog.Logger
}

// Servers are the running bus and store.
type Servers struct {
	bus     *natsserver.Server
	bucket  *bucket.Server
	dataDir string
}

// With runs both servers while do runs, then stops them. It returns ErrInUse, wrapped, if another
// process runs servers on the data directory, the error of the server that does not start, or do's
// error.
func With(ctx context.Context, opts Options, do func(context.Context, *Servers) error) (err error) {
	held, err := lock(opts.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	s, err := start(ctx, opts)
	defer func() { err = errors.Join(err, s.close()) }()
	if err != nil {
		return err
	}
	return do(ctx, s)
}

// start starts both servers at once. With an error, those that did start are to be closed.
func start(ctx context.Context, opts Options) (*Servers, error) {
	s, last := &Servers{dataDir: opts.DataDir}, lastPorts(opts.DataDir)
	var starting errgroup.Group
	starting.Go(func() (err error) {
		s.bus, err = onPort(opts.BusPort, last.Bus, func(port int) (*natsserver.Server, error) {
			return natsserver.Start(ctx, natsserver.Options{Dir: busDir(opts.DataDir), Port: port, Logger: opts.Logger})
		})
		return err
	})
	starting.Go(func() (err error) {
		s.bucket, err = onPort(opts.S3Port, last.S3, func(port int) (*bucket.Server, error) {
			return bucket.Start(ctx, bucket.Options{Dir: storeDir(opts.DataDir), Port: port, Notify: opts.Notify, Logger: opts.Logger})
		})
		return err
	})
	return s, starting.Wait()
}

// close stops the servers that were started.
func (s *Servers) close() error {
	var errs []error
	if s.bus != nil {
		errs = append(errs, s.bus.Close())
	}
	if s.bucket != nil {
		errs = append(errs, s.bucket.Close())
	}
	return errors.Join(errs...)
}

// Connection returns how clients reach the servers; root is where artifacts go.
func (s *Servers) Connection(root string) Connection {
	keys := s.bucket.Credentials()
	return Connection{
		NATS: s.bus.URL(), S3: s.bucket.Endpoint(), AccessKey: keys.AccessKey, SecretKey: keys.SecretKey, Root: root, PID: os.Getpid(),
	}
}

// BusAddress returns the URL of the bus without its credentials.
func (s *Servers) BusAddress() string { return s.bus.Address() }

// Watch returns nil when ctx ends, and an error when a server ends before.
func (s *Servers) Watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.bus.Done():
		if err := s.bus.Err(); err != nil {
			return fmt.Errorf("the embedded NATS server has ended because it can't write: %w; free disk space, and start again: everything acknowledged is stored", err)
		}
		return errors.New("the embedded NATS server has ended")
	case <-s.bucket.Done():
		return errors.New("the embedded S3 server has ended")
	}
}

// ErrInUse is in the chain of the error if another process runs servers on the data directory.
var ErrInUse = errors.New("another stoker runs on this data folder")

// ErrFolder is in the chain of the error if the data directory can't be made or written to.
var ErrFolder = errors.New("can't be used as data folder")

func folderError(dataDir string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // the directory is named
	}
	return fmt.Errorf("%s: %w: %w", dataDir, ErrFolder, err)
}

// lock keeps other processes off the directory: two servers on one file store destroy it. The
// operating system releases the lock when the process ends, however it ends.
func lock(dataDir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, folderError(dataDir, err)
	}
	l := flock.New(filepath.Join(dataDir, "lock"))
	got, err := l.TryLock()
	if err != nil {
		return nil, folderError(dataDir, err)
	}
	if !got {
		return nil, fmt.Errorf("%s: %w", dataDir, ErrInUse)
	}
	return l, nil
}

// ports are those that the servers had last. They are kept in the data directory, so that workers
// and clients find the servers again after a restart.
type ports struct {
	Bus int `json:"bus"`
	S3  int `json:"s3"`
}

func portsFile(dataDir string) string { return filepath.Join(dataDir, "ports.json") }

// lastPorts returns a preference only: without a readable file they are zero, which is any port.
func lastPorts(dataDir string) (last ports) {
	if text, err := os.ReadFile(portsFile(dataDir)); err == nil {
		_ = json.Unmarshal(text, &last)
	}
	return last
}

// keepPorts writes the ports of a connection.
func (c Connection) keepPorts(dataDir string) error {
	text, err := json.Marshal(ports{portOf(c.NATS), portOf(c.S3)})
	if err != nil {
		return err
	}
	return os.WriteFile(portsFile(dataDir), append(text, '\n'), 0o600)
}

func portOf(address string) int {
	at, err := url.Parse(address)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(at.Port())
	return port
}

// onPort starts a server on the requested port. If any port will do, it tries the last one first,
// and another if the server can't start there.
func onPort[S any](requested, last int, start func(port int) (S, error)) (S, error) {
	if requested == 0 && last != 0 {
		if server, err := start(last); err == nil {
			return server, nil
		}
	}
	return start(requested)
}
