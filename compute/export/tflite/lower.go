package tflite

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
)

// lowering writes a graph into a file, node by node. The first error is kept in err.
type lowering struct {
	file
	graph  *nn.Graph
	types  map[string]nn.Type
	params map[string]*nn.Param
	o      Options
	err    error

	layers    map[string]layer   // by the OpMatMul that begins each
	inLayer   map[string]bool    // the other nodes of layers
	weighted  map[string]bool    // nodes that depend on a matrix or a table
	scalings  map[string]scaling // the ranges of inputs and nodes, from the samples
	values    map[string]*value  // inputs and nodes done
	stored    map[string]int32   // params, by name and form
	constants map[string]int32   // constants that are no param
}

func lower(g *nn.Graph, o Options) (*file, error) {
	l, err := newLowering(g, o)
	if err != nil {
		return nil, err
	}
	for _, in := range g.Inputs {
		l.input(in)
	}
	for i := range g.Nodes {
		l.node(&g.Nodes[i])
	}
	for _, out := range g.Outputs {
		l.output(out)
	}
	return &l.file, l.err
}

func newLowering(g *nn.Graph, o Options) (*lowering, error) {
	types, err := g.Types()
	if err != nil {
		return nil, err
	}
	l := &lowering{
		graph: g, types: types, o: o, params: map[string]*nn.Param{},
		values: map[string]*value{}, stored: map[string]int32{}, constants: map[string]int32{},
	}
	for i := range g.Params {
		l.params[g.Params[i].Name] = &g.Params[i]
	}
	l.layers, l.inLayer = findLayers(g, l.params)
	l.weighted = weighted(g)
	l.notes, l.description = o.Notes, textOf(o)
	if o.Quantization == Int8 || o.Quantization == DynamicInt8 {
		err = allFinite(g.Params)
	}
	switch {
	case err != nil:
	case o.Quantization == Int8:
		l.scalings, err = calibrate(g, o.Samples)
	case o.IntegerIO:
		err = errors.New("int8 inputs and outputs are for models in int8")
	}
	return l, err
}

func textOf(o Options) string {
	text := "Written by Stoker."
	if o.Notes != nil {
		text += " What to feed is said in metadata " + NotesName + "."
	}
	return text
}

func (l *lowering) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// input declares one input of the file. In an integer file it is int8 from the start.
func (l *lowering) input(in nn.Input) {
	if in.Kind == nn.String {
		l.fail(fmt.Errorf("input %q: the format can't hold strings", in.Name))
		return
	}
	t := tensor{name: in.Name, shape: []int32{-1, int32(in.Width)}}
	if in.Kind == nn.Int64 {
		t.kind = int64Type
	}
	if in.Kind == nn.Float32 && l.o.IntegerIO {
		s := l.scalingOf(in.Name)
		at := l.add(t.eight(s))
		l.declare(in.Name, at, newEight(at, s))
		return
	}
	at := l.add(t)
	l.declare(in.Name, at, newValue(at))
}

func (l *lowering) declare(name string, tensor int32, v *value) {
	l.inputs = append(l.inputs, port{name, tensor})
	l.values[name] = v
}

func (l *lowering) node(n *nn.Node) {
	if l.err != nil || l.inLayer[n.Name] {
		return
	}
	if s, ok := simpleOf(n.Op); ok {
		l.simple(n, s)
	} else if write := loweringOf(n.Op); write != nil {
		write(l, n)
	} else {
		l.fail(errors.New("the format has no words for it"))
	}
	if l.err != nil {
		l.err = fmt.Errorf("node %q, %s: %w", n.Name, n.Op, l.err)
	}
}

// output names a result. It may be an input, or another output too.
func (l *lowering) output(out nn.Output) {
	if l.err != nil {
		return
	}
	read := l.plain
	if l.o.IntegerIO && l.types[out.Node].Kind == nn.Float32 {
		read = l.ownEight
	}
	l.outputs = append(l.outputs, port{out.Name, read(out.Node)})
}

// rows returns the tensor of a node's result, still to be computed.
func (l *lowering) rows(n *nn.Node, kind elementType) tensor {
	return tensor{name: n.Name, kind: kind, shape: []int32{-1, int32(l.types[n.Name].Width)}}
}

// reshape reshapes a tensor to [rows, width].
func (l *lowering) reshape(name string, t int32, width int) int32 {
	shape := l.ints(-1, int32(width))
	out := tensor{name: name, kind: l.tensors[t].kind, shape: []int32{-1, int32(width)}, scaled: l.tensors[t].scaled}
	return l.emit(operator{code: opReshape, in: []int32{t, shape}}, out)
}
