package main

import (
	"context"
	"os"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner"
)

// guest measures how a TFX module starts: cold, forked from a process that has imported everything,
// and in one that waits. A job begins when the worker has it; what comes before is in the parts
// noop and walk. Then it measures a whole job, compared with plain Python.
func (b bench) guest(ctx context.Context) ([]figure, error) {
	python, err := tftest.Interpreter()
	if err != nil {
		return nil, err
	}
	var all []figure
	ways := []func(context.Context, bench, string) ([]figure, error){guestCold, guestForked, guestIdle, guestWalk}
	for _, way := range ways {
		figures, err := way(ctx, b, python)
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	return all, nil
}

func guestCold(ctx context.Context, b bench, python string) (figures []figure, err error) {
	err = withGuest(python, runner.WarmOff, func(g *guestJobs) error {
		took, err := g.firstLines(ctx, b.times(5), nil)
		figures = firstLineFigures("cold", took, "")
		return err
	})
	return figures, err
}

// guestForked includes what Stoker adds to run_fn: all CPU time of this process, of the one that
// forks and of the child, less that of run_fn itself.
func guestForked(ctx context.Context, b bench, python string) (figures []figure, err error) {
	err = withGuest(python, runner.WarmFork, func(g *guestJobs) error {
		first, err := g.run(ctx) // which waits for the imports
		if err != nil {
			return err
		}
		memory, err := memoryOf(first.Parent)
		if err != nil {
			return err
		}
		rounds := b.times(50)
		before, err := cpuTimes(os.Getpid(), first.Parent)
		if err != nil {
			return err
		}
		var inside float64
		took, err := g.firstLines(ctx, rounds, func(r guestReport) { inside += r.CPU })
		if err != nil {
			return err
		}
		after, err := cpuTimes(os.Getpid(), first.Parent)
		added := samples{(after - before - inside) / float64(rounds)}
		figures = append(firstLineFigures("fork", took, "< 150"),
			alone("guest-fork-overhead-cpu-mean", cpuSeconds, added[0], added, "< 0.2"))
		figures = append(figures, memory.figures("guest-fork-server")...)
		return err
	})
	return figures, err
}

// guestIdle gives the process that takes the place of the last one the time to import: a job that
// came before it has would wait for the rest.
func guestIdle(ctx context.Context, b bench, python string) (figures []figure, err error) {
	err = withGuest(python, runner.WarmIdle, func(g *guestJobs) error {
		if _, err := g.run(ctx); err != nil {
			return err
		}
		var took samples
		var memory memoryUse
		for range b.times(10) {
			pid, err := waitingProcess(ctx)
			if err != nil {
				return err
			}
			if memory, err = memoryOf(pid); err != nil {
				return err
			}
			one, err := g.firstLines(ctx, 1, nil)
			if err != nil {
				return err
			}
			took = append(took, one...)
		}
		figures = append(firstLineFigures("idle", took, "< 50"), memory.figures("guest-idle-process")...)
		return nil
	})
	return figures, err
}

func firstLineFigures(way string, took samples, goal string) []figure {
	return []figure{
		alone("guest-"+way+"-job-to-run-fn-p50", milliseconds, took.quantile(0.5), took, goal),
		alone("guest-"+way+"-job-to-run-fn-p99", milliseconds, took.quantile(0.99), took, ""),
	}
}
