// Package modules checks and runs modules of pipelines, for several groups of commands.
package modules

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// NewCommand is the child process in which a compiled-in module runs. functions/runner starts it;
// users call `stoker try`.
func NewCommand(*app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "module",
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Serve compiled-in modules on standard input",
		Hidden:      true,
		Args:        app.NoArguments,
		// It has no settings: a module must not use a configuration file.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		Run: func(cmd *cobra.Command, _ []string) {
			os.Exit(module.Process(cmd.Context(), builtin.Module()))
		},
	}
}

// Builtins returns the compiled-in modules and the constants that stand for their code.
func Builtins() map[string]string { return builtin.Digests() }

// ModuleCache returns the folder in which a worker's runner keeps builds and installations.
func ModuleCache() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "stoker", "modules"), nil
}

// WarmFlags select what is kept ready for the next jobs.
type WarmFlags struct {
	Processes int
	Python    string // one of runner.Warmth; "": depends on the machine
	idle      time.Duration
}

func (w *WarmFlags) Add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&w.Processes, "warm", 1, "warm processes for builtin modules, kept after the first job; 0: none, also for TFX modules")
	cmd.Flags().StringVar(&w.Python, "python-warm", "",
		"how to keep processes for TFX modules warm: "+strings.Join(runner.Warmth(), ", ")+" (default fork; idle if there is a GPU)")
	cmd.Flags().DurationVar(&w.idle, "python-idle", 10*time.Minute, "how long to keep processes for TFX modules without a job")
	app.SetElsewhere(cmd, "warm", settings.WorkerWarm)
	app.SetElsewhere(cmd, "python-warm", settings.WorkerPythonWarm)
	app.CompleteFlag(cmd, "python-warm", runner.Warmth()...)
}

func (w *WarmFlags) Check() error {
	err := app.Within("warm", w.Processes, 0, app.AnyCount)
	if w.Python != "" && !slices.Contains(runner.Warmth(), w.Python) {
		err = errors.Join(err, exit.Usage(fmt.Errorf("--python-warm %s: expected one of %s", w.Python, strings.Join(runner.Warmth(), ", "))))
	}
	if w.idle <= 0 {
		err = errors.Join(err, exit.Usage(fmt.Errorf("--python-idle %s: expected more than 0s; --python-warm off keeps none", w.idle)))
	}
	return err
}

// NewRunner returns a runner that starts module processes of this same binary, which work below a
// folder, and keeps built Go modules in the user's cache.
func NewRunner(a *app.App, warm WarmFlags, slots int, work string) (*runner.Runner, error) {
	cache, err := ModuleCache()
	if err != nil {
		return nil, err
	}
	hidden, err := a.SecretFiles()
	if err != nil {
		return nil, err
	}
	return runner.New(runner.Options{
		Hidden: hidden, CacheDir: cache, Builtins: Builtins(), Warm: warm.Processes, PythonWarm: warm.Python, PythonIdle: warm.idle, Slots: slots, WorkDir: work,
		Logger: a.Logger(),
	})
}
