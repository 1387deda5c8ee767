package onnx

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/export/onnx/onnxpb"
	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/nn"
)

// writer makes a file's graph. Values of the model have names of their own in the file, since there
// an output is no other name for a node but a value itself.
type writer struct {
	file   *onnxpb.GraphProto
	graph  *nn.Graph
	types  map[string]nn.Type
	params map[string]*nn.Param
	names  map[string]string // in the file: of inputs, of params that are written, and of nodes
	taken  map[string]bool   // names in the file
	ml     bool              // the domain ai.onnx.ml is used
}

func newWriter(g *nn.Graph) (*writer, error) {
	types, err := g.Types()
	if err != nil {
		return nil, err
	}
	w := &writer{
		file: &onnxpb.GraphProto{Name: proto.String("model")}, graph: g, types: types,
		params: map[string]*nn.Param{}, names: map[string]string{}, taken: map[string]bool{},
	}
	for i := range g.Params {
		w.params[g.Params[i].Name] = &g.Params[i]
	}
	return w, w.reserve()
}

// reserve gives inputs and outputs the names they have to the outside.
func (w *writer) reserve() error {
	for _, in := range w.graph.Inputs {
		w.names[in.Name] = in.Name
		w.taken[in.Name] = true
	}
	for _, out := range w.graph.Outputs {
		if w.taken[out.Name] {
			return fmt.Errorf("output %q has the name of an input or of another output, which ONNX does not allow", out.Name)
		}
		w.taken[out.Name] = true
		if _, named := w.names[out.Node]; !named {
			w.names[out.Node] = out.Name
		}
	}
	return nil
}

// fresh is a name in the file that nothing has.
func (w *writer) fresh(name string) string {
	free := name
	for i := 1; w.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	w.taken[free] = true
	return free
}

// node writes one node of the model.
func (w *writer) node(n nn.Node) error {
	if w.names[n.Name] == "" {
		w.names[n.Name] = w.fresh(n.Name)
	}
	return w.lower(n)
}

// in is the i-th operand of a node; a param is written when it is first used.
func (w *writer) in(n nn.Node, i int) string {
	name := n.In[i]
	if p := w.params[name]; p != nil && w.names[name] == "" {
		w.names[name] = w.constant(name, floats(p.Values, p.Shape...))
	}
	return w.names[name]
}

// ins are all operands.
func (w *writer) ins(n nn.Node) []string {
	all := make([]string, len(n.In))
	for i := range n.In {
		all[i] = w.in(n, i)
	}
	return all
}

// op writes an operator whose result has a name in the file.
func (w *writer) op(op, result string, attributes []*onnxpb.AttributeProto, in ...string) string {
	w.file.Node = append(w.file.Node, &onnxpb.NodeProto{
		OpType: proto.String(op), Name: proto.String(result), Input: in, Output: []string{result}, Attribute: attributes,
	})
	return result
}

// inner writes an operator that is only a step of node n.
func (w *writer) inner(n nn.Node, step, op string, attributes []*onnxpb.AttributeProto, in ...string) string {
	return w.op(op, w.fresh(n.Name+"/"+step), attributes, in...)
}

// constant writes a tensor under its name, or one like it that is free.
func (w *writer) constant(name string, t *onnxpb.TensorProto) string {
	t.Name = proto.String(w.fresh(name))
	w.file.Initializer = append(w.file.Initializer, t)
	return t.GetName()
}

func (w *writer) inputs(notes []partition.Input) {
	for i, in := range w.graph.Inputs {
		info := value(in.Name, nn.Type{Kind: in.Kind, Width: in.Width})
		if i < len(notes) && notes[i].Note != "" {
			info.DocString = proto.String(notes[i].Note)
		}
		w.file.Input = append(w.file.Input, info)
	}
}

// outputs names the results. A node that is two of them, or an input, is copied.
func (w *writer) outputs() {
	for _, out := range w.graph.Outputs {
		if from := w.names[out.Node]; from != out.Name {
			w.op("Identity", out.Name, nil, from)
		}
		w.file.Output = append(w.file.Output, value(out.Name, w.types[out.Node]))
	}
}
