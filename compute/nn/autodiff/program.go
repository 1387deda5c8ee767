package autodiff

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Program trains a Model with batches of up to a fixed size: it computes loss and gradients, and
// takes whole steps. A shorter batch is padded with rows of weight 0. Gorgonia writes the
// expression and its gradients; a plan.Machine computes them. It is for one goroutine at a time,
// and must be closed.
//
// A machine on a device has copies of the weights and of an optimizer's slots. After Step, those of
// this computer are outdated until Sync: call it before reading Model.Weights, an optimizer's State
// or an Evaluator. On this computer's cores Sync does nothing.
type Program struct {
	model     *nn.Model
	batch     int
	steps     uint64 // number of steps taken
	front     *nn.Evaluator
	hasInputs bool
	pool      *kernel.ThreadPool
	machine   plan.Machine
	ahead     bool // the machine may have newer weights than this computer
	learned   learned

	// The machine's own memory.
	feeds  []feed
	sparse []sparseFeed
	target []float32 // [batch, width], as weight
	weight []float32
	// [1, batch], 1 over the number of rows for each real row; nil if no layer needs it
	share   []float32
	moments []moment
}

// feed carries one value from the front into the machine; one slice is set.
type feed struct {
	name   string
	floats []float32
	ints   []int
}

// moment is the batch's part in a moving average, in the machine's memory.
type moment struct {
	average        average
	mean, variance []float32
}

// Options configure what a Program runs on. The zero value is one thread of this computer.
type Options struct {
	// Threads that compute one step together, on this computer's cores; 0: 1; their number does not
	// change the result.
	Threads  int
	Machines Machines // nil: this computer's cores
}

// Machines creates the machine that a Program runs on, for example one on a device.
type Machines func(*plan.Plan) (plan.Machine, error)

// NewProgram builds the expression graph of m for a batch size, with its gradients, and prepares it
// to run on one thread.
func NewProgram(m *nn.Model, batch int) (*Program, error) {
	return NewProgramWith(m, batch, Options{})
}

// NewProgramWith is NewProgram with options.
func NewProgramWith(m *nn.Model, batch int, o Options) (*Program, error) {
	if batch < 1 {
		return nil, fmt.Errorf("batch size %d, expected at least 1", batch)
	}
	if o.Threads < 0 {
		return nil, fmt.Errorf("%d threads, expected 1 or more", o.Threads)
	}
	parts, err := split(m.Graph.ForTraining(), m.Logits)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	p := &Program{model: m, batch: batch, hasInputs: len(parts.front.Inputs) > 0}
	if p.front, err = nn.NewEvaluator(parts.front, parts.fed()...); err != nil {
		return nil, err
	}
	compiled, averages, err := p.compile(parts.body)
	if err != nil {
		return nil, err
	}
	if err := p.start(compiled, o); err != nil {
		return nil, err
	}
	p.bind(compiled, parts)
	p.follow(compiled, averages)
	return p, nil
}

// start makes the machine.
func (p *Program) start(compiled *plan.Plan, o Options) (err error) {
	p.pool = kernel.NewThreadPool(o.Threads)
	if o.Machines == nil {
		p.machine = plan.NewMachine(compiled, p.pool)
		return nil
	}
	if p.machine, err = o.Machines(compiled); err != nil {
		p.pool.Close()
		return fmt.Errorf("machine for the plan of a step: %w", err)
	}
	return nil
}

// bind looks up the machine's memory of all inputs.
func (p *Program) bind(compiled *plan.Plan, parts *parts) {
	floats := func(name string) []float32 {
		if i, ok := compiled.Inputs[name]; ok {
			return p.machine.Floats(i)
		}
		return nil
	}
	p.target, p.weight, p.share = floats(targetName), floats(weightName), floats(shareName)
	made := map[string]bool{}
	for _, s := range parts.sparse {
		p.sparse = append(p.sparse, sparseFeed{s, floats(s.valuesName()), p.machine.Ints(compiled.Inputs[s.idsName()])})
		made[s.valuesName()], made[s.idsName()] = true, true
	}
	for _, in := range parts.body.Inputs {
		f := feed{name: in.Name}
		switch {
		case made[in.Name]:
			continue
		case in.Kind == nn.Int64:
			f.ints = p.machine.Ints(compiled.Inputs[in.Name])
		default:
			f.floats = floats(in.Name)
		}
		p.feeds = append(p.feeds, f)
	}
}

// follow looks up the values that the moving averages need.
func (p *Program) follow(compiled *plan.Plan, averages []average) {
	for i, a := range averages {
		mean, variance := momentNames(i)
		p.moments = append(p.moments, moment{
			average: a, mean: p.machine.Floats(compiled.Outputs[mean]), variance: p.machine.Floats(compiled.Outputs[variance]),
		})
	}
}

// Close releases the machine's resources.
func (p *Program) Close() error {
	err := p.machine.Close()
	p.pool.Close()
	return err
}
