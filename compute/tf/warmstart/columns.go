package warmstart

import (
	"slices"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// tensorKey is a tensor of a frame.
type tensorKey struct {
	node, output string
	index        int
}

// columns returns the contents of a tensor's columns: its last axis, or its last ones taken
// together. nil: not known.
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
	o.frame.seen[key] = nil // the contents of a cycle aren't known
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

func (t *tracer) compute(o origin) []column {
	if isCall(o.node) {
		return t.callColumns(o)
	}
	known, ok := t.operations[o.node.GetOp()]
	if !ok || len(o.node.GetInput()) < known.inputs {
		return nil
	}
	return known.columns(o)
}

// combined returns the contents of two operands combined element by element: one of them must be
// the same for every example, or both must be of the same columns.
func (t *tracer) combined(o origin) []column {
	in := o.node.GetInput()
	if len(in) != 2 {
		return nil
	}
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

// joined returns the columns of all inputs except the last, which is the axis.
func (t *tracer) joined(o origin) []column {
	in := o.node.GetInput()
	var all []column
	for _, name := range in[:len(in)-1] {
		x := t.columns(o.frame, name)
		if x == nil || len(all)+len(x) > maxColumns {
			return nil
		}
		all = append(all, x...)
	}
	return all
}

// product returns the columns of the product of a value and a weight.
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

// isMatrix reports whether the rows and columns of a shape can be listed.
func isMatrix(shape []int) bool {
	return len(shape) == 2 && min(shape[0], shape[1]) >= 0 && max(shape[0], shape[1]) <= maxColumns
}

// gathered returns the columns of rows of a table.
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

// rowsOf returns the columns of a gather from a tensor that is no weight: if it takes whole rows,
// their columns are unchanged.
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

// summed returns the columns of a one-hot row that an indicator column made of one value: with
// several values they aren't known.
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

// selected returns the columns of one of two values. If one of them is a constant whole number, all
// other values became that.
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

// found returns the columns of the numbers of strings in a table.
func (t *tracer) found(o origin) []column {
	in := o.node.GetInput()
	tokens := t.tokens(o.frame, in[0])
	if tokens == nil {
		return nil
	}
	return mapped(t.columns(o.frame, in[1]), domain{tokens: tokens, other: -1})
}

func (t *tracer) hashed(o origin) []column {
	buckets := int(o.node.GetAttr()["num_buckets"].GetI())
	return mapped(t.columns(o.frame, o.node.GetInput()[0]), domain{hashed: buckets, other: -1})
}

// crossed returns the values of a hashed cross of dense columns.
func (t *tracer) crossed(o origin) []column {
	a := o.node.GetAttr()
	if a["N"].GetI() != 0 || !a["hashed_output"].GetB() || o.output != "output_values" && (o.output != "" || o.index != 1) {
		return nil
	}
	var of [][]column
	for _, in := range o.node.GetInput() {
		of = append(of, t.columns(o.frame, in))
	}
	return crossed(int(a["num_buckets"].GetI()), of...)
}

// rowsFilled returns the values of SparseFillEmptyRows: its other outputs are indices, which rows
// were empty, and more.
func (t *tracer) rowsFilled(o origin) []column {
	if o.output == "output_values" || o.output == "" && o.index == 1 {
		return t.columns(o.frame, o.node.GetInput()[1])
	}
	return nil
}

func (t *tracer) oneHot(o origin) []column {
	x := t.columns(o.frame, o.node.GetInput()[0])
	depth, ok := t.wholeNumber(o.frame, o.node.GetInput()[1])
	if !ok || len(x) == 0 || depth < 1 || depth > int64(maxColumns/len(x)) {
		return nil
	}
	return oneHot(x, int(depth))
}

// callColumns follows a function, unless its results have names of their own: a transform graph's
// features.
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
