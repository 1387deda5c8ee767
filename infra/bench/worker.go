package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/worker"
)

// noopJobs is how many jobs wait in each round when the worker begins.
const noopJobs = 400

// noopPart measures what Stoker adds to a job without work: lease, warm module process, event,
// acknowledgement. The worker has one slot, and there is no store. For comparison, a program sends
// the same messages with nats.go alone.
func noopPart() part {
	return part{"noop", []group{
		{
			rounds: 5,
			figures: []spec{{name: "noop-jobs-p50", unit: perSecond, more: true, of: "ours", goal: "> 200",
				peers: []peer{{name: rawName + ", one at a time", series: "raw"}}}},
			setup: withNoop(func(ctx context.Context, on ownBus, noop *noopFunction, r *recorder) error {
				seen, err := observeWorker(ctx, on, noop)
				if err != nil {
					return err
				}
				next := len(seen) // each job has another number
				return r.run(ctx,
					func(int) error {
						rate, err := noopRate(ctx, on, noop, next)
						r.add("ours", rate)
						next += noopJobs
						return err
					},
					func(int) error {
						rate, err := rawJobRate(ctx, on, seen, next)
						r.add("raw", rate)
						next += noopJobs
						return err
					})
			}),
		},
		{rounds: 200, figures: tails("job-to-user-code", "< 5"), setup: withNoop(noopLatency)},
	}}
}

// withNoop returns a set-up with a bus and a runner with one warm process of this binary.
func withNoop(do func(context.Context, ownBus, *noopFunction, *recorder) error) func(context.Context, bench, *recorder) error {
	return func(ctx context.Context, _ bench, r *recorder) error {
		modules, err := runner.New(runner.Options{Args: []string{noopName}, Builtins: map[string]string{noopName: "builtin:noop@1"}, Warm: 1})
		if err != nil {
			return err
		}
		defer modules.Close()
		return withOwnBus(ctx, false, 0, func(on ownBus) error {
			noop := &noopFunction{modules: modules}
			// Starts the process before any job is timed.
			if err := errors.Join(noop.run(ctx), noop.run(ctx)); err != nil {
				return err
			}
			return do(ctx, on, noop, r)
		})
	}
}

// noopRate returns how many jobs a second one slot handles, from the worker's start to the
// acknowledgement of the last.
func noopRate(ctx context.Context, on ownBus, noop *noopFunction, first int) (rate float64, err error) {
	if err := enqueueJobs(ctx, on, first, noopJobs); err != nil {
		return 0, err
	}
	err = on.connect(ctx, jetstream.Options{}, func(bus events.Bus) error {
		began := time.Now()
		err := workOnJobs(ctx, bus, noop, noopJobs)
		rate = noopJobs / time.Since(began).Seconds()
		return err
	})
	return rate, err
}

func enqueueJobs(ctx context.Context, on ownBus, first, n int) error {
	return on.connect(ctx, jetstream.Options{}, func(bus events.Bus) error {
		for i := range n {
			job, err := causedJob(ctx, bus, first+i)
			if err == nil {
				err = bus.Enqueue(ctx, job)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// causedJob returns a job whose event is the newest of the log. A worker looks for the outcome of a
// job in all events behind its causes.
func causedJob(ctx context.Context, bus events.Bus, number int) (events.Job, error) {
	job := benchJob(number)
	receipt, err := bus.Publish(ctx, events.Event{ID: fmt.Sprint(number), Source: "/bench", Pipeline: job.Pipeline, Run: job.Run, Data: &events.ExamplesReady{
		Examples: []events.Examples{{URI: "s3://bench/examples", Splits: []string{"train", "eval"}}}, Schema: "s3://bench/schema",
	}})
	job.Causes[0].Sequence = receipt.Sequence
	return job, err
}

func workOnJobs(ctx context.Context, bus events.Bus, noop *noopFunction, n int) error {
	w := worker.New(bus, worker.Options{Functions: []worker.Function{noop}})
	for i := range n {
		if worked, err := w.Once(ctx, roundTimeout); err != nil || !worked {
			return fmt.Errorf("job %d: worked %v: %w", i, worked, err)
		}
	}
	return nil
}

// noopLatency returns the time from before a job is enqueued to the first report of the module's
// code, one job at a time.
func noopLatency(ctx context.Context, on ownBus, noop *noopFunction, r *recorder) error {
	noop.reported = make(chan time.Time, 1)
	return on.connect(ctx, jetstream.Options{}, func(bus events.Bus) error {
		working, ctx := errgroup.WithContext(ctx)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		working.Go(func() error {
			return worker.New(bus, worker.Options{Functions: []worker.Function{noop}}).Run(ctx)
		})
		working.Go(func() error {
			defer stop()
			return r.run(ctx, func(round int) error {
				job, err := causedJob(ctx, bus, round)
				if err != nil {
					return err
				}
				began := time.Now()
				if err := bus.Enqueue(ctx, job); err != nil {
					return err
				}
				select {
				case at := <-noop.reported:
					r.addTime("job-to-user-code", at.Sub(began))
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				// Wait until the job is settled, and the slot is free again.
				return sleep(ctx, 10*time.Millisecond)
			})
		})
		return working.Wait()
	})
}

// noopFunction runs a module without work, and returns the event of a model that does not exist.
type noopFunction struct {
	modules  *runner.Runner
	reported chan time.Time // of first reports; nil: not wanted
}

func (*noopFunction) Name() events.Function           { return events.FunctionTrain }
func (*noopFunction) Limits(events.Job) worker.Limits { return worker.Limits{Attempts: 1, Crashes: 1} }

func (n *noopFunction) Failed(task worker.Task, failure *events.Failure) events.Event {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

func (n *noopFunction) Handle(ctx context.Context, task worker.Task) ([]events.Event, error) {
	if err := n.run(ctx); err != nil {
		return nil, events.Fail(events.FailureModule, err)
	}
	return noModel(task.Job), nil
}

func (n *noopFunction) run(ctx context.Context) error {
	dir := os.TempDir() // the module writes nothing
	_, err := n.modules.Run(ctx, module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: module.BuiltinPrefix + noopName}, Call: module.CallTrain,
		WorkingDir: dir, TrainFiles: []string{dir}, ServingModelDir: dir,
	}, runner.Limits{}, func(module.Message) {
		select {
		case n.reported <- time.Now():
		default:
		}
	})
	return err
}

// recoverLease is shorter than the 30 s that workers have, so that a round takes seconds. The time
// beyond the lease does not depend on it.
const recoverLease = 6 * time.Second

// holderEnv makes this program a worker on the bus that it names, which takes a job and never
// finishes it.
const holderEnv = "STOKER_BENCH_HOLDER"

// recoverPart measures how long a job waits whose worker was killed: from SIGKILL until another
// worker has it, which was waiting for work all the time. That worker trusts no clock but its own,
// and so waits one lease from the last heartbeat.
func recoverPart() part {
	name := fmt.Sprintf("worker-killed-to-job-taken-lease-%s", recoverLease)
	return part{"recover", []group{{
		rounds: 5,
		figures: []spec{
			{name: name + "-p50", unit: milliseconds, of: "taken", goal: fmt.Sprintf("< %d", (recoverLease + time.Second).Milliseconds())},
			{name: name + "-longest", unit: milliseconds, of: "taken", at: longest},
			{name: "of-it-beyond-the-lease-p50", unit: milliseconds, of: "beyond", goal: "< 1000"},
		},
		setup: func(ctx context.Context, _ bench, r *recorder) error {
			return r.run(ctx, func(round int) error {
				t, err := takeOver(ctx, round)
				r.addTime("taken", t.taken.Sub(t.killed))
				r.addTime("beyond", t.taken.Sub(t.heartbeat)-recoverLease)
				return err
			})
		},
	}}}
}

// takeover is when a job changed hands, by the clock of this machine.
type takeover struct{ heartbeat, killed, taken time.Time }

// takeOver kills the holder of a job, at another time after its heartbeat in every round, and waits
// for the second worker to take it.
func takeOver(ctx context.Context, round int) (t takeover, err error) {
	options := jetstream.Options{Lease: recoverLease}
	err = withOwnBus(ctx, false, recoverLease, func(on ownBus) error {
		return on.connect(ctx, options, func(bus events.Bus) error {
			killHolder, err := startHolder(ctx, on, bus, benchJob(round))
			if err != nil {
				return err
			}
			defer killHolder()
			second := &holdFunction{taken: make(chan time.Time, 1)}
			working, ctx := errgroup.WithContext(ctx)
			ctx, stop := context.WithCancel(ctx)
			working.Go(func() error {
				return worker.New(bus, worker.Options{Functions: []worker.Function{second}}).Run(ctx)
			})
			working.Go(func() (err error) {
				defer stop()
				if err := sleep(ctx, recoverLease/2+time.Duration(round%5)*recoverLease/15); err != nil {
					return err
				}
				killHolder()
				t.killed = time.Now()
				if t.heartbeat, err = lastHeartbeat(ctx, bus, benchJob(round).ID); err != nil {
					return err
				}
				t.taken, err = second.takes(ctx, t.killed)
				return err
			})
			return working.Wait()
		})
	})
	return t, err
}

// lastHeartbeat returns when the holder of a job last renewed its lease, by the bus's clock: that
// of this machine.
func lastHeartbeat(ctx context.Context, bus events.KVBuckets, job string) (time.Time, error) {
	leases, err := bus.KV(ctx, events.KVLeases)
	if err != nil {
		return time.Time{}, err
	}
	entry, err := leases.Get(ctx, job)
	return entry.Written, err
}

// startHolder starts a worker in a process of its own and returns when it has the job. kill may be
// called more than once, and returns when the process has ended.
func startHolder(ctx context.Context, on ownBus, bus events.JobQueue, job events.Job) (kill func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), holderEnv+"="+on.url)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	kill = func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed: that is its error
	}
	if err = bus.Enqueue(ctx, job); err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		kill()
		return nil, fmt.Errorf("have a first worker take a job: %w", err)
	}
	return kill, nil
}

// holdJob is the main function of a holder.
func holdJob(ctx context.Context, url string) error {
	return ownBus{url}.connect(ctx, jetstream.Options{Lease: recoverLease}, func(bus events.Bus) error {
		return worker.New(bus, worker.Options{Functions: []worker.Function{&holdFunction{out: os.Stdout}}}).Run(ctx)
	})
}

// holdFunction takes a job, prints or sends that, and keeps it.
type holdFunction struct {
	noopFunction
	out   io.Writer
	taken chan time.Time
}

func (h *holdFunction) Handle(ctx context.Context, _ worker.Task) ([]events.Event, error) {
	if h.out != nil {
		fmt.Fprintln(h.out, "taken")
	}
	if h.taken != nil {
		h.taken <- time.Now()
	}
	<-ctx.Done()
	return nil, events.Fail(events.FailureUnavailable, context.Cause(ctx))
}

// takes waits until the function has a job, which it may not take before a time.
func (h *holdFunction) takes(ctx context.Context, notBefore time.Time) (time.Time, error) {
	select {
	case at := <-h.taken:
		if !at.After(notBefore) {
			return at, errors.New("the job was taken before its worker was killed")
		}
		return at, nil
	case <-time.After(roundTimeout):
		return time.Time{}, errors.New("no worker took the job of a dead worker")
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}
