package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// app is what every command shares: the streams it prints to and the flags that say which Stoker is meant.
type app struct {
	stdout, stderr io.Writer

	output  string // -o
	dataDir string
	natsURL string
	root    string
	verbose bool
}

func (a *app) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&a.output, "output", "o", formatTable, "format of results: table or json")
	flags.StringVar(&a.dataDir, "data", defaultDataDir(), "data folder of the local stack")
	flags.StringVar(&a.natsURL, "nats", os.Getenv("NATS_URL"), "NATS server; default: the local stack (NATS_URL)")
	flags.StringVar(&a.root, "root", envOr("STOKER_ROOT", "s3://stoker"), "where artifacts go (STOKER_ROOT)")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what is done to standard error")
}

// defaultDataDir follows the XDG base directory specification.
func defaultDataDir() string {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "stoker")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "stoker-data"
	}
	return filepath.Join(home, ".local", "share", "stoker")
}

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

// logger writes to standard error: warnings only, or everything with -v.
func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}

// link is a connection to one Stoker.
type link struct {
	box   events.Letterbox
	store storage.Store
	root  storage.Ref
}

// withLink connects for as long as do runs: to the servers that flags or environment name, else to the local stack.
func (a *app) withLink(ctx context.Context, do func(context.Context, link) error) error {
	root, err := storage.ParseRef(a.root)
	if err != nil {
		return usage(fmt.Errorf("--root: %w", err))
	}
	natsURL, s3Config, err := a.addresses(&root)
	if err != nil {
		return err
	}
	store, err := s3.Open(ctx, s3Config)
	if err != nil {
		return unreachable(fmt.Errorf("object store: %w", err))
	}
	box, err := jetstream.Connect(ctx, natsURL, jetstream.Options{Logger: a.logger()})
	if err != nil {
		return unreachable(fmt.Errorf("bus: %w", err))
	}
	defer box.Close()
	return do(ctx, link{box: box, store: store, root: root})
}

// addresses says where bus and store are. A local stack also says where its artifacts go.
func (a *app) addresses(root *storage.Ref) (string, s3.Config, error) {
	if a.natsURL != "" {
		config, err := s3.FromEnv()
		return a.natsURL, config, err
	}
	connection, err := local.ReadConnection(a.dataDir)
	if errors.Is(err, local.ErrNotRunning) {
		return "", s3.Config{}, unreachable(fmt.Errorf("%w: start `stoker up`, or name a server with --nats", err))
	}
	if err != nil {
		return "", s3.Config{}, err
	}
	*root, err = storage.ParseRef(connection.Root)
	return connection.NATS, connection.Store(), err
}
