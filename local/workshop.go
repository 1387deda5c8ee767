package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/scratch"
	"github.com/stoker-ml/stoker/functions/trainer"
	"github.com/stoker-ml/stoker/functions/tuner"
	"github.com/stoker-ml/stoker/functions/worker"
)

// withWorkshop puts those who work on jobs together for as long as do runs. What a killed stack was at work on is removed first: its
// jobs are done anew, in folders of their own.
func withWorkshop(opts Options, stack *Stack, box events.Letterbox, do func(...worker.Function) error) (err error) {
	work := filepath.Join(opts.DataDir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("make a folder to work in: %w", err)
	}
	desks, err := scratch.Open(work, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desks.Close()) }()
	host, err := guest.New(guest.Options{
		CacheDir: filepath.Join(opts.DataDir, "modules"), Builtins: opts.Builtins, Warm: opts.Warm, PythonWarm: opts.PythonWarm,
		Slots: opts.Slots, Logger: opts.Logger, Hidden: Secrets(opts.DataDir), WorkDir: desks.Path(),
	})
	if err != nil {
		return err
	}
	defer host.Close()
	shop := execution.New(stack.Store, host, execution.Options{
		Root: stack.Root, WorkDir: desks.Path(), CacheDir: filepath.Join(opts.DataDir, "modules", "fetched"), Logger: opts.Logger,
		Telemetry: opts.Telemetry,
	})
	train := trainer.New(shop, trainer.Options{Python: os.Getenv(guest.PythonEnv), Fallback: host.Interpreter})
	tune := tuner.New(shop, box)
	return do(train, tune, tune.Seats())
}
