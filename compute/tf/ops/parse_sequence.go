package ops

import (
	"errors"
	"fmt"
	"slices"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// sequenceParser reads serialized tf.SequenceExamples for a node: features of the context, like a
// parser, and lists of features, each of which has steps with values.
type sequenceParser struct {
	parser
	lists struct{ sparse, dense, ragged []parsed }
}

// keysOfSequence is the number of inputs before the defaults: the records, names for errors, the
// keys of sparse, dense and ragged features of the context, those of the lists, and which dense
// lists may be missing.
const keysOfSequence = 9

// buildParseSequence reads a batch of serialized tf.SequenceExamples with ParseSequenceExampleV2.
func buildParseSequence(n *Node) (Kernel, error) {
	lists, err := readSequenceLists(n)
	if err != nil {
		return nil, err
	}
	p, features := &sequenceParser{}, []example.Feature{}
	groups := [6]*[]parsed{&p.sparse, &p.dense, &p.ragged, &p.lists.sparse, &p.lists.dense, &p.lists.ragged}
	for g, group := range groups {
		for i := range lists.keys[g] {
			f, one, err := lists.feature(n, g, i)
			if err != nil {
				return nil, err
			}
			features, *group = append(features, f), append(*group, one)
		}
	}
	types := lists.types
	n.Out = slices.Concat(parsedTypes([3][]tensor.DType(types[:3]), lists.contextSplits), slices.Repeat([]tensor.DType{tensor.Int64}, len(types[3])), types[3],
		slices.Repeat([]tensor.DType{tensor.Int64}, len(types[3])), types[4], slices.Repeat([]tensor.DType{tensor.Int64}, len(types[4])), types[5], lists.listSplits, lists.listSplits)
	return p.kernel(features, groups[:])
}

// sequenceLists are what a ParseSequenceExample says of its features, by group: sparse, dense and
// ragged ones of the context, then the same of the feature lists.
type sequenceLists struct {
	keys                      [6][]string
	types                     [6][]tensor.DType
	contextSplits, listSplits []tensor.DType // of the ragged groups
	shapes                    [2][][]int     // of the dense groups
	missing                   []bool         // whether a dense feature list may be missing
}

func readSequenceLists(n *Node) (l sequenceLists, err error) {
	dense := n.types("Tcontext_dense")
	if err := n.takes(keysOfSequence + len(dense)); err != nil {
		return l, err
	}
	for i := range l.keys {
		if l.keys[i], err = n.fixedStrings(2 + i); err != nil {
			return l, fmt.Errorf("keys: %w", err)
		}
	}
	l.types = [6][]tensor.DType{
		n.types("context_sparse_types"), dense, n.types("context_ragged_value_types"),
		n.types("feature_list_sparse_types"), n.types("feature_list_dense_types"), n.types("feature_list_ragged_value_types"),
	}
	l.contextSplits, l.listSplits = n.types("context_ragged_split_types"), n.types("feature_list_ragged_split_types")
	l.shapes = [2][][]int{shapesOf(n, "context_dense_shapes"), shapesOf(n, "feature_list_dense_shapes")}
	missing, ok := n.Fixed[keysOfSequence-1].(*tensor.Array[bool])
	if !ok || len(missing.Data) != len(l.keys[4]) {
		return l, errors.New("which lists may be missing isn't known beforehand")
	}
	l.missing = missing.Data
	for i := range l.keys {
		if len(l.keys[i]) != len(l.types[i]) {
			return l, errors.New("keys and types are not as many")
		}
	}
	if len(l.contextSplits) != len(l.keys[2]) || len(l.listSplits) != len(l.keys[5]) || len(l.shapes[0]) != len(l.keys[1]) ||
		len(l.shapes[1]) != len(l.keys[4]) || n.In[0] != tensor.String {
		return l, errors.New("keys, shapes and types are not as many")
	}
	return l, nil
}

// feature returns feature i of group g.
func (l sequenceLists) feature(n *Node, g, i int) (f example.Feature, one parsed, err error) {
	if f, err = parsedFeature(l.keys[g][i], l.types[g][i]); err != nil {
		return f, one, err
	}
	f.Sequence = g >= 3
	switch g {
	case 1:
		f.Shape = append([]int{}, l.shapes[0][i]...)
		f.Default, err = n.parsedDefault(keysOfSequence+i, f)
	case 2:
		one.splits = l.contextSplits[i]
	case 4:
		f.Shape, f.AllowMissing = append([]int{}, l.shapes[1][i]...), l.missing[i]
	case 5:
		one.splits = l.listSplits[i]
	}
	if err == nil && one.splits != 0 && one.splits != tensor.Int32 && one.splits != tensor.Int64 {
		err = fmt.Errorf("row splits of type %v", one.splits)
	}
	if err != nil {
		err = fmt.Errorf("feature %q: %w", l.keys[g][i], err)
	}
	return f, one, err
}

func shapesOf(n *Node, attr string) (shapes [][]int) {
	for _, s := range n.attr(attr).GetList().GetShape() {
		shapes = append(shapes, tensor.ShapeOf(s))
	}
	return shapes
}

// kernel finishes the parser for features in the order of its groups.
func (p *sequenceParser) kernel(features []example.Feature, groups []*[]parsed) (Kernel, error) {
	p.spec = slices.SortedFunc(slices.Values(features), func(a, b example.Feature) int {
		switch {
		case a.Name != b.Name && a.Name < b.Name || a.Name == b.Name && !a.Sequence && b.Sequence:
			return -1
		case a.Name == b.Name && a.Sequence == b.Sequence:
			return 0
		}
		return 1
	})
	if err := p.spec.Validate(); err != nil {
		return nil, err
	}
	at := 0
	for _, group := range groups {
		for i := range *group {
			of := features[at]
			(*group)[i].column = slices.IndexFunc(p.spec, func(f example.Feature) bool { return f.Name == of.Name && f.Sequence == of.Sequence })
			at++
		}
	}
	return p.run, nil
}

func (p *sequenceParser) run(c *Call) error {
	b, err := p.decode(c)
	if err != nil {
		return err
	}
	p.put(c, b)
	at := 3*len(p.sparse) + len(p.dense) + 2*len(p.ragged)
	s, d, r := len(p.lists.sparse), len(p.lists.dense), len(p.lists.ragged)
	for i, f := range p.lists.sparse {
		column := &b.Columns[f.column]
		c.charge(8 * int64(column.Len()))
		c.Out[at+i], c.Out[at+2*s+i] = stepIndices(c.Out[at+i], b.Rows, column)
		c.Out[at+s+i] = ColumnValues(c.Out[at+s+i], column, []int{column.Len()})
	}
	at += 3 * s
	for i, f := range p.lists.dense {
		column := &b.Columns[f.column]
		if err := padded(c, at+i, b.Rows, column); err != nil {
			return fmt.Errorf("feature %q: %w", column.Feature.Name, err)
		}
		lengths := newOutput[int64](c, at+d+i, b.Rows)
		for row := range lengths.Data {
			lengths.Data[row] = int64(column.Offsets[row+1] - column.Offsets[row])
		}
	}
	at += 2 * d
	for i, f := range p.lists.ragged {
		column := &b.Columns[f.column]
		c.Out[at+i] = ColumnValues(c.Out[at+i], column, []int{column.Len()})
		c.Out[at+r+i] = ColumnSplits(nil, f.splits, column)
		c.Out[at+2*r+i] = innerSplits(f.splits, column)
	}
	return nil
}

// stepIndices returns indices and dense shape of a list of features as a sparse tensor: row, step,
// place in the step.
func stepIndices(old Value, rows int, c *example.Column) (indices, shape Value) {
	made, steps, widest, at := tensor.Reuse[int64](old, c.Len(), 3), 0, 0, 0
	for r := range rows {
		from, to := int(c.Offsets[r]), int(c.Offsets[r+1])
		steps = max(steps, to-from)
		for s := from; s < to; s++ {
			width := int(c.Inner[s+1] - c.Inner[s])
			widest = max(widest, width)
			for i := range width {
				made.Data[at], made.Data[at+1], made.Data[at+2] = int64(r), int64(s-from), int64(i)
				at += 3
			}
		}
	}
	return made, tensor.Vector(int64(rows), int64(steps), int64(widest))
}

// padded returns a list of features of one shape as a dense tensor, with zeros or empty strings
// after the steps of a row.
func padded(c *Call, out, rows int, column *example.Column) error {
	steps := 0
	for r := range rows {
		steps = max(steps, int(column.Offsets[r+1]-column.Offsets[r]))
	}
	dims := slices.Concat([]int{rows, steps}, column.Feature.Shape)
	if err := c.allow(dims); err != nil {
		return err
	}
	size := column.Feature.Size()
	copyRows := func(copyRow func(to, from, n int)) {
		for r := range rows {
			copyRow(r*steps*size, int(column.Offsets[r])*size, int(column.Offsets[r+1]-column.Offsets[r])*size)
		}
	}
	switch column.Feature.Kind {
	case example.Float:
		a, floats := newOutput[float32](c, out, dims...), flushed(column.Floats)
		clear(a.Data)
		copyRows(func(to, from, n int) { copy(a.Data[to:to+n], floats[from:from+n]) })
	case example.Int64:
		a := newOutput[int64](c, out, dims...)
		clear(a.Data)
		copyRows(func(to, from, n int) { copy(a.Data[to:to+n], column.Ints[from:from+n]) })
	default:
		a := newOutput[string](c, out, dims...)
		clear(a.Data)
		copyRows(func(to, from, n int) {
			for i := range n {
				a.Data[to+i] = string(column.Bytes(from + i))
			}
		})
	}
	return nil
}

// innerSplits returns where the values of each step begin and end.
func innerSplits(t tensor.DType, c *example.Column) Value {
	if t == tensor.Int32 {
		return &tensor.Array[int32]{Dims: []int{len(c.Inner)}, Data: slices.Clone(c.Inner)}
	}
	a := tensor.Reuse[int64](nil, len(c.Inner))
	for i, v := range c.Inner {
		a.Data[i] = int64(v)
	}
	return a
}

// parsedSequenceWidths returns how many tensors each output of ParseSequenceExampleV2 is.
func parsedSequenceWidths(def *nodepb.NodeDef) []int {
	n := &Node{Def: def}
	count := func(attr string) int { return len(n.types(attr)) }
	s, d, r := count("context_sparse_types"), count("Tcontext_dense"), count("context_ragged_value_types")
	ls, ld, lr := count("feature_list_sparse_types"), count("feature_list_dense_types"), count("feature_list_ragged_value_types")
	return []int{s, s, s, d, r, r, ls, ls, ls, ld, ld, lr, lr, lr}
}

var parsedSequenceOutputs = []string{
	"context_sparse_indices", "context_sparse_values", "context_sparse_shapes", "context_dense_values", "context_ragged_values",
	"context_ragged_row_splits", "feature_list_sparse_indices", "feature_list_sparse_values", "feature_list_sparse_shapes",
	"feature_list_dense_values", "feature_list_dense_lengths", "feature_list_ragged_values", "feature_list_ragged_outer_splits",
	"feature_list_ragged_inner_splits",
}
