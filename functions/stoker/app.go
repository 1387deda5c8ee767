package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// app is what every command shares: the streams it prints to, and what was set that says which Stoker is meant.
type app struct {
	self           string // how this program was called
	stdout, stderr *terminal.Stream
	flags          *pflag.FlagSet // those of all commands

	configFile     string
	verbose, quiet bool

	found   *settings.Settings // by configure
	log     *slog.Logger       // likewise
	output  string             // format of results
	dataDir string             // of the local stack
}

// addFlags adds a flag for each setting that has one. What they say is asked of the settings, which know of the other places too.
func (a *app) addFlags(flags *pflag.FlagSet) {
	a.flags = flags
	for _, s := range settings.All() {
		switch {
		case s.Key == settings.Output:
			flags.StringP(s.Flag, "o", s.Default, s.Help())
		case s.Key == settings.Data:
			flags.String(s.Flag, defaultDataDir(), s.Help())
		case s.Flag != "":
			flags.String(s.Flag, s.Default, s.Help())
		}
	}
	flags.StringVar(&a.configFile, "config-file", "", "file with settings (STOKER_CONFIG); default: config.yaml in ~/.config/stoker; the config command shows them")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what is done to standard error")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "only results, warnings and errors: no progress, no remarks")
}

// settings are what was set. They are looked for once.
func (a *app) settings() (*settings.Settings, error) {
	if a.found != nil {
		return a.found, nil
	}
	given := map[settings.Key]string{}
	for _, s := range settings.All() {
		if flag := a.flags.Lookup(s.Flag); flag != nil && flag.Changed {
			given[s.Key] = flag.Value.String()
		}
	}
	home, _ := os.UserHomeDir() // without one there are no files
	found, err := settings.Find(settings.Sources{Flags: given, Environ: os.Environ(), Home: home, File: a.configFile})
	if err != nil {
		return nil, exit.Usage(err)
	}
	a.found = found
	return found, nil
}

// configure finds what every command needs, and refuses an unknown format before anything is done.
func (a *app) configure() error {
	found, err := a.settings()
	if err != nil {
		return err
	}
	if a.log, err = a.openLog(found); err != nil {
		return exit.Usage(err)
	}
	format := found.Value(settings.Output)
	a.output, a.dataDir = format.Text, found.Value(settings.Data).Text
	return checkOutput(format)
}

func defaultDataDir() string {
	home, _ := os.UserHomeDir()
	return settings.DataDir(os.Environ(), home)
}

// logger writes to standard error, in the format and from the level on that the settings say.
func (a *app) logger() *slog.Logger {
	if a.log == nil { // of commands that ask for no settings
		return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return a.log
}

// openLog reads the settings of the log. -v logs everything and -q errors only, whatever the level that is set elsewhere.
func (a *app) openLog(found *settings.Settings) (*slog.Logger, error) {
	var level slog.Level
	asked := found.Value(settings.LogLevel)
	if err := level.UnmarshalText([]byte(asked.Text)); err != nil {
		return nil, fmt.Errorf("log.level (%s) %q: expected debug, info, warn or error", asked.From, asked.Text)
	}
	switch {
	case a.verbose:
		level = slog.LevelDebug
	case a.quiet:
		level = slog.LevelError
	}
	format := found.Value(settings.LogFormat)
	to := io.Writer(a.stderr)
	if format.Text == telemetry.LogJSON {
		to = a.stderr.Data(terminal.JSON)
	}
	handler, err := telemetry.NewLog(to, format.Text, level)
	if err != nil {
		return nil, fmt.Errorf("log.format (%s) %w", format.From, err)
	}
	return slog.New(handler), nil
}

// notes is where goes what is neither result nor error.
func (a *app) notes() io.Writer {
	if a.quiet {
		return io.Discard
	}
	return a.stderr
}
