package warmstart

import (
	"maps"
	"slices"
	"strings"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// tracer finds the meanings of the rows of a SavedModel's weights: it follows each product of a
// value and a weight back to the features from which the value is computed. If it doesn't know an
// operation, a weight's rows are unknown; it never fails.
type tracer struct {
	model   *savedModel
	weights map[int32]Weight  // by object
	named   map[string]Weight // by name, for models of TensorFlow 1
	rows    known             // by key
	files   map[string]Vocabulary
	frames  int
	nodes   int // in all frames
	work    int
	deep    int

	operations map[string]operation // by op
}

// rows returns what the rows of the model's weights represent, by key.
func (m *savedModel) rows(tensors []Weight) map[string]Rows {
	t, all := newTracer(m, tensors), map[string]Rows{}
	// serving_default comes first: a signature that is called with transformed features shows less
	// of them.
	for _, f := range t.roots() {
		t.rows = known{}
		t.visit(f)
		for key, rows := range t.rows.informative() {
			if len(all[key]) == 0 {
				all[key] = rows
			}
		}
	}
	return all
}

func newTracer(m *savedModel, tensors []Weight) *tracer {
	t := &tracer{model: m, weights: map[int32]Weight{}, named: map[string]Weight{}, rows: known{}, files: map[string]Vocabulary{}}
	t.operations = t.newOperations()
	for _, weight := range tensors {
		t.weights[weight.object] = weight
		t.named[weight.Name] = weight
	}
	return t
}

// roots returns the functions that the model is called by, serving_default first; of a model of
// TensorFlow 1 its graph.
func (t *tracer) roots() []*frame {
	signatures, ok := t.model.child(0, "signatures")
	if !ok {
		return []*frame{t.newFrame(nil, nil, t.model.graph.GetGraphDef().GetNode(), nil)}
	}
	var roots []*frame
	for _, c := range t.model.object(signatures).GetChildren() {
		name := t.model.object(c.GetNodeId()).GetBareConcreteFunction().GetConcreteFunctionName()
		root := t.rootFrame(name)
		switch {
		case root == nil:
		case c.GetLocalName() == "serving_default":
			roots = slices.Insert(roots, 0, root)
		default:
			roots = append(roots, root)
		}
	}
	return roots
}

// rootFrame returns a function as the user calls it: its arguments are features, except the last
// ones, which are captured.
func (t *tracer) rootFrame(name string) *frame {
	fn := t.model.functions[name]
	concrete := t.model.graph.GetObjectGraphDef().GetConcreteFunctions()[name]
	if fn == nil || concrete == nil || t.full() {
		return nil
	}
	specs := keywordSpecs(concrete.GetCanonicalizedInputSignature())
	in, bound := fn.GetSignature().GetInputArg(), concrete.GetBoundInputs()
	args := map[string]argument{}
	for i, a := range in {
		if at := i - (len(in) - len(bound)); at >= 0 {
			args[a.GetName()] = argument{object: bound[at]}
			continue
		}
		args[a.GetName()] = given(a.GetName(), specs[a.GetName()])
	}
	return t.newFrame(nil, fn, fn.GetNodeDef(), args)
}

// full reports whether no more frames may be made.
func (t *tracer) full() bool { return t.frames >= maxFrames || t.nodes >= maxNodes || t.work > maxWork }

// given returns an argument that the user gives: a feature by that name, unless the name is only
// counted.
func given(name string, width int) argument {
	if isCounted(name) {
		return argument{object: -1, width: width}
	}
	return argument{object: -1, width: width, feature: features(name, width, nil)}
}

func (t *tracer) newFrame(caller *frame, fn *functionpb.FunctionDef, list []*nodepb.NodeDef, args map[string]argument) *frame {
	t.frames, t.nodes, t.work = t.frames+1, t.nodes+len(list), t.work+len(list)
	f := &frame{
		caller: caller, fn: fn, args: args, nodes: make(map[string]*nodepb.NodeDef, len(list)),
		calls: map[string]*frame{}, seen: map[tensorKey][]column{},
	}
	if caller != nil {
		f.depth = caller.depth + 1
	}
	for _, n := range list {
		f.nodes[n.GetName()] = n
	}
	return f
}

// visit visits every node of a frame, and of the functions that it calls.
func (t *tracer) visit(f *frame) {
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		n := f.nodes[name]
		switch n.GetOp() {
		case "MatMul", "GatherV2", "Gather", "ResourceGather":
			t.columns(f, name)
		}
		if called := t.call(f, n); called != nil {
			t.visit(called)
		}
	}
}

// call returns the frame of a call, nil for a node that isn't a call.
func (t *tracer) call(f *frame, n *nodepb.NodeDef) *frame {
	if !isCall(n) || f.depth >= maxDepth {
		return nil
	}
	if called, ok := f.calls[n.GetName()]; ok {
		return called
	}
	fn := t.model.functions[n.GetAttr()["f"].GetFunc().GetName()]
	if fn == nil || t.full() {
		return nil
	}
	args, names := map[string]argument{}, t.model.argumentNames(fn)
	for i, a := range fn.GetSignature().GetInputArg() {
		if i >= len(n.GetInput()) {
			break
		}
		args[a.GetName()] = argument{object: -1, tensor: n.GetInput()[i]}
		if o, ok := f.origin(n.GetInput()[i]); ok && o.node == nil && o.object < 0 && i < len(names) && names[i] != "" {
			args[a.GetName()] = given(names[i], o.width)
		}
	}
	called := t.newFrame(f, fn, fn.GetNodeDef(), args)
	f.calls[n.GetName()] = called
	return called
}

func isCall(n *nodepb.NodeDef) bool {
	return n.GetOp() == "PartitionedCall" || n.GetOp() == "StatefulPartitionedCall"
}

// weight finds the weight whose value a tensor is.
func (t *tracer) weight(f *frame, name string) (Weight, bool) {
	o, ok := f.through(name, "Identity", "ReadVariableOp", "Cast", "StopGradient")
	if !ok {
		return Weight{}, false
	}
	if o.node == nil {
		w, ok := t.weights[o.object]
		return w, ok && o.object >= 0
	}
	switch o.node.GetOp() {
	case "VarHandleOp", "VariableV2", "Variable":
		w, ok := t.named[wholeName(o.node.GetName())]
		return w, ok
	case "ConcatV2": // of the parts of a variable
		if len(o.node.GetInput()) > 1 && f.depth < maxDepth {
			part, ok := o.frame.through(o.node.GetInput()[0], "Identity", "ReadVariableOp")
			if ok && part.node != nil {
				w, ok := t.named[wholeName(part.node.GetName())]
				return w, ok
			}
		}
	}
	return Weight{}, false
}

// isFixed reports whether a tensor is the same for every example, up to its shape.
func (t *tracer) isFixed(f *frame, tensor string, deep int) bool {
	o, ok := f.origin(tensor)
	if t.work++; !ok || t.work > maxWork || deep > maxDepth {
		return false
	}
	if o.node == nil {
		return o.object >= 0
	}
	switch o.node.GetOp() {
	case "Const", "ReadVariableOp", "VariableV2", "Fill", "ZerosLike", "OnesLike", "LookupTableSizeV2":
		return true
	case "Identity", "Cast", "Sqrt", "Rsqrt", "Reshape", "ExpandDims", "Maximum", "AddV2", "Add", "Sub", "Mul", "Neg":
		for _, in := range o.node.GetInput() {
			if !strings.HasPrefix(in, "^") && !t.isFixed(o.frame, in, deep+1) {
				return false
			}
		}
		return true
	}
	return false
}
