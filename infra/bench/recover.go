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
	"github.com/stoker-ml/stoker/functions/worker"
)

// recoverLease is shorter than the 30 s that workers have, so that a round takes seconds. What
// comes on top does not depend on it.
const recoverLease = 6 * time.Second

// holderEnv has this program be a worker on the bus that it names, which takes a job and never
// finishes it.
const holderEnv = "STOKER_BENCH_HOLDER"

// recover measures how long a job waits whose worker was killed: from SIGKILL until another worker,
// which was waiting for work all the time, has it. That worker trusts no clock but its own, and so
// waits one lease from the last heartbeat.
func (b bench) recover(ctx context.Context) ([]figure, error) {
	var took, beyond samples
	for round := range b.times(5) {
		one, err := takenOver(ctx, round)
		if err != nil {
			return nil, err
		}
		took.addTime(one.taken.Sub(one.killed))
		beyond.addTime(one.taken.Sub(one.beaten) - recoverLease)
	}
	name := fmt.Sprintf("worker-killed-to-job-taken-lease-%s", recoverLease)
	return []figure{
		alone(name+"-p50", milliseconds, took.quantile(0.5), took, fmt.Sprintf("< %d", (recoverLease+time.Second).Milliseconds())),
		alone(name+"-longest", milliseconds, took.quantile(1), took, ""),
		alone("of-it-beyond-the-lease-p50", milliseconds, beyond.quantile(0.5), beyond, "< 1000"),
	}, nil
}

// takeover is when a job changed hands, by the one clock of this machine.
type takeover struct{ beaten, killed, taken time.Time }

// takenOver kills the holder of a job at another point of its heartbeat in every round.
func takenOver(ctx context.Context, round int) (when takeover, err error) {
	options := jetstream.Options{Lease: recoverLease}
	err = withOwnBus(ctx, false, recoverLease, func(ctx context.Context, on ownBus) error {
		return on.with(ctx, options, func(bus events.Bus) error {
			holder, err := startHolder(ctx, on.url)
			if err != nil {
				return err
			}
			defer holder.kill()
			if err := bus.Enqueue(ctx, benchJob(round)); err != nil {
				return err
			}
			if err := holder.holds(); err != nil {
				return err
			}
			when, err = heirTakes(ctx, bus, func() (when takeover, err error) {
				if err := wait(ctx, recoverLease/2+time.Duration(round%5)*recoverLease/15); err != nil {
					return when, err
				}
				if err := holder.kill(); err != nil {
					return when, err
				}
				when.killed = time.Now()
				when.beaten, err = lastBeat(ctx, bus, benchJob(round).ID)
				return when, err
			})
			return err
		})
	})
	return when, err
}

// lastBeat is when the holder of a job last confirmed its lease, by the bus's clock: that of this
// machine.
func lastBeat(ctx context.Context, bus events.Bus, job string) (time.Time, error) {
	leases, err := bus.KV(ctx, events.KVLeases)
	if err != nil {
		return time.Time{}, err
	}
	entry, err := leases.Get(ctx, job)
	return entry.Written, err
}

// heirTakes runs a second worker, kills the first, and adds to the result of kill when the job came.
func heirTakes(ctx context.Context, bus events.Bus, kill func() (takeover, error)) (when takeover, err error) {
	heir := &holdFunction{taken: make(chan time.Time, 1)}
	running, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() error {
		return worker.New(bus, worker.Options{Functions: []worker.Function{heir}}).Run(ctx)
	})
	running.Go(func() (err error) {
		defer stop()
		if when, err = kill(); err != nil {
			return err
		}
		select {
		case when.taken = <-heir.taken:
			if !when.taken.After(when.killed) {
				return errors.New("the job was taken before its worker was killed")
			}
			return nil
		case <-time.After(patience):
			return errors.New("nobody took the job of a dead worker")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	err = running.Wait()
	return when, err
}

// holder is a worker in a process of its own.
type holder struct {
	cmd *exec.Cmd
	out io.Reader
}

func startHolder(ctx context.Context, url string) (*holder, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), holderEnv+"="+url)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &holder{cmd, out}, cmd.Start()
}

// holds returns when the worker has the job.
func (h *holder) holds() error {
	if _, err := bufio.NewReader(h.out).ReadString('\n'); err != nil {
		return fmt.Errorf("the first worker took no job: %w", err)
	}
	return nil
}

// kill returns when the process has ended. It may be called again.
func (h *holder) kill() error {
	if err := h.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = h.cmd.Wait() // killed: that is its error
	return nil
}

// hold is the main function of a holder.
func hold(ctx context.Context, url string) error {
	return ownBus{url}.with(ctx, jetstream.Options{Lease: recoverLease}, func(bus events.Bus) error {
		return worker.New(bus, worker.Options{Functions: []worker.Function{&holdFunction{out: os.Stdout}}}).Run(ctx)
	})
}

// holdFunction takes a job, prints that, and keeps it.
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
