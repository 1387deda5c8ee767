package run

import (
	"context"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runs/workers"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// workersInfo describes both `stoker workers` and `stoker workers list`.
var workersInfo = app.Info{Role: access.Console, Output: app.List, Names: "ID",
	Always: "id host presence functions classes slots busy version started beat heard", Optional: "jobs more_jobs gpus draining",
}

func newWorkers(a *app.App) *cobra.Command {
	list := newWorkersList(a)
	cmd := &cobra.Command{
		Use:         "workers",
		GroupID:     app.Look,
		Annotations: workersInfo.Annotations(),
		Short:       "List and show workers",
		Long:        "Lists workers with the jobs that they hold, and the lengths of the queues. A subcommand shows one worker.",
		Example:     list.Example,
		Args:        app.NoArguments,
	}
	addWorkersList(a, cmd)
	cmd.AddCommand(list, newWorkersShow(a))
	return cmd
}

func newWorkersList(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "list",
		Annotations: workersInfo.Annotations(),
		Short:       "List workers and the lengths of queues",
		Long: "Lists the workers that have sent a heartbeat within two minutes, with the jobs that they hold, and the length of each queue.\n" +
			"A worker reports itself every 10 s. It is late after 35 s without a heartbeat: it may be cut off, frozen or dead, and its\n" +
			"jobs go to other workers once their leases expire.",
		Example: "  stoker workers list\n" +
			"  stoker workers list -o name | wc -l\n" +
			"  stoker workers list --watch",
		Args: app.NoArguments,
	}
	addWorkersList(a, cmd)
	return cmd
}

// addWorkersList makes a command list workers.
func addWorkersList(a *app.App, cmd *cobra.Command) {
	var watch bool
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
			if watch {
				return watchWorkers(ctx, a, bus)
			}
			list, err := knownWorkers(ctx, bus)
			if err != nil {
				return err
			}
			return app.PrintList(a, workersListing(ctx, a, bus, list))
		})
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "print the list again whenever it changes, until interrupted")
}

func workersListing(ctx context.Context, a *app.App, bus events.JobQueue, list []workers.Worker) app.Listing[workers.Worker] {
	queues, err := bus.Queues(ctx)
	return app.Listing[workers.Worker]{
		Items: list, Name: func(w workers.Worker) string { return w.ID }, Columns: workerColumns(a),
		After: func(w io.Writer) { queuesTable(w, queues, err) },
	}
}

// watchWorkers prints the list of workers whenever it has changed, until ctx ends. A worker that is
// gone is listed once more.
func watchWorkers(ctx context.Context, a *app.App, bus events.Bus) error {
	last := map[string]workers.Worker{}
	return watched[string, workers.Worker]{
		read: func(ctx context.Context) ([]workers.Worker, error) {
			list, err := knownWorkers(ctx, bus)
			if err != nil {
				return nil, err
			}
			before := last
			last = map[string]workers.Worker{}
			for _, w := range list {
				last[w.ID] = w
				delete(before, w.ID)
			}
			for _, id := range slices.Sorted(maps.Keys(before)) {
				gone := before[id]
				gone.Presence = events.WorkerGone
				list = append(list, gone)
			}
			return list, nil
		},
		key: func(w workers.Worker) string { return w.ID },
		same: func(before, now workers.Worker) bool {
			before.Beat, before.Heard = now.Beat, now.Heard
			return reflect.DeepEqual(before, now)
		},
		listing: func(ctx context.Context, all []workers.Worker) app.Listing[workers.Worker] {
			return workersListing(ctx, a, bus, all)
		},
	}.print(ctx, a)
}

// knownWorkers returns the workers that are not gone, by id.
func knownWorkers(ctx context.Context, bus workers.Feed) ([]workers.Worker, error) {
	return workers.Known(ctx, bus, time.Now())
}

func workerColumns(a *app.App) []app.Column[workers.Worker] {
	return []app.Column[workers.Worker]{
		{Head: "WORKER", Of: func(w workers.Worker) any { return a.Fit(w.ID) }},
		{Head: "STATE", Of: func(w workers.Worker) any { return w.Presence }},
		{Head: "SLOTS", Of: func(w workers.Worker) any { return fmt.Sprintf("%d of %d", w.Busy, w.Slots) }},
		{Head: "CLASSES", Of: func(w workers.Worker) any { return strings.Join(w.Classes, ",") }},
		{Head: "HEARTBEAT", Of: func(w workers.Worker) any { return terminal.Ago(time.Since(w.Heard)) }},
		{Head: "JOBS", Of: func(w workers.Worker) any { return a.Fit(jobNames(w)) }},
		{Head: "HOST", Of: func(w workers.Worker) any { return w.Host }, Wide: true},
		{Head: "FUNCTIONS", Of: func(w workers.Worker) any { return functionWords(w.Functions) }, Wide: true},
		{Head: "GPUS", Of: func(w workers.Worker) any { return strings.Join(w.GPUs, ",") }, Wide: true},
		{Head: "VERSION", Of: func(w workers.Worker) any { return w.Version }, Wide: true},
		{Head: "STARTED", Of: func(w workers.Worker) any { return terminal.Time(w.Started) }, Wide: true},
	}
}

// jobNames returns the runs of the jobs that a worker holds.
func jobNames(w workers.Worker) string {
	names := make([]string, len(w.Jobs))
	for i, job := range w.Jobs {
		names[i] = job.Pipeline + "/" + job.Run
	}
	if w.MoreJobs > 0 {
		names = append(names, fmt.Sprintf("and %d more", w.MoreJobs))
	}
	return strings.Join(names, " ")
}

func functionWords(functions []events.Function) string {
	words := make([]string, len(functions))
	for i, f := range functions {
		words[i] = string(f)
	}
	return strings.Join(words, ",")
}

// queuesTable prints the queues that have jobs.
func queuesTable(w io.Writer, queues []events.QueueState, err error) {
	if err != nil {
		fmt.Fprintf(w, "\nqueues\t%s\n", terminal.Line(err.Error()))
		return
	}
	queues = slices.DeleteFunc(queues, func(q events.QueueState) bool { return q.Waiting+q.Running == 0 })
	slices.SortFunc(queues, func(a, b events.QueueState) int {
		return workers.Queue{Function: a.Function, Class: a.Class}.Compare(workers.Queue{Function: b.Function, Class: b.Class})
	})
	if len(queues) == 0 {
		return
	}
	fmt.Fprintln(w)
	terminal.Row(w, "QUEUE", "CLASS", "WAITING", "RUNNING", "OLDEST")
	for _, q := range queues {
		oldest := ""
		if !q.Oldest.IsZero() {
			oldest = terminal.Ago(time.Since(q.Oldest))
		}
		terminal.Row(w, string(q.Function), q.Class, q.Waiting, q.Running, oldest)
	}
}

func newWorkersShow(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "show WORKER",
		Annotations: app.Info{Role: access.Console}.Annotations(),
		Short:       "Show a worker and the jobs that it holds",
		Long:        "Shows a worker and the jobs that it holds. WORKER is its id, or the beginning of it if no other begins so.",
		Example: "  stoker workers show laptop-k3f9qz\n" +
			"  stoker workers show laptop -o json",
		Args: app.Exactly(1, "a worker"),
		ValidArgsFunction: a.Names(func(ctx context.Context, bus events.Bus) (names []string, err error) {
			list, err := knownWorkers(ctx, bus)
			for _, w := range list {
				names = append(names, cobra.CompletionWithDesc(w.ID, string(w.Presence)+", "+w.Host))
			}
			return names, err
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				list, err := knownWorkers(ctx, bus)
				if err != nil {
					return err
				}
				one, err := workerNamed(a, list, args[0])
				if err != nil {
					return err
				}
				return a.Print(one, func(out io.Writer) { workerTable(out, one) })
			})
		},
	}
}

// workerNamed returns the worker of an id, or of the only id that begins so.
func workerNamed(a *app.App, list []workers.Worker, name string) (workers.Worker, error) {
	w, found, err := app.Pick(list, name, "workers", func(w workers.Worker) string { return w.ID }, func(workers.Worker) bool { return false })
	if !found && err == nil {
		err = exit.NotFound(fmt.Errorf("no worker %s has reported itself within %s: `%s` lists all", name, events.WorkerKept, a.Command("workers")))
	}
	return w, err
}

func workerTable(out io.Writer, w workers.Worker) {
	terminal.Row(out, "worker", w.ID)
	terminal.Row(out, "host", w.Host)
	terminal.Row(out, "state", string(w.Presence))
	terminal.Row(out, "heartbeat", fmt.Sprintf("%s, %s ago", terminal.Time(w.Heard), terminal.Ago(time.Since(w.Heard))))
	terminal.Row(out, "started", terminal.Time(w.Started))
	terminal.Row(out, "version", w.Version)
	terminal.Row(out, "slots", fmt.Sprintf("%d, %d in use", w.Slots, w.Busy))
	terminal.Row(out, "claims", functionWords(w.Functions)+" of class "+strings.Join(w.Classes, ", "))
	if len(w.GPUs) > 0 {
		terminal.Row(out, "GPUs", strings.Join(w.GPUs, ", "))
	}
	for _, job := range w.Jobs {
		terminal.Row(out, string(job.Function), fmt.Sprintf("%s/%s  attempt %d  %s  since %s", job.Pipeline, job.Run, job.Number, job.Phase, terminal.Time(job.Since)))
	}
	if w.MoreJobs > 0 {
		terminal.Row(out, "", fmt.Sprintf("and %d more jobs", w.MoreJobs))
	}
}
