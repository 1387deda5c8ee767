package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

const plainName = "the same run_fn in plain Python, all imported"

// guestWalk measures the whole job of the example's TFX module, from the event to ModelTrained,
// through a running `stoker up`, and the same run_fn in plain Python, in turn: once as jobs are
// run, and once with all of AutoGraph's work, which plain Python does too.
func guestWalk(ctx context.Context, b bench, interpreter string) (figures []figure, err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b.env = append(b.env, "STOKER_PYTHON="+interpreter)
	err = b.withUp(ctx, dir, func(ctx context.Context, stack up) (err error) {
		figures, err = b.walkAndPlain(ctx, stack, interpreter)
		return err
	})
	return figures, err
}

func (b bench) walkAndPlain(ctx context.Context, stack up, interpreter string) (_ []figure, err error) {
	w, err := newWalker(ctx, stack.pid, stack.connection)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.bus.Close()) }()
	if w.spec, err = examplePipeline(); err != nil {
		return nil, err
	}
	var ours, full, wall, ourCPU, plainCPU samples
	const unmeasured = 2 // the first starts cold, and the second may find the process that forks still importing
	for round := range unmeasured + b.times(7) {
		spared, err := w.guestRound(ctx, module.AutographUser, 2*round)
		if err != nil {
			return nil, err
		}
		all, err := w.guestRound(ctx, module.AutographAll, 2*round+1)
		if err != nil {
			return nil, err
		}
		python, err := plainRun(ctx, interpreter)
		if err != nil {
			return nil, err
		}
		if round >= unmeasured {
			ours.addTime(spared.trained)
			full.addTime(all.trained)
			ourCPU, wall, plainCPU = append(ourCPU, spared.cpu), append(wall, python.Wall), append(plainCPU, python.CPU)
		}
	}
	peer := wall.quantile(0.5)
	return []figure{
		alone("guest-penguin-event-to-model-p50", milliseconds, ours.quantile(0.5), ours, "less than plain").against(plainName, peer),
		alone("guest-penguin-cpu-p50", cpuSeconds, ourCPU.quantile(0.5), ourCPU, "").against(plainName, plainCPU.quantile(0.5)),
		alone("guest-penguin-autograph-all-p50", milliseconds, full.quantile(0.5), full, "").against(plainName, peer),
		alone("guest-penguin-autograph-all-beyond-plain", milliseconds, full.quantile(0.5)-peer, full, "< 500"),
	}, nil
}

// examplePipeline is the example's own, with the penguins of the demo.
func examplePipeline() (pipeline.Pipeline, error) {
	path := filepath.Join(filepath.Dir(exampleModule), "penguin.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	spec, err := pipeline.Parse(path, text)
	if err != nil {
		return spec, err
	}
	spec.Module.Path, err = filepath.Abs(exampleModule)
	spec.Trainer.Hyperparameters = pipeline.HyperparametersNone // plain Python has none either
	return spec, err
}

// guestRound walks once, and counts the CPU time of the stack with all its processes. The number
// makes it one that nobody has done.
func (w walker) guestRound(ctx context.Context, autograph string, number int) (journey, error) {
	spec := w.spec
	spec.Module.Autograph = autograph
	before, err := treeCPU(w.pid)
	if err != nil {
		return journey{}, err
	}
	j, err := w.walkWith(ctx, spec, fmt.Sprintf("guest-%s-%d", autograph, number), int64(number)+1)
	if err != nil {
		return j, err
	}
	after, err := treeCPU(w.pid)
	j.cpu = after - before
	return j, err
}

// treeCPU is the CPU time of a process and of its children, which have that of theirs that ended.
func treeCPU(pid int) (float64, error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // of each thread those that it started
	if err != nil {
		return 0, err
	}
	pids := []int{pid}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread is gone, and its children are another's
		}
		for _, child := range strings.Fields(string(text)) {
			if number, err := strconv.Atoi(child); err == nil {
				pids = append(pids, number)
			}
		}
	}
	return cpuTimes(pids...)
}
