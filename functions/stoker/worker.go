package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/group"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/scratch"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/storage"
)

// workerFlags say what a worker takes, what it keeps ready, and how it leaves.
type workerFlags struct {
	functions   []string
	classes     []string
	slots       int
	warm        warmFlags
	once        bool
	wait, grace time.Duration
	hostsFlags
}

func newWorker(app *app) *cobra.Command {
	var f workerFlags
	var listen *string
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker: jobs in, models and facts out",
		Long: "Takes jobs off the queue and works on them until it is interrupted. With --once it works on one job at most and leaves:\n" +
			"the shape in which a scaler starts workers from zero. --functions and --classes are then those of the queue that the\n" +
			"scaler looks at, and --wait is longer than a lease (30s): the job of a worker that was killed comes back after that.\n\n" +
			"Told to leave (SIGTERM, Ctrl-C), it has its modules write checkpoints, hands its jobs back and is gone within --grace, of\n" +
			"which a module has three fifths. Give the service a longer one: terminationGracePeriodSeconds, TimeoutStopSec.\n\n" +
			"Memory limits are watched by the worker, or held by the kernel where STOKER_CGROUP names a cgroup that it may divide:\n" +
			"own, for the one it is in (systemd: Delegate=yes, DelegateSubgroup=stoker-worker), or the path of another.\n\n" +
			"On Linux STOKER_MODULE_NETWORK=none gives modules no network, not even this machine's. STOKER_MODULE_PROCESSES (8192),\n" +
			"STOKER_MODULE_OPEN_FILES (65536) and STOKER_MODULE_FILE_BYTES (no limit) bound what each may have.\n\n" +
			"Where the kernel has Landlock, modules write to their own folders alone and can't read files that usually hold credentials.\n" +
			"STOKER_MODULE_HIDE and STOKER_MODULE_WRITE name more paths that they can't read, and that they can write, separated as in\n" +
			"PATH. STOKER_MODULE_SANDBOX=required has a worker not start without, off does without; stoker doctor says what this machine has.\n" +
			"STOKER_MODULE_WARM=any allows processes that are kept ready to run code of pipelines, which then reaches the folders of other jobs.\n" +
			"Without Landlock Go modules are built without cgo, unless STOKER_MODULE_CGO=1 allows that.\n\n" +
			"Graphs that events name (transform_graph, base_model) may have only the operations that models need. STOKER_GRAPH_OPS=A,B\n" +
			"allows more. They and the models that modules leave are checked in a child process, within the job's memory and time.\n" +
			"STOKER_MAX_RECORD_MIB (256) is how large a record of examples may be.\n\n" +
			"--inputs s3://uploads/acme,s3://modules has it read nothing but that and --root, whatever address a fact or a pipeline brings.\n\n" + hostsHelp,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return app.operate(cmd.Context(), "worker", *listen, func(ctx context.Context, o *operated) error {
				if f.isMember() {
					return app.asMember(ctx, f, o)
				}
				return app.withWorker(ctx, f, o, func(ctx context.Context, w *worker.Worker) error {
					return app.work(ctx, f, w)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&f.once, "once", false, "work on one job at most, then leave")
	cmd.Flags().DurationVar(&f.wait, "wait", 5*time.Second, "how long --once waits for a job")
	cmd.Flags().DurationVar(&f.grace, "grace", defaultGrace, "how long it may take to leave")
	cmd.Flags().StringSliceVar(&f.functions, "functions", allFunctions(), "kinds of jobs it takes")
	cmd.Flags().StringSliceVar(&f.classes, "classes", []string{"cpu"}, "resource classes of the jobs it takes")
	cmd.Flags().IntVar(&f.slots, "slots", 1, "jobs at once")
	f.warm.add(cmd)
	f.hostsFlags.add(cmd)
	setElsewhere(cmd, "functions", settings.WorkerFunctions)
	setElsewhere(cmd, "classes", settings.WorkerClasses)
	setElsewhere(cmd, "slots", settings.WorkerSlots)
	setElsewhere(cmd, "grace", settings.WorkerGrace)
	listen = listenFlag(cmd)
	return cmd
}

func (f *workerFlags) check() error {
	if f.grace <= 0 {
		return exit.Usage(fmt.Errorf("--grace %s: expected more than 0s", f.grace))
	}
	if f.once {
		f.warm.processes = 0 // there is no second job
	}
	return errors.Join(f.checkFunctions(), f.checkHosts(), within("slots", f.slots, 1, anyCount), f.warm.check(), checkCompute())
}

func (a *app) work(ctx context.Context, f workerFlags, w *worker.Worker) error {
	if !f.once {
		return leaveWithin(ctx, f.grace, w.Run)
	}
	worked := false
	err := leaveWithin(ctx, f.grace, func(ctx context.Context) (err error) {
		worked, err = w.Once(ctx, f.wait)
		return err
	})
	if err != nil {
		return err
	}
	return a.reportOnce(worked)
}

// handled is what worker --once reports.
type handled struct {
	Jobs int `json:"jobs"`
}

func (a *app) reportOnce(worked bool) error {
	if !worked {
		fmt.Fprintln(a.notes(), "no job was waiting")
	}
	if !a.forPrograms() {
		return nil
	}
	return a.print(handled{map[bool]int{true: 1}[worked]}, nil)
}

// withWorker puts a worker together for as long as do runs.
func (a *app) withWorker(ctx context.Context, f workerFlags, o *operated, do func(context.Context, *worker.Worker) error) error {
	return a.withLink(ctx, func(ctx context.Context, l link) error {
		store, err := a.withinInputs(l.store, l.root)
		if err != nil {
			return err
		}
		leader, err := f.lead(a)
		if err != nil {
			return err
		}
		if leader != nil {
			defer leader.Close()
		}
		return a.withExecutor(f, o, store, l.root, leader, func(executor *execution.Executor, host *guest.Host) error {
			train := trainer.New(executor, trainer.Options{Python: os.Getenv(guest.PythonEnv), Fallback: host.Interpreter})
			box := o.Letterbox(l.box)
			tune := tuner.New(executor, box)
			functions := f.chosen(train, tune, tune.Trials())
			a.sayStarted("worker", f.takes()...)
			w := worker.New(box, worker.Options{
				Functions: functions, Classes: f.classes, Slots: f.slots, Logger: a.logger(), Telemetry: o.Telemetry, Ready: f.whole(leader),
			})
			probe := &storeProbe{store: l.store, root: l.root, log: a.logger()}
			needs := asWorker(l.box, l.store, l.root, names(functions), f.classes)
			needs.needs["store"] = probe.need
			return o.while(ctx, needs, func(ctx context.Context) error {
				if err := probe.await(ctx); err != nil || ctx.Err() != nil {
					return err
				}
				return do(ctx, w)
			})
		})
	})
}

// withExecutor makes an executor, for as long as do runs.
func (a *app) withExecutor(
	f workerFlags, o *operated, store storage.Store, root storage.Ref, leader *group.Leader, do func(*execution.Executor, *guest.Host) error,
) (err error) {
	desks, err := scratch.Open("", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desks.Close()) }()
	host, err := a.newGuest(f.warm, f.slots, desks.Path())
	if err != nil {
		return err
	}
	defer host.Close()
	return do(execution.New(store, host, execution.Options{
		Root: root, WorkDir: desks.Path(), Grace: moduleGrace(f.grace), Logger: a.logger(), Telemetry: o.Telemetry, Group: leader,
	}), host)
}

// secretFiles are those with credentials that the settings name, and those of the local stack.
func (a *app) secretFiles() ([]string, error) {
	found, err := a.settings()
	if err != nil {
		return nil, err
	}
	files := []string{found.File}
	for _, key := range []settings.Key{settings.BusCreds, settings.BusNKey, settings.BusKey} {
		files = append(files, found.Value(key).Text)
	}
	data, err := filepath.Abs(found.Value(settings.Data).Text)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range files {
		if file == "" {
			continue
		}
		if file, err = filepath.Abs(file); err != nil {
			return nil, err
		}
		all = append(all, file)
	}
	return append(all, local.Secrets(data)...), nil
}

// newGuest starts module processes of this same binary, which work below a folder, and keeps built Go modules in the user's cache.
func (a *app) newGuest(warm warmFlags, slots int, work string) (*guest.Host, error) {
	cache, err := moduleCache()
	if err != nil {
		return nil, err
	}
	hidden, err := a.secretFiles()
	if err != nil {
		return nil, err
	}
	return guest.New(guest.Options{
		Hidden: hidden, CacheDir: cache, Builtins: builtins(), Warm: warm.processes, PythonWarm: warm.python, PythonIdle: warm.idle, Slots: slots, WorkDir: work,
		Logger: a.logger(),
	})
}
