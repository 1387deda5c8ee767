package savedmodel

import (
	"fmt"
	"slices"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// transformed parses raw examples and calls the transform function: transformed features by name.
func (f *function) transformed(t *transform, examples edge) map[string]edge {
	columns := f.parseExamples(examples, t.inputs)
	var args []edge
	for _, ft := range t.inputs {
		switch c := columns[ft.name]; ft.layout {
		case graph.Sparse:
			args = append(args, c.indices, c.values, c.shape)
		case graph.Ragged:
			args = append(args, c.values, c.splits)
		default:
			args = append(args, c.values)
		}
	}
	for _, c := range t.grafted {
		args = append(args, f.capture(c))
	}
	call := f.node("StatefulPartitionedCall", "transform", callAttrs(t.function), args...)
	values := map[string]edge{}
	for _, out := range t.outputs {
		values[out.key] = nodeOutput(call, "output", out.first)
	}
	return values
}

// transformedInputs selects the graph's inputs from the transformed features, each of shape [batch,
// width].
func (f *function) transformedInputs(t *transform, values map[string]edge, inputs []nn.Input) (map[string]edge, error) {
	picked := map[string]edge{}
	for _, in := range inputs {
		out, err := t.output(in)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", in.Name, err)
		}
		value := values[in.Name]
		if want := dtypeOf(in.Kind); want != out.dtype {
			value = f.cast("input/"+in.Name+"/cast", value, out.dtype, want)
		}
		picked[in.Name] = f.reshape("input/"+in.Name, value, dtypeOf(in.Kind), -1, in.Width)
	}
	return picked, nil
}

// output finds the transformed feature that an input takes.
func (g *transformGraph) output(in nn.Input) (transformOutput, error) {
	i := slices.IndexFunc(g.outputs, func(o transformOutput) bool { return o.key == in.Name })
	if i < 0 {
		return transformOutput{}, fmt.Errorf("no such transformed feature")
	}
	out := g.outputs[i]
	if !out.dense {
		return out, fmt.Errorf("the transformed feature is sparse or ragged, only dense ones can be fed to a model")
	}
	if want := dtypeOf(in.Kind); want != out.dtype && (want != float32Type || out.dtype != int64Type) {
		return out, fmt.Errorf("takes %v, the transformed feature is %v", in.Kind, out.dtype)
	}
	if width, known := out.width(); known && width != in.Width {
		return out, fmt.Errorf("is %d wide, the transformed feature has shape %v", in.Width, out.shape)
	}
	return out, nil
}

// width returns the number of values of a row, if the shape determines it.
func (o transformOutput) width() (int, bool) {
	if len(o.shape) == 0 {
		return 0, false
	}
	width := 1
	for _, d := range o.shape[1:] {
		if d < 0 {
			return 0, false
		}
		width *= d
	}
	return width, true
}

// relax lets requests leave out dense features: the labels, those with a default, and those the
// model's inputs don't depend on, which then are 0 or "". A missing sparse or ragged feature is
// empty anyway.
func (g *transformGraph) relax(m Model) {
	needed := g.needed(m.Graph.Inputs)
	for i, ft := range g.inputs {
		fallback, given := m.Defaults[ft.name]
		if ft.layout == graph.Dense && (given || !needed[ft.name] || slices.Contains(m.Labels, ft.name)) {
			g.inputs[i].fallback = filled(defaultConst(ft.dtype, example.Default(fallback)), ft.shape)
		}
	}
}

// needed returns the raw features that the inputs depend on.
func (g *transformGraph) needed(inputs []nn.Input) map[string]bool {
	results := g.function.GetSignature().GetOutputArg()
	var from []string
	for _, out := range g.outputs {
		if slices.ContainsFunc(inputs, func(in nn.Input) bool { return in.Name == out.key }) {
			from = append(from, g.function.GetRet()[results[out.first].GetName()])
		}
	}
	reached := reachable(g.function, from)
	features, args := map[string]bool{}, g.function.GetSignature().GetInputArg()
	for _, ft := range g.inputs {
		for _, arg := range args[:ft.tensors()] {
			features[ft.name] = features[ft.name] || reached[arg.GetName()]
		}
		args = args[ft.tensors():]
	}
	return features
}

// reachable returns the nodes and arguments of a function that the references need. The effects of
// the function always count as needed.
func reachable(def *functionpb.FunctionDef, references []string) map[string]bool {
	nodes := map[string]*nodepb.NodeDef{}
	for _, node := range def.GetNodeDef() {
		nodes[node.GetName()] = node
	}
	for _, node := range def.GetControlRet() {
		references = append(references, node)
	}
	reached := map[string]bool{}
	for len(references) > 0 {
		name := nodeOf(references[len(references)-1])
		references = references[:len(references)-1]
		if !reached[name] {
			reached[name] = true
			references = append(references, nodes[name].GetInput()...)
		}
	}
	return reached
}

// placed makes a sparse tensor whose positions are in separate columns, as tf.io.SparseFeature
// does: sorted by position.
func (f *function) placed(ft feature, columns map[string]parsed) parsed {
	name, values := "sparse/"+ft.name, columns[ft.column]
	slice := attrs{"T": typeAttr(int64Type), "Index": typeAttr(int32Type)}
	rows := f.op("Slice", name+"/rows", slice, values.indices,
		f.constant(name+"/first", shapeConst(0, 0)), f.constant(name+"/all", shapeConst(-1, 1)))
	places := []edge{rows}
	for _, c := range ft.indices {
		places = append(places, f.reshape(name+"/place", columns[c].values, int64Type, -1, 1))
	}
	join := func(name string, axis int, in ...edge) edge {
		a := attrs{"T": typeAttr(int64Type), "Tidx": typeAttr(int32Type), "N": intAttr(len(in))}
		return f.op("ConcatV2", name, a, append(in, f.constant(name+"/axis", int32Const(axis)))...)
	}
	indices := join(name+"/indices", 1, places...)
	batch := f.op("Slice", name+"/batch", slice, values.shape, f.constant(name+"/begin", shapeConst(0)), f.constant(name+"/one", shapeConst(1)))
	var bounds []int64
	for _, d := range ft.shape {
		bounds = append(bounds, int64(d))
	}
	shape := join(name+"/shape", 0, batch, f.constant(name+"/bounds", int64sConst(bounds)))
	sorted := f.node("SparseReorder", name, attrs{"T": typeAttr(ft.dtype)}, indices, values.values, shape)
	return parsed{indices: nodeOutput(sorted, "output_indices", 0), values: nodeOutput(sorted, "output_values", 0), shape: shape}
}
