package savedmodel

import (
	"slices"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// feature is one tensor, or the parts of a sparse or ragged one, which are composed of columns of
// tf.Examples.
type feature struct {
	name   string
	dtype  typepb.DataType
	layout graph.Layout
	column string // that holds the values
	shape  []int  // dense: the shape of one row; sparse, with indices: the limits of each dimension
	// dense: the value of a row without the feature; nil: such a row is an error
	fallback *tensorpb.TensorProto
	// sparse: columns with the position of each value, one for each dimension; none: its number in
	// the row
	indices []string
	splits  typepb.DataType // ragged: of the row splits
}

// parsed is a column: a dense one has values alone, a sparse one all but splits, a ragged one
// values and splits.
type parsed struct{ indices, values, shape, splits edge }

// column is a column of tf.Examples, as ParseExampleV2 takes it.
type column struct {
	name     string
	dtype    typepb.DataType
	shape    []int
	fallback *tensorpb.TensorProto
	splits   typepb.DataType
}

// columnsOf returns the columns of each layout that features need, each once.
func columnsOf(features []feature) map[graph.Layout][]column {
	columns := map[graph.Layout][]column{}
	add := func(layout graph.Layout, c column) {
		same := func(other column) bool { return other.name == c.name }
		if !slices.ContainsFunc(columns[layout], same) {
			columns[layout] = append(columns[layout], c)
		}
	}
	for _, ft := range features {
		add(ft.layout, column{ft.column, ft.dtype, ft.shape, ft.fallback, ft.splits})
		for _, name := range ft.indices {
			add(graph.Sparse, column{name: name, dtype: int64Type})
		}
	}
	return columns
}

// parseExamples writes the ops that turn serialized tf.Examples into features, by name.
func (f *function) parseExamples(serialized edge, features []feature) map[string]parsed {
	columns := columnsOf(features)
	found := f.parseColumns(serialized, columns[graph.Sparse], columns[graph.Dense], columns[graph.Ragged])
	all := map[string]parsed{}
	for _, ft := range features {
		all[ft.name] = found[ft.layout][ft.column]
		if len(ft.indices) > 0 {
			all[ft.name] = f.placed(ft, found[graph.Sparse])
		}
	}
	return all
}

// parseColumns writes ParseExampleV2 and names its outputs.
func (f *function) parseColumns(serialized edge, sparse, dense, ragged []column) map[graph.Layout]map[string]parsed {
	in := []edge{
		serialized,
		f.constant("parse/names", stringsConst(nil)),
		f.constant("parse/sparse_keys", stringsConst(columnNames(sparse))),
		f.constant("parse/dense_keys", stringsConst(columnNames(dense))),
		f.constant("parse/ragged_keys", stringsConst(columnNames(ragged))),
	}
	var shapes []*shapepb.TensorShapeProto
	for _, c := range dense {
		in = append(in, f.constant("parse/default/"+c.name, c.defaultValue()))
		shapes = append(shapes, shapeProto(c.shape...))
	}
	var splits []typepb.DataType
	for _, c := range ragged {
		splits = append(splits, c.splits)
	}
	node := f.node("ParseExampleV2", "parse", attrs{
		"Tdense": typesAttr(columnTypes(dense)...), "dense_shapes": shapesAttr(shapes),
		"num_sparse": intAttr(len(sparse)), "sparse_types": typesAttr(columnTypes(sparse)...),
		"ragged_value_types": typesAttr(columnTypes(ragged)...), "ragged_split_types": typesAttr(splits...),
	}, in...)
	out := func(name string, i int) edge { return nodeOutput(node, name, i) }
	found := map[graph.Layout]map[string]parsed{graph.Sparse: {}, graph.Dense: {}, graph.Ragged: {}}
	for i, c := range sparse {
		indices, shape := out("sparse_indices", i), out("sparse_shapes", i)
		found[graph.Sparse][c.name] = parsed{indices: indices, values: out("sparse_values", i), shape: shape}
	}
	for i, c := range dense {
		found[graph.Dense][c.name] = parsed{values: out("dense_values", i)}
	}
	for i, c := range ragged {
		found[graph.Ragged][c.name] = parsed{values: out("ragged_values", i), splits: out("ragged_row_splits", i)}
	}
	return found
}

func columnNames(columns []column) []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

func columnTypes(columns []column) []typepb.DataType {
	var types []typepb.DataType
	for _, c := range columns {
		types = append(types, c.dtype)
	}
	return types
}

// defaultValue returns the fallback; an empty list of the type means that a row must have the
// feature.
func (c column) defaultValue() *tensorpb.TensorProto {
	if c.fallback == nil {
		return &tensorpb.TensorProto{Dtype: c.dtype, TensorShape: shapeProto(0)}
	}
	return c.fallback
}

// filled returns the value v, a scalar, in every element of the shape: a typed list that is shorter
// than its shape repeats its last element.
func filled(v *tensorpb.TensorProto, shape []int) *tensorpb.TensorProto {
	v.TensorShape = shapeProto(shape...)
	return v
}

// dense converts a sparse column to shape [batch, width]; missing values become fallback, a scalar.
// A row with more values than width is an error when the model runs.
func (f *function) dense(name string, column parsed, dtype typepb.DataType, width int, fallback *tensorpb.TensorProto) edge {
	begin, end := f.constant(name+"/begin", shapeConst(0)), f.constant(name+"/end", shapeConst(1))
	batch := f.op("StridedSlice", name+"/batch", attrs{"T": typeAttr(int64Type), "Index": typeAttr(int32Type)},
		column.shape, begin, end, f.constant(name+"/stride", shapeConst(1)))
	shape := f.op("ConcatV2", name+"/dense_shape", attrs{"T": typeAttr(int64Type), "Tidx": typeAttr(int32Type), "N": intAttr(2)},
		batch, f.constant(name+"/width", int64sConst([]int64{int64(width)})), f.constant(name+"/axis", int32Const(0)))
	return f.op("SparseToDense", name+"/dense", attrs{"T": typeAttr(dtype), "Tindices": typeAttr(int64Type)},
		column.indices, shape, column.values, f.constant(name+"/absent", fallback))
}
