package savedmodel

import (
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// feature is one feature of a tf.Example, as ParseExampleV2 takes it.
type feature struct {
	name     string
	dtype    typepb.DataType
	sparse   bool
	shape    []int                 // dense: of one row
	fallback *tensorpb.TensorProto // dense: the value of a row without the feature; nil makes that an error
}

// parsed is a feature's column: a dense one has values alone.
type parsed struct{ indices, values, shape tensor }

// parseExamples writes the op that turns serialized tf.Examples into columns, by name.
func (f *function) parseExamples(serialized tensor, features []feature) map[string]parsed {
	var sparse, dense []feature
	for _, ft := range features {
		if ft.sparse {
			sparse = append(sparse, ft)
		} else {
			dense = append(dense, ft)
		}
	}
	in := []tensor{
		serialized,
		f.constant("parse/names", stringsConst(nil)),
		f.constant("parse/sparse_keys", stringsConst(featureNames(sparse))),
		f.constant("parse/dense_keys", stringsConst(featureNames(dense))),
		f.constant("parse/ragged_keys", stringsConst(nil)),
	}
	var shapes []*shapepb.TensorShapeProto
	for _, ft := range dense {
		in = append(in, f.constant("parse/default/"+ft.name, ft.defaultValue()))
		shapes = append(shapes, shapeProto(ft.shape...))
	}
	node := f.node("ParseExampleV2", "parse", attrs{
		"Tdense": typesAttr(featureTypes(dense)...), "dense_shapes": shapesAttr(shapes),
		"num_sparse": intAttr(len(sparse)), "sparse_types": typesAttr(featureTypes(sparse)...),
		"ragged_value_types": typesAttr(), "ragged_split_types": typesAttr(),
	}, in...)
	columns := map[string]parsed{}
	for i, ft := range sparse {
		columns[ft.name] = parsed{
			nodeOutput(node, "sparse_indices", i), nodeOutput(node, "sparse_values", i), nodeOutput(node, "sparse_shapes", i),
		}
	}
	for i, ft := range dense {
		columns[ft.name] = parsed{values: nodeOutput(node, "dense_values", i)}
	}
	return columns
}

func featureNames(features []feature) []string {
	var names []string
	for _, ft := range features {
		names = append(names, ft.name)
	}
	return names
}

func featureTypes(features []feature) []typepb.DataType {
	var types []typepb.DataType
	for _, ft := range features {
		types = append(types, ft.dtype)
	}
	return types
}

// defaultValue is the fallback; an empty list of the type says that a row has to have the feature.
func (ft feature) defaultValue() *tensorpb.TensorProto {
	if ft.fallback == nil {
		return &tensorpb.TensorProto{Dtype: ft.dtype, TensorShape: shapeProto(0)}
	}
	return ft.fallback
}

// filled is the value v, a scalar, in every element of the shape: a typed list shorter than its shape repeats its last.
func filled(v *tensorpb.TensorProto, shape []int) *tensorpb.TensorProto {
	v.TensorShape = shapeProto(shape...)
	return v
}

// dense gives a sparse column the shape [batch, width], absent values becoming fallback, a scalar. A row with more values
// than width is an error when the model runs.
func (f *function) dense(name string, column parsed, dtype typepb.DataType, width int, fallback *tensorpb.TensorProto) tensor {
	begin, end := f.constant(name+"/begin", shapeConst(0)), f.constant(name+"/end", shapeConst(1))
	batch := f.op("StridedSlice", name+"/batch", attrs{"T": typeAttr(int64Type), "Index": typeAttr(int32Type)},
		column.shape, begin, end, f.constant(name+"/stride", shapeConst(1)))
	shape := f.op("ConcatV2", name+"/dense_shape", attrs{"T": typeAttr(int64Type), "Tidx": typeAttr(int32Type), "N": intAttr(2)},
		batch, f.constant(name+"/width", int64sConst([]int64{int64(width)})), f.constant(name+"/axis", int32Const(0)))
	return f.op("SparseToDense", name+"/dense", attrs{"T": typeAttr(dtype), "Tindices": typeAttr(int64Type)},
		column.indices, shape, column.values, f.constant(name+"/absent", fallback))
}
