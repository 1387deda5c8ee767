package warm

import (
	"slices"
	"strings"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// tensorKey is a tensor of a frame.
type tensorKey struct {
	node, output string
	index        int
}

// columns are what stands in a tensor's columns: its last axis, or its last ones taken together. nil: not known.
func (t *tracer) columns(f *frame, tensor string) []column {
	o, ok := f.origin(tensor)
	if !ok || t.work > maxWork || t.deep > maxChain {
		return nil
	}
	if o.node == nil {
		return o.feature
	}
	key := tensorKey{o.node.GetName(), o.output, o.index}
	if known, ok := o.frame.seen[key]; ok {
		return known
	}
	o.frame.seen[key] = nil // what goes round in a circle isn't known
	t.deep++
	found := t.compute(o)
	t.deep--
	if len(found) > maxColumns {
		found = nil
	}
	t.work += 1 + len(found)
	o.frame.seen[key] = found
	return found
}

// operands are how many inputs an op has that is asked for more than its first.
var operands = map[string]int{
	"OneHot": 2, "LookupTableFindV2": 3, "SparseToDense": 3, "SelectV2": 3, "Select": 3, "MatMul": 2, "GatherV2": 2, "Gather": 2, "ResourceGather": 2,
}

func (t *tracer) compute(o origin) []column {
	n, in := o.node, o.node.GetInput()
	if isCall(n) {
		return t.callColumns(o)
	}
	if len(in) < max(operands[n.GetOp()], 1) {
		return nil
	}
	x := func(i int) []column { return t.columns(o.frame, in[i]) }
	switch n.GetOp() {
	case "ParseExampleV2", "ParseExample":
		return t.parsed(o)
	case "MatMul":
		return t.product(o)
	case "GatherV2", "Gather", "ResourceGather":
		return t.gathered(o)
	case "SparseToDense":
		return x(2)
	case "Sum":
		return t.summed(o)
	case "SparseFillEmptyRows": // indices, values, which rows were empty, and more
		if len(in) > 1 && (o.output == "output_values" || o.output == "" && o.index == 1) {
			return x(1)
		}
		return nil
	case "Unique", "SparseSegmentMean", "SparseSegmentSum", "SparseSegmentSqrtN": // of each row, one of its kind or with others of its example
		return x(0)
	case "SelectV2", "Select":
		return t.selected(o)
	case "OneHot":
		return t.oneHot(o)
	case "LookupTableFindV2":
		if tokens := t.tokens(o.frame, in[0]); tokens != nil {
			return mapped(x(1), domain{tokens: tokens, other: -1})
		}
		return nil
	case "StringToHashBucketFast", "StringToHashBucketStrong", "StringToHashBucket":
		return mapped(x(0), domain{hashed: int(n.GetAttr()["num_buckets"].GetI()), other: -1})
	case "ConcatV2":
		return t.joined(o.frame, in[:len(in)-1])
	case "Sub", "Mul", "AddV2", "Add", "RealDiv", "Div", "DivNoNan", "Maximum", "Minimum", "SquaredDifference":
		if len(in) == 2 {
			return t.combined(o)
		}
	}
	if slices.Contains(elementwise, n.GetOp()) {
		return x(0)
	}
	return nil
}

// elementwise ops leave each column what it is.
var elementwise = []string{
	"Identity", "IdentityN", "StopGradient", "PlaceholderWithDefault", "EnsureShape", "CheckNumerics", "PreventGradient", "Snapshot",
	"Cast", "Squeeze", "ExpandDims", "Reshape", "BiasAdd", "Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Tanh", "Sigmoid", "Softplus", "Softmax",
	"Neg", "Abs", "Exp", "Log", "Log1p", "Sqrt", "Rsqrt", "Square",
}

// combined is what stands in two operands taken together, element by element: one of them has to be the same for every example, or both
// have to be of the same columns.
func (t *tracer) combined(o origin) []column {
	in := o.node.GetInput()
	x, y := t.columns(o.frame, in[0]), t.columns(o.frame, in[1])
	switch {
	case t.isFixed(o.frame, in[1], 0):
		return x
	case t.isFixed(o.frame, in[0], 0):
		return y
	case sameNames(x, y):
		return x
	}
	return nil
}

func sameNames(x, y []column) bool {
	return x != nil && slices.EqualFunc(x, y, func(a, b column) bool { return a.name == b.name })
}

// isFixed says that a tensor is the same for every example, up to its shape.
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

func (t *tracer) joined(f *frame, tensors []string) []column {
	var all []column
	for _, name := range tensors {
		x := t.columns(f, name)
		if x == nil || len(all)+len(x) > maxColumns {
			return nil
		}
		all = append(all, x...)
	}
	return all
}

// product is of a value and a weight.
func (t *tracer) product(o origin) []column {
	x := t.columns(o.frame, o.node.GetInput()[0])
	w, ok := t.weight(o.frame, o.node.GetInput()[1])
	if !ok || !isMatrix(w.Shape) {
		return nil
	}
	if len(x) == w.Shape[0] && !o.node.GetAttr()["transpose_b"].GetB() {
		t.rows.learn(w.Key, kernelRows(x))
	}
	return units(w.Shape[1])
}

// isMatrix says that a shape is one whose rows and columns can be listed.
func isMatrix(shape []int) bool {
	return len(shape) == 2 && min(shape[0], shape[1]) >= 0 && max(shape[0], shape[1]) <= maxColumns
}

// gathered is rows of a table.
func (t *tracer) gathered(o origin) []column {
	w, ok := t.weight(o.frame, o.node.GetInput()[0])
	if !ok {
		return t.rowsOf(o)
	}
	if !isMatrix(w.Shape) {
		return nil
	}
	x := t.columns(o.frame, o.node.GetInput()[1])
	if len(x) == 0 || w.Shape[1] > maxColumns/len(x) {
		return nil
	}
	t.work += w.Shape[0]
	t.rows.learn(w.Key, tableRows(x, w.Shape[0]))
	return lookedUp(x, w.Shape[1])
}

// rowsOf is for a gather from what is no weight: if it takes whole rows, their columns are what they were.
func (t *tracer) rowsOf(o origin) []column {
	in := o.node.GetInput()
	if len(in) < 3 {
		return nil
	}
	if axis, ok := t.wholeNumber(o.frame, in[2]); !ok || axis != 0 {
		return nil
	}
	return t.columns(o.frame, in[0])
}

// summed is a one-hot row that an indicator column made of one value: with several it is not known which one is meant.
func (t *tracer) summed(o origin) []column {
	made, ok := o.frame.through(o.node.GetInput()[0], "Identity")
	if !ok || made.node == nil || made.node.GetOp() != "OneHot" || len(made.node.GetInput()) < 2 {
		return nil
	}
	if x := t.columns(made.frame, made.node.GetInput()[0]); len(x) != 1 {
		return nil
	}
	return t.columns(o.frame, o.node.GetInput()[0])
}

// selected is one of two values. Where one of them is a constant whole number, that is what all others became.
func (t *tracer) selected(o origin) []column {
	in := o.node.GetInput()
	x, y := t.columns(o.frame, in[1]), t.columns(o.frame, in[2])
	if other, ok := t.wholeNumber(o.frame, in[2]); ok && isWhole(o.node) {
		return clamped(x, other)
	}
	switch {
	case t.isFixed(o.frame, in[1], 0):
		return y
	case t.isFixed(o.frame, in[2], 0), sameNames(x, y):
		return x
	}
	return nil
}

func isWhole(n *nodepb.NodeDef) bool {
	dtype := n.GetAttr()["T"].GetType().String()
	return dtype == "DT_INT64" || dtype == "DT_INT32"
}

func (t *tracer) oneHot(o origin) []column {
	x := t.columns(o.frame, o.node.GetInput()[0])
	depth, ok := t.wholeNumber(o.frame, o.node.GetInput()[1])
	if !ok || len(x) == 0 || depth < 1 || depth > int64(maxColumns/len(x)) {
		return nil
	}
	return oneHot(x, int(depth))
}

// callColumns goes into a function, unless it is one whose results have names of their own: a transform graph's features.
func (t *tracer) callColumns(o origin) []column {
	name := o.node.GetAttr()["f"].GetFunc().GetName()
	called := t.call(o.frame, o.node)
	if called == nil {
		return nil
	}
	results := called.fn.GetSignature().GetOutputArg()
	if o.index < 0 || o.index >= len(results) {
		return nil
	}
	result := called.fn.GetRet()[results[o.index].GetName()]
	if named := t.model.resultNames(name); named != nil {
		if named[o.index].key == "" {
			return nil
		}
		return features(named[o.index].key, named[o.index].width, t.idsOf(called, result))
	}
	return t.columns(called, result)
}
