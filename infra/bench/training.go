package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/train"
)

// tensorflowName is how figures name the peer.
const tensorflowName = "TensorFlow 2.21"

// computePart measures training, reading included, compared with TensorFlow's ways of doing the
// same. Each work is a model with data of its own.
func computePart() part {
	groups := []group{firstStepGroup()}
	for _, w := range works() {
		groups = append(groups, w.group())
	}
	return part{"compute", groups}
}

// firstStepGroup measures from exec of an empty process to the line that it writes after its first
// step.
func firstStepGroup() group {
	return group{
		rounds:  20,
		figures: []spec{{name: "compute-first-step", unit: milliseconds, of: "ours", goal: "< 50"}},
		setup: func(ctx context.Context, _ bench, r *recorder) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			return inTempDir(func(dir string) error {
				file := filepath.Join(dir, "first-step")
				if err := penguins().write(file, 1000); err != nil {
					return err
				}
				return r.run(ctx, func(int) error {
					took, err := timeToLine(exec.CommandContext(ctx, self, firstStep, file), "loss ")
					r.addTime("ours", took)
					return err
				})
			})
		},
	}
}

// takeFirstStep does all that a user's module does up to its first step: it builds the model,
// reads, compiles and learns.
func takeFirstStep(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New(firstStep + ": expected the file to read")
	}
	w := penguins()
	model, err := w.model()
	if err != nil {
		return err
	}
	adam, err := optim.New("adam", learningRate)
	if err != nil {
		return err
	}
	o := train.Options{Steps: 1, BatchSize: w.batch, Optimizer: adam, Stepped: func(_ int, loss float32) { fmt.Fprintln(out, "loss", loss) }}
	return w.run(ctx, args[0], o, model)
}

// timeToLine runs a command to its end, and returns how long it took to write a first line, which
// begins with prefix.
func timeToLine(cmd *exec.Cmd, prefix string) (time.Duration, error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	took := time.Since(began)
	if err == nil && !strings.HasPrefix(line, prefix) {
		err = fmt.Errorf("first line %q, expected %q", line, prefix)
	}
	return took, errors.Join(err, cmd.Wait())
}

// group compares our rates with TensorFlow's best by two threads, which the goal is for, by one
// thread, which takes the least CPU time, and by the clock, on two threads both; and with each of
// TensorFlow's ways. Stoker allocates memory for opening the file for each pass; a step itself
// allocates none.
func (w work) group() group {
	name := "compute-" + w.name
	rate := func(suffix, unit, of, series string, modes ...mode) spec {
		s := spec{name: name + suffix, unit: unit, of: of, more: true}
		for _, m := range modes {
			s.peers = append(s.peers, peer{name: tensorflowName + ", " + m.String(), series: m.String() + series})
		}
		return s
	}
	two := rate("", perCPUSecond, "ours", "/cpu", w.modes(2)...)
	two.goal = w.goal
	figures := slices.Concat(
		withRatio(two),
		withRatio(rate("-one-thread", perCPUSecond, "ours", "/cpu", w.modes(1)...)),
		[]spec{rate("-wall", perSecond, "ours on two threads", "/wall", w.modes(2)...)})
	for _, m := range append(w.modes(2), w.modes(1)...) {
		figures = append(figures, rate("-"+m.slug(), perCPUSecond, "ours", "/cpu", m))
	}
	figures = append(figures,
		spec{name: name + "-allocated", unit: "bytes/step", of: "bytes", goal: "0"},
		spec{name: name + "-objects", unit: "a step", of: "objects", goal: "0"})
	return group{rounds: 5, figures: figures, setup: w.race}
}

// race has us and each mode of TensorFlow train in turn.
func (w work) race(ctx context.Context, b bench, r *recorder) error {
	return inTempDir(func(dir string) error {
		file := filepath.Join(dir, w.name)
		if err := w.write(file, w.rows); err != nil {
			return err
		}
		return tftest.WithPeer(ctx, 2, b.log, func(two *tftest.Peer) error {
			return tftest.WithPeer(ctx, 1, b.log, func(one *tftest.Peer) error {
				return r.run(ctx, append(w.turns(ctx, file, r), w.peerTurns(file, r, map[int]*tftest.Peer{1: one, 2: two}, append(w.modes(2), w.modes(1)...)...)...)...)
			})
		})
	})
}

func (w work) turns(ctx context.Context, file string, r *recorder) []turn {
	return []turn{
		func(int) error {
			c, err := w.train(ctx, file, w.steps.ours, 1)
			r.add("ours", c.perCPU())
			r.add("bytes", c.bytes)
			r.add("objects", c.objects)
			return err
		},
		func(int) error {
			c, err := w.train(ctx, file, w.steps.ours, 2)
			r.add("ours on two threads", c.perSecond())
			return err
		},
	}
}

func (w work) peerTurns(file string, r *recorder, peers map[int]*tftest.Peer, modes ...mode) (all []turn) {
	for _, m := range modes {
		all = append(all, func(int) error {
			c, err := w.trainByPeer(peers[m.threads], file, m)
			r.add(m.String()+"/cpu", c.perCPU())
			r.add(m.String()+"/wall", c.perSecond())
			return err
		})
	}
	return all
}

// learningRate is Adam's, for all works.
const learningRate = 0.001

// warmSteps are run before the clock starts, so that both engines have compiled their programs.
const warmSteps = 100

// cost is what some work took.
type cost struct {
	Examples int     `json:"examples"`
	CPU      float64 `json:"cpu"`  // seconds of all threads
	Wall     float64 `json:"wall"` // seconds

	bytes, objects float64 // allocated a step, of ours
}

// perCPU returns the rate in examples a CPU-second.
func (c cost) perCPU() float64 { return float64(c.Examples) / c.CPU }

// perSecond returns the rate in examples a second of the clock.
func (c cost) perSecond() float64 { return float64(c.Examples) / c.Wall }

// train trains on the file without end, on so many threads, as a user's module does, and measures
// the steps after the warm ones.
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

// meter reads the clocks after one step and after another.
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

// read adds what this process has spent so far, times sign.
func (m *meter) read(sign float64) {
	cpu, err := processCPU()
	m.err = errors.Join(m.err, err)
	m.cost.CPU += sign * cpu
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	m.cost.bytes += sign * float64(memory.TotalAlloc)
	m.cost.objects += sign * float64(memory.Mallocs)
}

//go:embed training.py
var trainScript string

// peerWork is a work as the script gets it.
type peerWork struct {
	Name       string       `json:"name"`
	File       string       `json:"file"`
	Batch      int          `json:"batch"`
	Numbers    []string     `json:"numbers"`
	Width      int          `json:"width"`
	Classes    []classInput `json:"classes"`
	Label      string       `json:"label"`
	Hidden     []int        `json:"hidden"`
	Activation *string      `json:"activation"` // null: none
	Units      int          `json:"units"`
	Optimizer  string       `json:"optimizer"`
	Rate       float64      `json:"rate"`

	Mode  string `json:"mode"`
	Wide  string `json:"wide"`
	Steps int    `json:"steps"`
}

func (w work) request(file string) peerWork {
	request := peerWork{Name: w.name, File: file, Batch: w.batch, Numbers: w.numbers, Width: w.width, Classes: append([]classInput{}, w.classes...), Label: w.label.Feature,
		Hidden: w.hidden, Units: w.units(), Optimizer: "adam", Rate: learningRate}
	if w.act != "" {
		request.Activation = new(strings.ToLower(string(w.act)))
	}
	return request
}

// mode is one way in which TensorFlow trains a work.
type mode struct {
	name    string // as the script knows it
	wide    string // one_hot or lookup; "" where the work has no classes
	threads int
}

func (m mode) String() string {
	parts := []string{m.name, m.wide, map[int]string{1: "one thread", 2: "two threads"}[m.threads]}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// slug returns the mode as a part of a figure's name.
func (m mode) slug() string {
	return strings.ToLower(strings.NewReplacer(", ", "-", " ", "-", "_", "-").Replace(m.String()))
}

// modes returns all ways, with so many threads. Classes as rows of one table take TensorFlow less
// than one-hot rows, which TFX's example has: of these there are the plain fit and the best ways.
func (w work) modes(threads int) (all []mode) {
	wide := ""
	if len(w.classes) > 0 {
		wide = "lookup"
		for _, name := range []string{"fit", "fit, 50 steps at once, XLA", "loop, XLA"} {
			all = append(all, mode{name, "one_hot", threads})
		}
	}
	for _, name := range []string{"fit", "fit, XLA", "fit, 50 steps at once", "fit, 50 steps at once, XLA", "loop", "loop, XLA", "loop, fused Adam"} {
		all = append(all, mode{name, wide, threads})
	}
	return all
}

// trainByPeer returns what TensorFlow takes for a round. Keras's fit by default is the slowest way,
// and gets fewer steps.
func (w work) trainByPeer(p *tftest.Peer, file string, m mode) (c cost, err error) {
	request := w.request(file)
	request.Mode, request.Wide, request.Steps = m.name, m.wide, w.steps.peer
	if m.name == "fit" || m.name == "fit, XLA" {
		request.Steps = max(w.steps.peer/4, 1)
	}
	if _, err = p.Call(trainScript, "train", request, &c); err != nil {
		return c, fmt.Errorf("%v: %w", m, err)
	}
	return c, nil
}
