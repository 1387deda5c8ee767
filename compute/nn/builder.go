package nn

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// Builder builds a Graph layer by layer. Graph returns the first error, so that a model reads as a
// list of its layers. Layers are methods, one to a file.
type Builder struct {
	graph  Graph
	rng    *rand.Rand
	params map[string]bool
	err    error

	training []Node            // the nodes of the forward pass in training
	stands   map[string]string // the replacement of a node that exists only in training
	dropouts uint64            // number of dropout layers so far
	seed     uint64            // of all dropouts, drawn for the first one
}

// Ref is a value in a Builder's graph.
type Ref struct {
	Name string
	Type Type
}

// NewBuilder makes an empty Builder; rng draws the initial params.
func NewBuilder(rng *rand.Rand) *Builder {
	return &Builder{rng: rng, params: map[string]bool{}, stands: map[string]string{}}
}

// NewRand returns the source of randomness for a seed: PCG, the same numbers on every machine.
func NewRand(seed int64) *rand.Rand {
	// Any fixed stream will do; this one is the fraction of the golden ratio.
	return rand.New(rand.NewPCG(uint64(seed), 0x9e3779b97f4a7c15))
}

// Input declares a feature.
func (b *Builder) Input(name string, kind ValueKind, width int) Ref {
	b.graph.Inputs = append(b.graph.Inputs, Input{Name: name, Kind: kind, Width: width})
	return Ref{name, Type{kind, width}}
}

// Output names a result of the model.
func (b *Builder) Output(name string, x Ref) {
	b.graph.Outputs = append(b.graph.Outputs, Output{Name: name, Node: b.stand(x.Name), Width: x.Type.Width})
}

// Graph returns the checked graph.
func (b *Builder) Graph() (*Graph, error) {
	if b.err != nil {
		return nil, b.err
	}
	g := b.graph
	if b.differs() {
		g.Training = b.training
		if _, err := g.ForTraining().Types(); err != nil {
			return nil, fmt.Errorf("build graph of the training: %w", err)
		}
	}
	if _, err := g.Types(); err != nil {
		return nil, fmt.Errorf("build graph: %w", err)
	}
	return &g, nil
}

// node adds a node. The type of its result is checked by Graph, all at once.
func (b *Builder) node(name string, t Type, n Node) Ref {
	n.Name = name
	b.train(n)
	b.serve(n)
	return Ref{name, t}
}

func (b *Builder) fail(err error) { b.err = errors.Join(b.err, err) }

// param adds a trainable tensor with its initial values, and returns its name.
func (b *Builder) param(name string, init initializer.Func, shape ...int) string {
	size := 1
	for _, d := range shape {
		if d < 1 {
			b.fail(fmt.Errorf("param %q: shape %v", name, shape))
			return name
		}
		size *= d
	}
	p := Param{Name: name, Shape: shape, Values: make([]float32, size), Trainable: true}
	init(p.Values, shape, b.rng)
	return b.add(p)
}

// Constant adds a param that training does not change, [len(values)]. It may be the second operand
// of Add and the like, and nothing else.
func (b *Builder) Constant(name string, values ...float32) Ref {
	return Ref{b.add(Param{Name: name, Shape: []int{len(values)}, Values: values}), Type{Float32, len(values)}}
}

func (b *Builder) add(p Param) string {
	if b.params[p.Name] {
		b.fail(fmt.Errorf("two layers are called as in %q", p.Name))
	}
	b.params[p.Name] = true
	b.graph.Params = append(b.graph.Params, p)
	return p.Name
}
