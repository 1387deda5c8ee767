// Package app is shared by all commands: settings, output, connections to the bus and the store,
// flags and completion. Read App first.
package app

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// App is shared by all commands: the streams to which they print, and the settings that select the
// Stoker to use.
type App struct {
	Self            string // the name with which this program was called
	Version, Commit string
	ThirdParty      string // licenses and notices of the linked components
	Stdout, Stderr  *terminal.Stream
	Flags           *pflag.FlagSet // the flags of all commands

	configFile     string
	verbose, quiet bool

	Found   *settings.Settings // set by Configure
	log     *slog.Logger       // set by Configure
	Output  string             // format of results
	DataDir string             // of the local stack
}

// AddFlags adds to the root a flag for each setting that has one, with its completion. Their help
// comes from the settings, which also name the other sources.
func (a *App) AddFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	a.Flags = flags
	for _, s := range settings.All() {
		switch {
		case s.Key == settings.Output:
			flags.StringP(s.Flag, "o", s.Default, s.Help())
			CompleteFlag(root, s.Flag, terminal.Formats()...)
		case s.Key == settings.Data:
			flags.String(s.Flag, DefaultDataDir(), s.Help())
		case s.Flag != "":
			flags.String(s.Flag, s.Default, s.Help())
			if len(s.Words) > 0 {
				CompleteFlag(root, s.Flag, s.Words...)
			}
		}
		if s.Key == settings.BusContext {
			completeFlag(root, s.Flag, a.contextNames)
		}
	}
	flags.StringVar(&a.configFile, "config-file", "", "file with settings (STOKER_CONFIG); default: config.yaml in ~/.config/stoker; the config command shows them")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log each step to standard error")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print only results, warnings and errors: no progress, no notes")
}

// Settings returns the settings. They are read once.
func (a *App) Settings() (*settings.Settings, error) {
	if a.Found != nil {
		return a.Found, nil
	}
	given := map[settings.Key]string{}
	for _, s := range settings.All() {
		if flag := a.Flags.Lookup(s.Flag); flag != nil && flag.Changed {
			given[s.Key] = flag.Value.String()
		}
	}
	home, _ := os.UserHomeDir() // without one there are no files
	found, err := settings.Find(settings.Sources{Flags: given, Environ: os.Environ(), Home: home, File: a.configFile})
	if err != nil {
		return nil, exit.Usage(err)
	}
	a.Found = found
	return found, nil
}

// Configure reads the settings that every command needs, and rejects an unknown format before
// anything is done.
func (a *App) Configure() error {
	found, err := a.Settings()
	if err != nil {
		return err
	}
	if a.log, err = a.openLog(found); err != nil {
		return exit.Usage(err)
	}
	format := found.Value(settings.Output)
	a.Output, a.DataDir = format.Text, found.Value(settings.Data).Text
	return checkOutput(format, terminal.ListFormats())
}

// CheckOutput rejects a format that a command does not have if a flag asks for it. A setting for
// all commands applies to those that have the format; the others print tables.
func (a *App) CheckOutput(cmd *cobra.Command) error {
	format := a.Found.Value(settings.Output)
	switch {
	case InfoOf(cmd).Names != "" || slices.Contains(terminal.Formats(), format.Text):
		return nil
	case format.From == flagOutput:
		return checkOutput(format, terminal.Formats())
	}
	a.Output = terminal.Table
	return nil
}

// flagOutput is the source of a format that the command line gives.
const flagOutput = "--output"

func DefaultDataDir() string {
	home, _ := os.UserHomeDir()
	return settings.DataDir(os.Environ(), home)
}

// Logger returns the logger to standard error, with the format and level of the settings.
func (a *App) Logger() *slog.Logger {
	if a.log == nil { // for commands without settings
		return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return a.log
}

// openLog reads the settings of the log. -v logs everything and -q only errors, whatever the
// configured level.
func (a *App) openLog(found *settings.Settings) (*slog.Logger, error) {
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
	to := io.Writer(a.Stderr)
	if format.Text == telemetry.LogJSON {
		to = a.Stderr.Data(terminal.JSON)
	}
	handler, err := telemetry.NewLog(to, format.Text, level)
	if err != nil {
		return nil, fmt.Errorf("log.format (%s) %w", format.From, err)
	}
	return slog.New(handler), nil
}

// Verbose reports whether each step is logged.
func (a *App) Verbose() bool { return a.verbose }

// Notes returns the writer for output that is neither result nor error.
func (a *App) Notes() io.Writer {
	if a.quiet {
		return io.Discard
	}
	return a.Stderr
}

// Command returns a command of this program for the user to type: called in the same way, so that
// it finds the same data.
func (a *App) Command(args string) string {
	words := []string{Invocation(a.Self), args}
	if a.DataDir != DefaultDataDir() {
		words = append(words, "--data", Quoted(a.DataDir))
	}
	return strings.Join(words, " ")
}

// CommandOf is Command for words that are not yet quoted.
func (a *App) CommandOf(words ...string) string {
	quotedWords := make([]string, len(words))
	for i, word := range words {
		quotedWords[i] = Quoted(word)
	}
	return a.Command(strings.Join(quotedWords, " "))
}

// Invocation returns what to type for a program that was called as self. go run starts a binary in
// a temporary folder, or in its cache, which nobody would type.
func Invocation(self string) string {
	if strings.Contains(filepath.ToSlash(self), "/go-build") {
		return "go run ./functions/stoker"
	}
	return Quoted(self)
}

// Quoted quotes a word for a shell.
func Quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+@%,"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// checkOutput rejects a format that is not among those that are expected.
func checkOutput(format settings.Value, expected []string) error {
	if slices.Contains(expected, format.Text) {
		return nil
	}
	named := "-o"
	if format.From != flagOutput {
		named = format.From + ": output:"
	}
	last := len(expected) - 1
	return exit.Usage(fmt.Errorf("%s %s: expected %s or %s", named, format.Text, strings.Join(expected[:last], ", "), expected[last]))
}

// ForPrograms reports whether results are read by programs.
func (a *App) ForPrograms() bool { return terminal.ForPrograms(a.Output) }

// Print writes a result in the selected format.
func (a *App) Print(v any, table func(w io.Writer)) error {
	return terminal.Print(a.Stdout, a.Output, v, table)
}

// Fit shortens a name that is wider than a column of a table should be, on a terminal only: a pipe
// gets all of it.
func (a *App) Fit(name string) string {
	const most = 40
	if _, _, drawable := a.Stdout.Size(); !drawable || a.Output == terminal.Wide {
		return name
	}
	return terminal.Cut(name, most)
}

// Display returns a display of progress on standard error; none with -q.
func (a *App) Display() terminal.Display {
	if a.quiet {
		return terminal.NoDisplay{}
	}
	return terminal.NewDisplay(a.Stderr)
}

// Begin shows the progress of a long piece of work on standard error; nothing with -q, or if the
// results are for programs. The caller calls Close before it prints the result.
func (a *App) Begin(what, unit string) *terminal.Work {
	if a.quiet || a.ForPrograms() {
		return nil
	}
	return a.Stderr.Begin(what, unit)
}
