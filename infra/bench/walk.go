package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/local/demo"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/backend"
)

// walk measures the way of an event through a running `stoker up`, for the penguin job: 100 steps
// of batch 20. The join is completed by the transform's event, and the clock starts when that is
// about to be published.
func (b bench) walk(ctx context.Context) (figures []figure, err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	err = b.withUp(ctx, dir, func(ctx context.Context, stack up) (err error) {
		figures, err = b.walkThrough(ctx, stack)
		return err
	})
	return figures, err
}

// walkThrough walks first with the probe, to see when a module runs, and then with the builtin
// module, to see the job whole.
func (b bench) walkThrough(ctx context.Context, stack up) (figures []figure, err error) {
	w, err := newWalker(ctx, stack.pid, stack.connection)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.bus.Close()) }()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	probed, _, err := w.rounds(ctx, "probe", self, b.times(200))
	if err != nil {
		return nil, err
	}
	trained, jobCPU, err := w.rounds(ctx, "job", w.spec.Module.Path, b.times(200))
	if err != nil {
		return nil, err
	}
	return append(moduleFigures(probed), jobFigures(trained, jobCPU)...), nil
}

// walker is upstream and downstream of one stack.
type walker struct {
	pid       int
	bus       *jetstream.Bus
	artifacts storage.Ref
	spec      pipeline.Pipeline
}

// newWalker connects to the stack and uploads the artifacts that every run reads.
func newWalker(ctx context.Context, pid int, to local.Connection) (walker, error) {
	w := walker{pid: pid}
	root, err := storage.ParseRef(to.Root)
	if err != nil {
		return w, err
	}
	w.artifacts = root.Join("demo", demo.PipelineName)
	if w.spec, err = pipeline.Parse(demo.PipelineFile()); err != nil {
		return w, err
	}
	store, err := backend.Open(ctx, to.Store())
	if err != nil {
		return w, err
	}
	defer store.Close()
	if err := demo.Upload(ctx, store, w.artifacts); err != nil {
		return w, err
	}
	w.bus, err = jetstream.Connect(ctx, to.NATS, jetstream.Options{Name: "stoker-bench"})
	return w, err
}

// rounds walks n times, and also returns the CPU seconds that the stack spent on a round, in the
// mean.
func (w walker) rounds(ctx context.Context, name, module string, n int) (all []journey, cpu float64, err error) {
	before, err := cpuTime(w.pid)
	if err != nil {
		return nil, 0, err
	}
	for round := range n {
		j, err := w.round(ctx, fmt.Sprintf("%s-%d", name, round), module, int64(round)+1)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, j)
	}
	after, err := cpuTime(w.pid)
	return all, (after - before) / float64(n), err
}

// round walks once. A seed that no other round of the module has makes an execution that nobody has
// done before; deploying it comes before the clock starts.
func (w walker) round(ctx context.Context, run, module string, seed int64) (journey, error) {
	spec := w.spec
	spec.Module.Path = module
	return w.walkWith(ctx, spec, run, seed)
}

func (w walker) walkWith(ctx context.Context, spec pipeline.Pipeline, run string, seed int64) (journey, error) {
	spec.Trainer.Seed = seed
	if _, _, err := dispatch.Apply(ctx, w.bus, spec); err != nil {
		return journey{}, err
	}
	return w.travel(ctx, run)
}
