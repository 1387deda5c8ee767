package transform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/ops"
)

// Graph is the transformation of a TransformGraph artifact, ready to run. It may be used by several
// goroutines at the same time.
type Graph struct {
	sources []source
	outputs []feature
	raw     example.Spec
	spec    example.Spec
	written []example.Spec // by output: its columns
	program *graph.Program
}

// Open reads the TransformGraph artifact in dir: the directory that contains transform_fn. An
// unknown op is an error here, before there is data, which names the op, its node and the
// transformed feature that needs it. If an error has example.ErrInput in its chain, the artifact is
// the cause.
//
// The graph is executed within the default limits of package graph: OpenWithin sets others.
func Open(dir string) (*Graph, error) {
	return OpenWithin(context.Background(), dir, graph.Limits{})
}

// OpenWithin is Open with a context, and with the given limits for opening and for each Run. The
// error of a graph or of data that exceed them has graph.ErrLimit in its chain.
func OpenWithin(ctx context.Context, dir string, limits graph.Limits) (*Graph, error) {
	m, err := graph.Open(filepath.Join(dir, "transform_fn"))
	if err != nil {
		return nil, fmt.Errorf("transform graph %s: %w", dir, blame(err))
	}
	g, err := compile(ctx, m, limits)
	if err != nil {
		return nil, fmt.Errorf("transform graph %s: %w", dir, unlessEnded(ctx, err))
	}
	return g, nil
}

// blame returns err as an error of the artifact, unless a file can't be read.
func blame(err error) error {
	if _, isFile := errors.AsType[*fs.PathError](err); isFile {
		return err
	}
	return inputError{err}
}

// unlessEnded returns an error of the artifact or the data, unless ctx has ended.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return inputError{err}
}

func compile(ctx context.Context, m *graph.Model, limits graph.Limits) (*Graph, error) {
	a, err := newArtifact(m)
	if err != nil {
		return nil, err
	}
	g := &Graph{}
	for _, out := range a.outputs {
		g.outputs = append(g.outputs, feature{out})
	}
	session, err := m.Start(ctx, limits)
	if err != nil {
		return nil, err
	}
	if g.program, err = a.compile(ctx, session); err != nil {
		return nil, err
	}
	return g, g.describe(a)
}

// describe returns the specs of the input and output batches, as in package example.
func (g *Graph) describe(a *artifact) error {
	composites, err := a.composites()
	if err != nil {
		return err
	}
	at := 0
	for _, in := range a.inputs {
		s, err := sourceOf(feature{in}, composites)
		if err != nil {
			return fmt.Errorf("raw feature %q: %w", in.Name, err)
		}
		for range in.Tensors() {
			s.used = s.used || g.program.Reads(at)
			at++
		}
		g.sources = append(g.sources, s)
		if s.used {
			g.raw = append(g.raw, s.columns...)
		}
	}
	slices.SortFunc(g.raw, func(a, b example.Feature) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range g.outputs {
		columns, err := f.columns()
		if err != nil {
			return fmt.Errorf("transformed feature %q: %w", f.Name, err)
		}
		g.spec, g.written = append(g.spec, columns...), append(g.written, columns)
	}
	slices.SortFunc(g.spec, func(a, b example.Feature) int { return strings.Compare(a.Name, b.Name) })
	return g.spec.Validate()
}

// Raw returns the input features, as they are read from examples: those that a transformed feature
// needs. A batch may have more.
func (g *Graph) Raw() example.Spec { return slices.Clone(g.raw) }

// Spec returns the output features: those of tf.Transform's transformed examples.
func (g *Graph) Spec() example.Spec { return slices.Clone(g.spec) }

// Run transforms a batch of raw features. The outcome shares no memory with raw; it is in the
// memory of into, a batch that Run returned before and that is no longer needed, or in new memory
// if into is nil. A row for which TensorFlow has an error is an error of its batch here too.
func (g *Graph) Run(raw, into *example.Batch) (*example.Batch, error) {
	return g.RunContext(context.Background(), raw, into)
}

// RunContext is Run with a context: soon after ctx ends it returns an error with the cause, and
// without example.ErrInput, in its chain. If the batch has the origins of its rows, the error is an
// example.Error that names the file and the record of the first row that fails by itself.
func (g *Graph) RunContext(ctx context.Context, raw, into *example.Batch) (*example.Batch, error) {
	made, err := g.runBatch(ctx, raw, into)
	if err != nil && errors.Is(err, example.ErrInput) && len(raw.Origins) == raw.Rows && raw.Rows > 0 {
		return nil, g.locate(ctx, raw, err)
	}
	return made, err
}

func (g *Graph) runBatch(ctx context.Context, raw, into *example.Batch) (*example.Batch, error) {
	f := g.program.Frame()
	defer f.Release()
	if err := g.run(ctx, f, raw); err != nil {
		return nil, fmt.Errorf("transform: %w", unlessEnded(ctx, err))
	}
	if into == nil {
		into = example.NewBatch(g.spec)
	}
	into.Reset()
	into.Rows, into.Origins = raw.Rows, append(into.Origins, raw.Origins...)
	var parts []ops.Value
	at := 0
	for i, out := range g.outputs {
		parts = parts[:0]
		for range out.Tensors() {
			parts = append(parts, f.Result(at))
			if err := f.Charge(f.Result(at)); err != nil {
				return nil, fmt.Errorf("transform: transformed feature %q: %w", out.Name, inputError{err})
			}
			at++
		}
		if err := out.write(into, g.written[i], parts); err != nil {
			return nil, fmt.Errorf("transform: transformed feature %q: %w", out.Name, inputError{err})
		}
	}
	return into, nil
}

// run feeds the batch to the program. The outputs are in the frame then.
func (g *Graph) run(ctx context.Context, f *graph.Frame, raw *example.Batch) error {
	at := 0
	for _, s := range g.sources {
		args := f.Args[at : at+s.Tensors()]
		at += s.Tensors()
		if !s.used {
			continue
		}
		if err := s.fill(args, raw); err != nil {
			return fmt.Errorf("raw feature %q: %w", s.Name, err)
		}
	}
	return f.Run(ctx)
}

// inputError is an error caused by the artifact or the data, which no retry solves. It is an
// example.ErrInput, with the text of the wrapped error.
type inputError struct{ error }

func (e inputError) Unwrap() error        { return e.error }
func (e inputError) Is(target error) bool { return target == example.ErrInput }

// feature is a raw or a transformed feature, as the function's signature has it.
type feature struct{ graph.Spec }
