package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/train"
)

// learningRate is Adam's, for all works.
const learningRate = 0.001

// warmSteps are taken before the clock runs: both engines have compiled by then what they compile.
const warmSteps = 100

// cost is what steps of training took.
type cost struct {
	Examples int     `json:"examples"`
	CPU      float64 `json:"cpu"`  // seconds of all threads
	Wall     float64 `json:"wall"` // seconds

	bytes, objects float64 // allocated a step, of ours
}

// perCPU is the rate in examples a CPU-second.
func (c cost) perCPU() float64 { return float64(c.Examples) / c.CPU }

// perSecond is the rate in examples a second of the clock.
func (c cost) perSecond() float64 { return float64(c.Examples) / c.Wall }

// train trains on the file without end, on so many threads, as a user's module does, and times
// steps behind the warm ones.
func (w work) train(ctx context.Context, file string, steps, threads int) (cost, error) {
	model, err := w.model()
	if err != nil {
		return cost{}, err
	}
	adam, err := optim.New("adam", learningRate)
	if err != nil {
		return cost{}, err
	}
	m := meter{from: warmSteps, to: warmSteps + steps}
	o := train.Options{Steps: m.to, BatchSize: w.batch, Threads: threads, Optimizer: adam, Stepped: m.stepped}
	if err := w.run(ctx, file, o, model); err != nil {
		return cost{}, err
	}
	m.cost.Examples = steps * w.batch
	m.cost.bytes, m.cost.objects = m.cost.bytes/float64(steps), m.cost.objects/float64(steps)
	return m.cost, m.err
}

// run trains model on all of the file, again and again, in its order.
func (w work) run(ctx context.Context, file string, o train.Options, model *nn.Model) (err error) {
	reader, err := example.Open(example.Options{Patterns: []string{file}, Spec: w.spec(), BatchSize: w.batch})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	_, err = train.Run(ctx, o, model, train.FromExamples(reader, w.feed(model)), nil)
	return err
}

// meter reads the clocks behind one step and behind another.
type meter struct {
	from, to int
	cost     cost
	err      error
	began    time.Time
}

func (m *meter) stepped(step int, _ float32) {
	switch step {
	case m.from:
		m.read(-1)
		m.began = time.Now()
	case m.to:
		m.cost.Wall = time.Since(m.began).Seconds()
		m.read(1)
	}
}

// read adds what this process has taken so far, or takes it away.
func (m *meter) read(sign float64) {
	cpu, err := ownCPU()
	m.err = errors.Join(m.err, err)
	m.cost.CPU += sign * cpu
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	m.cost.bytes += sign * float64(memory.TotalAlloc)
	m.cost.objects += sign * float64(memory.Mallocs)
}
