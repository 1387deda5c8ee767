package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/scratch"
	"github.com/stoker-ml/stoker/functions/trainer"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

func newWorker(app *app) *cobra.Command {
	var once bool
	var classes []string
	var slots int
	var wait, grace time.Duration
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker: jobs in, models and facts out",
		Long: "Takes jobs off the queue and works on them until it is interrupted. With --once it works on one job at most and leaves:\n" +
			"the shape in which a scaler starts workers from zero.\n\n" +
			"Told to leave (SIGTERM, Ctrl-C), it has its modules write checkpoints, hands its jobs back and is gone within --grace, of\n" +
			"which a module has three fifths. Give the service a longer one: terminationGracePeriodSeconds, TimeoutStopSec.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := within("slots", slots, 1, anyCount); err != nil {
				return err
			}
			if grace <= 0 {
				return usage(fmt.Errorf("--grace %s: expected more than 0s", grace))
			}
			options := worker.Options{Classes: classes, Slots: slots, Logger: app.logger()}
			return app.withWorker(cmd.Context(), options, grace, func(ctx context.Context, w *worker.Worker) error {
				if !once {
					return leaveWithin(ctx, grace, w.Run)
				}
				worked := false
				err := leaveWithin(ctx, grace, func(ctx context.Context) (err error) {
					worked, err = w.Once(ctx, wait)
					return err
				})
				if err != nil {
					return err
				}
				return app.reportOnce(worked)
			})
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "work on one job at most, then leave")
	cmd.Flags().DurationVar(&wait, "wait", 5*time.Second, "how long --once waits for a job")
	cmd.Flags().DurationVar(&grace, "grace", defaultGrace, "how long it may take to leave")
	cmd.Flags().StringSliceVar(&classes, "classes", []string{"cpu"}, "resource classes of the jobs it takes")
	cmd.Flags().IntVar(&slots, "slots", 1, "jobs at once")
	return cmd
}

// handled is what worker --once reports.
type handled struct {
	Jobs int `json:"jobs"`
}

func (a *app) reportOnce(worked bool) error {
	if !worked {
		fmt.Fprintln(a.stderr, "no job was waiting")
	}
	if a.output != formatJSON {
		return nil
	}
	return a.print(handled{map[bool]int{true: 1}[worked]}, nil)
}

// withWorker puts a worker together for as long as do runs.
func (a *app) withWorker(ctx context.Context, options worker.Options, grace time.Duration, do func(context.Context, *worker.Worker) error) error {
	return a.withLink(ctx, func(ctx context.Context, l link) (err error) {
		if err := storage.Probe(ctx, l.store, l.root); err != nil {
			return unreachable(fmt.Errorf("object store: %w", err))
		}
		host, err := a.newGuest()
		if err != nil {
			return err
		}
		defer host.Close()
		desks, err := scratch.Open("", nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, desks.Close()) }()
		train := trainer.New(l.store, host, trainer.Options{
			Root: l.root, WorkDir: desks.Path(), Grace: moduleGrace(grace), Logger: options.Logger,
		})
		options.Functions = []worker.Function{train}
		return do(ctx, worker.New(l.box, options))
	})
}

// newGuest starts module processes of this same binary, and keeps built Go modules in the user's cache.
func (a *app) newGuest() (*guest.Host, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return guest.New(guest.Options{CacheDir: filepath.Join(cache, "stoker", "modules"), Builtins: builtins(), Logger: a.logger()})
}
