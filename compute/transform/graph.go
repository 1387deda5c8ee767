package transform

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/compute/example"
)

// Graph is the transformation of a TransformGraph artifact, ready to run. It may be used by any number of goroutines at
// once.
type Graph struct {
	sources []source
	outputs []feature
	raw     example.Spec
	spec    example.Spec
	written []example.Spec // by output: its columns
	plan    *plan
	used    []bool    // by input: whether an output needs it
	frames  sync.Pool // of *frame: memory of runs that have ended
}

// Open reads the TransformGraph artifact in dir: the folder that holds transform_fn. An op that isn't known is an error that
// names the op, its node and the transformed feature that needs it; nothing is left to be found out when data are there. An
// error that has example.ErrInput in its chain is the artifact's fault.
func Open(dir string) (*Graph, error) {
	data, err := readGraph(filepath.Join(dir, "transform_fn"))
	if err != nil {
		return nil, fmt.Errorf("transform graph %s: %w", dir, err)
	}
	g, err := parse(filepath.Join(dir, "transform_fn"), data)
	if err != nil {
		return nil, fmt.Errorf("transform graph %s: %w", dir, inputError{err})
	}
	return g, nil
}

func parse(dir string, data []byte) (*Graph, error) {
	a, err := parseArtifact(dir, data)
	if err != nil {
		return nil, err
	}
	return compileGraph(a)
}

func compileGraph(a *artifact) (*Graph, error) {
	c := &compiler{library: a.library, plan: &plan{}, count: new(int)}
	g := &Graph{outputs: a.outputs, plan: c.plan}
	for _, f := range a.inputs {
		for _, t := range f.types() {
			c.plan.args = append(c.plan.args, c.slot(t, nil))
		}
	}
	args := append([]int(nil), c.plan.args...)
	for i, id := range a.captured {
		t, v, err := a.capture(id)
		if err != nil {
			return nil, fmt.Errorf("capture %d of the function: %w", i, err)
		}
		args = append(args, c.slot(t, v))
	}
	s, err := c.newScope(a.function, args, 0)
	if err != nil {
		return nil, err
	}
	if err := g.compileOutputs(s); err != nil {
		return nil, err
	}
	g.markUsed(a.inputs)
	g.frames.New = func() any { return c.plan.newFrame(maxElements) }
	return g, g.describe(a)
}

// compileOutputs compiles feature by feature, so that what goes wrong is told of the feature that needs it.
func (g *Graph) compileOutputs(s *scope) error {
	at := 0
	for _, f := range g.outputs {
		for _, want := range f.types() {
			slot, err := s.result(at)
			if err == nil && s.types[slot] != want {
				err = fmt.Errorf("is %v, its signature says %v", s.types[slot], want)
			}
			if err != nil {
				return fmt.Errorf("transformed feature %q: %w", f.name, err)
			}
			g.plan.results = append(g.plan.results, slot)
			at++
		}
	}
	return nil
}

// markUsed finds the inputs that the plan reads.
func (g *Graph) markUsed(inputs []feature) {
	read := map[int]bool{}
	for _, s := range g.plan.steps {
		for _, slot := range s.in {
			read[slot] = true
		}
	}
	for _, slot := range g.plan.results {
		read[slot] = true
	}
	at := 0
	for _, f := range inputs {
		used := false
		for range f.tensors() {
			used = used || read[g.plan.args[at]]
			at++
		}
		g.used = append(g.used, used)
	}
}

// describe says what batches go in and come out, in the words of package example.
func (g *Graph) describe(a *artifact) error {
	composites, err := a.composites()
	if err != nil {
		return err
	}
	for i, f := range a.inputs {
		s, err := sourceOf(f, composites)
		if err != nil {
			return fmt.Errorf("raw feature %q: %w", f.name, err)
		}
		g.sources = append(g.sources, s)
		if g.used[i] {
			g.raw = append(g.raw, s.columns...)
		}
	}
	slices.SortFunc(g.raw, func(a, b example.Feature) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range g.outputs {
		columns, err := f.columns()
		if err != nil {
			return fmt.Errorf("transformed feature %q: %w", f.name, err)
		}
		g.spec, g.written = append(g.spec, columns...), append(g.written, columns)
	}
	slices.SortFunc(g.spec, func(a, b example.Feature) int { return strings.Compare(a.Name, b.Name) })
	return g.spec.Validate()
}

// Raw is the features that go in, as they are read from examples: those that a transformed feature needs. A batch may have
// more.
func (g *Graph) Raw() example.Spec { return slices.Clone(g.raw) }

// Spec is the features that come out: those that reading tf.Transform's transformed examples would give.
func (g *Graph) Spec() example.Spec { return slices.Clone(g.spec) }

// Run transforms a batch of raw features. The outcome shares no memory with raw; it is in the memory of into, a batch that
// Run returned before and that nobody needs any more, or of its own if into is nil. A row that TensorFlow has an error for
// is one here too, and spoils its batch.
func (g *Graph) Run(raw, into *example.Batch) (*example.Batch, error) {
	f := g.frames.Get().(*frame)
	defer g.frames.Put(f)
	if err := g.run(f, raw); err != nil {
		return nil, fmt.Errorf("transform: %w", inputError{err})
	}
	if into == nil {
		into = example.NewBatch(g.spec)
	}
	into.Reset()
	into.Rows = raw.Rows
	at := 0
	for i, out := range g.outputs {
		f.results = f.results[:0]
		for range out.tensors() {
			f.results = append(f.results, f.slots[g.plan.results[at]])
			at++
		}
		if err := out.write(into, g.written[i], f.results); err != nil {
			return nil, fmt.Errorf("transform: transformed feature %q: %w", out.name, inputError{err})
		}
	}
	return into, nil
}

// run feeds the batch to the plan. What the plan gives is in the frame then.
func (g *Graph) run(f *frame, raw *example.Batch) error {
	if f.args == nil {
		f.args = make([]value, len(g.plan.args))
	}
	at := 0
	for i, s := range g.sources {
		args := f.args[at : at+s.tensors()]
		at += s.tensors()
		if !g.used[i] {
			continue
		}
		if err := s.fill(args, raw); err != nil {
			return fmt.Errorf("raw feature %q: %w", s.name, err)
		}
	}
	return g.plan.run(f, f.args)
}
