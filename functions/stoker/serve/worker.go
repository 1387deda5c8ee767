package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
	"github.com/stoker-ml/stoker/functions/scratch"
	"github.com/stoker-ml/stoker/functions/settings"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/modules"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// workerFlags configure which jobs a worker takes, what it keeps ready, and how it stops.
type workerFlags struct {
	functions   []string
	classes     []string
	slots       int
	warm        modules.WarmFlags
	once        bool
	wait, grace time.Duration
	hostsFlags
}

// workerHelp describes the command, without what several hosts need.
const workerHelp = "Claims jobs from the queue and executes them until it is interrupted. With --once it executes at most one job and exits,\n" +
	"for scalers that start workers from zero. --functions and --classes must then be those of the queue that the\n" +
	"scaler watches, and --wait longer than a lease (30s): the job of a killed worker is redelivered after that.\n\n" +
	"On SIGTERM or Ctrl-C it asks its modules to write checkpoints, returns its jobs to the queue and exits within --grace.\n" +
	"A module gets three fifths of that time. Set terminationGracePeriodSeconds or TimeoutStopSec to more than --grace.\n\n" +
	"The worker enforces memory limits, or the kernel does if STOKER_CGROUP names a cgroup in which the worker may create others:\n" +
	"own, for the worker's cgroup (systemd: Delegate=yes, DelegateSubgroup=stoker-worker), or the path of another.\n\n" +
	"On Linux, STOKER_MODULE_NETWORK=none gives modules no network, not even loopback. STOKER_MODULE_PROCESSES (8192),\n" +
	"STOKER_MODULE_OPEN_FILES (65536) and STOKER_MODULE_FILE_BYTES (no limit) are limits of each module.\n\n" +
	"If the kernel has Landlock, modules write only to their own folders and can't read files that usually hold credentials.\n" +
	"STOKER_MODULE_HIDE adds paths that they can't read, and STOKER_MODULE_WRITE paths that they can write, separated as in\n" +
	"PATH. STOKER_MODULE_SANDBOX=required makes Landlock mandatory, off disables it; stoker doctor shows whether this machine has it.\n" +
	"STOKER_MODULE_WARM=any lets warm processes run code of pipelines, which can then access the folders of other jobs.\n" +
	"STOKER_MODULE_USER=on runs each process of a module under a user and a group of its own, if the worker runs as root:\n" +
	"the kernel then separates it from the worker and from other jobs. A range like 70000-70499 sets the user IDs; no other account may\n" +
	"have them. All users must have access to Python, Go and the caches.\n" +
	"Without Landlock Go modules are built without cgo, unless STOKER_MODULE_CGO=1 allows that.\n\n" +
	"Graphs that events name (transform_graph, base_model) may contain only the ops that models need. STOKER_GRAPH_OPS=A,B\n" +
	"allows more. These graphs and the models that modules write are checked in a child process, within the job's memory and time limits.\n" +
	"STOKER_MAX_RECORD_MIB (256) is the maximum size of a record of Examples.\n\n" +
	"--inputs s3://uploads/acme,s3://modules restricts reads to these addresses and --root, whatever events and pipelines name.\n\n"

func newWorker(a *app.App) *cobra.Command {
	var f workerFlags
	var listen *string
	cmd := &cobra.Command{
		Use:         "worker",
		GroupID:     app.Operate,
		Annotations: app.Info{Role: access.Worker}.Annotations(),
		Short:       "Run a worker",
		Long:        workerHelp + hostsHelp,
		Example: "  stoker worker\n" +
			"  stoker worker --classes gpu --slots 1 --listen :9090\n" +
			"  stoker worker --once --functions train --classes gpu --wait 45s",
		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return operate(cmd.Context(), a, "worker", *listen, func(ctx context.Context, o *operated) error {
				if f.isMember() {
					return asMember(ctx, a, f, o)
				}
				return withWorker(ctx, a, f, o, func(ctx context.Context, w *worker.Worker) error {
					return work(ctx, a, f, w)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&f.once, "once", false, "execute one job at most, then exit")
	cmd.Flags().DurationVar(&f.wait, "wait", 5*time.Second, "how long --once waits for a job")
	cmd.Flags().DurationVar(&f.grace, "grace", defaultGrace, "time to exit after SIGTERM or Ctrl-C")
	cmd.Flags().StringSliceVar(&f.functions, "functions", allFunctions(), "kinds of jobs to claim")
	cmd.Flags().StringSliceVar(&f.classes, "classes", []string{"cpu"}, "resource classes of jobs to claim")
	cmd.Flags().IntVar(&f.slots, "slots", 1, "concurrent jobs")
	f.warm.Add(cmd)
	f.hostsFlags.add(cmd)
	app.SetElsewhere(cmd, "functions", settings.WorkerFunctions)
	app.SetElsewhere(cmd, "classes", settings.WorkerClasses)
	app.SetElsewhere(cmd, "slots", settings.WorkerSlots)
	app.SetElsewhere(cmd, "grace", settings.WorkerGrace)
	listen = listenFlag(cmd)
	return cmd
}

func (f *workerFlags) check() error {
	if f.grace <= 0 {
		return exit.Usage(fmt.Errorf("--grace %s: expected more than 0s", f.grace))
	}
	if f.once {
		f.warm.Processes = 0 // there is no second job
	}
	if len(f.classes) == 0 || slices.Contains(f.classes, "") {
		return exit.Usage(errors.New("--classes: expected names of resource classes, like cpu,gpu"))
	}
	for _, class := range f.classes {
		if err := events.CheckClass("--classes", class); err != nil {
			return exit.Usage(err)
		}
	}
	return errors.Join(f.checkFunctions(), f.checkHosts(), app.Within("slots", f.slots, 1, app.AnyCount), f.warm.Check(), app.CheckCompute())
}

func work(ctx context.Context, a *app.App, f workerFlags, w *worker.Worker) error {
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
	return reportOnce(a, worked)
}

// handled is the result of worker --once.
type handled struct {
	Jobs int `json:"jobs"`
}

func reportOnce(a *app.App, worked bool) error {
	if !worked {
		fmt.Fprintln(a.Notes(), "no job was waiting")
	}
	if !a.ForPrograms() {
		return nil
	}
	return a.Print(handled{map[bool]int{true: 1}[worked]}, nil)
}

// withWorker creates a worker while do runs.
func withWorker(ctx context.Context, a *app.App, f workerFlags, o *operated, do func(context.Context, *worker.Worker) error) error {
	return a.WithLink(ctx, func(ctx context.Context, l app.Link) error {
		store, err := withinInputs(a, l.Store, l.Root)
		if err != nil {
			return err
		}
		leader, err := f.lead(ctx, a, l.Bus)
		if err != nil {
			return err
		}
		if leader != nil {
			defer leader.Close()
		}
		return withExecutor(a, f, o, store, l.Root, leader, func(executor *execution.Executor, host *runner.Runner) error {
			train := trainer.New(executor, trainer.Options{Python: os.Getenv(runner.PythonEnv), Fallback: host.Interpreter})
			bus := o.Bus(l.Bus)
			tune := tuner.New(executor, bus)
			functions := f.chosen(train, tune, tune.Trials())
			a.SayStarted("worker", f.takes()...)
			w := worker.New(bus, worker.Options{
				Functions: functions, Classes: f.classes, Slots: f.slots, Logger: a.Logger(), Telemetry: o.Telemetry, Ready: f.whole(leader),
				Version: a.Version, GPUs: host.GPUs(),
			})
			probe := &storeProbe{store: l.Store, root: l.Root, log: a.Logger()}
			needs := asWorker(l.Bus, l.Store, l.Root, names(functions), f.classes)
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

// withExecutor creates an executor while do runs.
func withExecutor(a *app.App,
	f workerFlags, o *operated, store storage.Store, root storage.Ref, leader *multihost.Leader, do func(*execution.Executor, *runner.Runner) error,
) (err error) {
	desks, err := scratch.Open("", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desks.Close()) }()
	host, err := modules.NewRunner(a, f.warm, f.slots, desks.Path())
	if err != nil {
		return err
	}
	defer host.Close()
	return do(execution.New(store, host, execution.Options{
		Root: root, WorkDir: desks.Path(), Grace: moduleGrace(f.grace), Logger: a.Logger(), Telemetry: o.Telemetry, Group: leader,
	}), host)
}

// allFunctions returns the kinds of jobs.
func allFunctions() (all []string) {
	for _, function := range events.Functions() {
		all = append(all, string(function))
	}
	return all
}

func (f *workerFlags) checkFunctions() error {
	all := allFunctions()
	if len(f.functions) == 0 {
		return exit.Usage(fmt.Errorf("--functions: expected some of %s", strings.Join(all, ", ")))
	}
	for _, name := range f.functions {
		if !slices.Contains(all, name) {
			return exit.Usage(fmt.Errorf("--functions %s: expected some of %s", name, strings.Join(all, ", ")))
		}
	}
	return nil
}

// chosen returns the functions whose jobs the worker takes.
func (f *workerFlags) chosen(all ...worker.Function) (chosen []worker.Function) {
	for _, function := range all {
		if slices.Contains(f.functions, string(function.Name())) {
			chosen = append(chosen, function)
		}
	}
	return chosen
}

// takes describes which jobs the worker takes, and how many at once.
func (f *workerFlags) takes() []string {
	takes := []string{"classes " + strings.Join(f.classes, ", "), fmt.Sprintf("slots %d", f.slots)}
	if f.several() {
		takes = append(takes, fmt.Sprintf("leads %d hosts", len(f.hosts)))
	}
	if len(f.functions) < len(allFunctions()) {
		return append([]string{"functions " + strings.Join(f.functions, ", ")}, takes...)
	}
	return takes
}

// names returns the names of functions.
func names(functions []worker.Function) (all []events.Function) {
	for _, f := range functions {
		all = append(all, f.Name())
	}
	return all
}

// defaultGrace fits into the 30 s that Kubernetes gives a pod, and into the 90 s of systemd.
const defaultGrace = 25 * time.Second

// moduleGrace is the part of the grace time in which a module writes its checkpoint: 3/5 of it, 15
// s by default. The trainer uploads checkpoints until 3/2 of that have passed, 9/10 of the grace
// time; the rest is for the log, and for handing the job back.
func moduleGrace(grace time.Duration) time.Duration { return grace * 3 / 5 }

// leaveWithin runs do, and waits at most grace for it to return after ctx has ended. Nothing is
// lost then, because each effect can be interrupted anywhere: another worker gets the job when its
// lease has expired. The process must exit with the returned error, since do may still be running.
func leaveWithin(ctx context.Context, grace time.Duration, do func(context.Context) error) error {
	returned := make(chan error, 1)
	go func() { returned <- do(ctx) }()
	select {
	case err := <-returned:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-returned:
		return err
	case <-timer.C:
		return fmt.Errorf("still running %s after the signal to stop; another worker gets the job after its lease expires", grace)
	}
}

// storeProbe checks once that a worker's store honors conditional writes.
type storeProbe struct {
	store  storage.Store
	root   storage.Ref
	log    *slog.Logger
	passed atomic.Bool
}

// await probes until the store has answered. It waits for a store that is unavailable when the
// worker starts; one that denies access, or that does not honor conditions, ends the worker. It
// returns nil when ctx has ended: then the worker is stopping, and has no job.
func (p *storeProbe) await(ctx context.Context) error {
	err := storage.AwaitProbe(ctx, p.store, p.root, func(err error, wait time.Duration) {
		p.log.WarnContext(ctx, "object store unavailable; retrying", "again_in", wait, "error", err)
	})
	switch {
	case err == nil:
		p.passed.Store(true)
		return nil
	case ctx.Err() != nil:
		return nil
	}
	return exit.Unreachable(fmt.Errorf("object store: %w", err))
}

var errNotProbed = errors.New("object store has not answered yet")

// need is for readiness: a worker is ready once its store has passed the probe, and while the store
// answers.
func (p *storeProbe) need(ctx context.Context) error {
	if !p.passed.Load() {
		return errNotProbed
	}
	return storeNeed(p.store, p.root)(ctx)
}

// withinInputs restricts a worker to root and the places that the settings name, whatever address
// an event or a pipeline has. If the settings name none, only the store's own policy applies.
func withinInputs(a *app.App, store storage.Store, root storage.Ref) (storage.Store, error) {
	places, err := a.Inputs()
	if err != nil || len(places) == 0 {
		return store, err
	}
	return storage.Within(store, append([]storage.Ref{root}, places...)...), nil
}
