package graph

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Program is a compiled function: the nodes that its outputs need, in the order of their execution,
// with the constants and tables that it captures. It may be used by several goroutines at the same
// time.
type Program struct {
	plan   *plan
	limits Limits
	held   int64     // by the session
	reads  []bool    // by argument
	frames sync.Pool // of *Frame: memory of runs that have ended
}

// CompileTrace compiles a function for the arguments of its inputs. An op that isn't known is an
// error that names the op, its node and the output that needs it; what names the kind of the
// outputs, for example: transformed feature.
func (s *Session) CompileTrace(ctx context.Context, t *Trace, what string) (*Program, error) {
	defer s.begin(ctx)()
	top := s.newScope()
	for _, in := range t.Inputs {
		for _, dtype := range in.Types() {
			top.plan.args = append(top.plan.args, top.slot(dtype, nil))
		}
	}
	args := slices.Clone(top.plan.args)
	references, err := s.model.CaptureNodes(t.Captures)
	if err != nil {
		return nil, err
	}
	for i, reference := range references {
		slot, err := top.resolve(reference)
		if err != nil {
			return nil, fmt.Errorf("capture %d of the function: %w", i, err)
		}
		args = append(args, slot)
	}
	called, err := top.compiler.newScope(t.Function, args, 0)
	if err != nil {
		return nil, err
	}
	next := 0
	result := func() (int, error) { next++; return called.result(next - 1) }
	if err := called.compileOutputs(t.Outputs, what, result); err != nil {
		return nil, err
	}
	return s.newProgram(top.plan), nil
}

// compileOutputs compiles output by output, so that an error names the output that needs it.
func (s *scope) compileOutputs(outputs []Spec, what string, next func() (int, error)) error {
	for _, out := range outputs {
		for _, want := range out.Types() {
			slot, err := next()
			if err == nil && s.types[slot] != want {
				err = fmt.Errorf("is %v, its signature says %v", s.types[slot], want)
			}
			if err != nil {
				return fmt.Errorf("%s %q: %w", what, out.Name, err)
			}
			s.plan.results = append(s.plan.results, slot)
		}
	}
	return nil
}

func (s *Session) newProgram(p *plan) *Program {
	made := &Program{plan: p, limits: s.limits, held: s.budget.Held()}
	read := map[int]bool{}
	for _, s := range p.steps {
		for _, slot := range s.in {
			read[slot] = true
		}
	}
	for _, slot := range p.results {
		read[slot] = true
	}
	for _, slot := range p.args {
		made.reads = append(made.reads, read[slot])
	}
	made.frames.New = func() any {
		return &Frame{Args: make([]ops.Value, len(p.args)), program: made, frame: p.newFrame(tensor.MaxElements, nil)}
	}
	return made
}

// Reads reports whether an output needs that argument.
func (p *Program) Reads(arg int) bool { return p.reads[arg] }

// Frame is the memory of one run.
type Frame struct {
	// Args are the arguments, to be set before Run; those that the program doesn't read may be nil.
	// After a run they are those of the last run, whose memory may be used again. Run doesn't write
	// to them.
	Args []ops.Value

	program *Program
	frame   *frame
	budget  *ops.Budget // of the last run
}

// Frame returns memory for a run, that of a run that has ended if there is one. Release returns it
// to the program.
func (p *Program) Frame() *Frame { return p.frames.Get().(*Frame) }

// Run computes the outputs. An error is one that TensorFlow has too, or one of bytes that no graph
// of TensorFlow's makes, or has ErrLimit in its chain. The run ends soon after ctx, with the cause
// of ctx in the chain of its error: a kernel polls ctx every 65,536 elements, which takes much less
// than 100 ms.
func (f *Frame) Run(ctx context.Context) error {
	p := f.program
	ctx, end := p.limits.context(ctx)
	defer end()
	if f.budget.Held() > p.limits.Bytes/4 { // memory that is kept for the next run isn't counted
		f.frame = p.plan.newFrame(tensor.MaxElements, nil)
	}
	f.budget = ops.NewBudget(ctx, p.limits.Bytes, p.limits.Steps)
	if err := f.budget.Charge(p.held + slotBytes*int64(len(p.plan.start))); err != nil {
		return fmt.Errorf("constants, variables and tables: %w", err)
	}
	f.frame.call.Budget = f.budget
	return p.plan.run(f.frame, f.Args)
}

// Charge charges the memory of a copy of a tensor, including its strings, to the limit of the last
// run.
func (f *Frame) Charge(t tensor.Tensor) error { return f.budget.Charge(ops.SizeOf(t) + ops.TextOf(t)) }

// Copy returns result i in memory of its own, which is charged to the limit of the run. Strings
// share their bytes.
func (f *Frame) Copy(i int) (tensor.Tensor, error) {
	t := f.Result(i)
	if err := f.budget.Charge(ops.SizeOf(t)); err != nil {
		return nil, err
	}
	return tensor.Copy(t), nil
}

// Result returns tensor i of those of the outputs, one after another. It is valid until the next
// Run, or Release.
func (f *Frame) Result(i int) tensor.Tensor {
	t, _ := f.frame.slots[f.program.plan.results[i]].(tensor.Tensor)
	return t
}

// Release returns the frame's memory to the program.
func (f *Frame) Release() { f.program.frames.Put(f) }
