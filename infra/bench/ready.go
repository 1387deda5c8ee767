package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
)

// readyGoal is that of bus and store being ready.
const readyGoal = "< 150"

// ready measures how long bus and store take to be ready: from the call of stack.With to its body
// running, and from the start of a process to its word that it is up. A fresh folder holds nothing;
// a used one what an earlier stack left there.
func (b bench) ready(ctx context.Context) ([]figure, error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	rounds := b.times(30)
	var all []figure
	for _, way := range []struct {
		name string
		time func(context.Context, string) (time.Duration, error)
	}{{"stack-ready", inProcess}, {"up-ready", b.asProcess}} {
		fresh, err := timed(ctx, rounds, way.time, func(round int) string { return filepath.Join(dir, way.name, strconv.Itoa(round)) })
		if err != nil {
			return nil, err
		}
		used, err := timed(ctx, rounds, way.time, func(int) string { return filepath.Join(dir, way.name, "0") })
		if err != nil {
			return nil, err
		}
		all = append(all,
			alone(way.name+"-fresh-p50", milliseconds, fresh.quantile(0.5), fresh, readyGoal),
			alone(way.name+"-used-p50", milliseconds, used.quantile(0.5), used, readyGoal))
	}
	return all, nil
}

// timed measures rounds, each in the folder that is named for it.
func timed(ctx context.Context, rounds int, measure func(context.Context, string) (time.Duration, error), dir func(int) string) (samples, error) {
	var s samples
	for round := range rounds {
		took, err := measure(ctx, dir(round))
		if err != nil {
			return nil, err
		}
		s.addTime(took)
	}
	return s, nil
}

func inProcess(ctx context.Context, dir string) (took time.Duration, err error) {
	began := time.Now()
	err = stack.With(ctx, stack.Options{DataDir: dir, Builtins: builtin.Digests(), Slots: 1}, func(context.Context, *stack.Stack) error {
		took = time.Since(began)
		return nil
	})
	return took, err
}

func (b bench) asProcess(ctx context.Context, dir string) (took time.Duration, err error) {
	err = b.withUp(ctx, dir, func(_ context.Context, stack up) error {
		took = stack.started
		return nil
	})
	return took, err
}
