package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

// app is what every command shares: the streams it prints to and the flags that say which Stoker is meant.
type app struct {
	self           string // how this program was called
	stdout, stderr io.Writer

	output  string // -o
	dataDir string
	nats    natsFlags
	root    string
	verbose bool
}

// natsFlags say which bus is meant, and who asks. Creds, NKey and CA are files.
type natsFlags struct{ url, creds, nkey, ca string }

func (a *app) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&a.output, "output", "o", formatTable, "format of results: table or json")
	flags.StringVar(&a.dataDir, "data", defaultDataDir(), "data folder of the local stack")
	flags.StringVar(&a.nats.url, "nats", os.Getenv("NATS_URL"), "NATS server; default: the local stack (NATS_URL)")
	flags.StringVar(&a.nats.creds, "nats-creds", os.Getenv("NATS_CREDS"), "file with a user's JWT and seed for --nats (NATS_CREDS)")
	flags.StringVar(&a.nats.nkey, "nats-nkey", os.Getenv("NATS_NKEY"), "file with a user's nkey seed for --nats (NATS_NKEY)")
	flags.StringVar(&a.nats.ca, "nats-ca", os.Getenv("NATS_CA"), "file with the certificates that --nats is checked against (NATS_CA)")
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
