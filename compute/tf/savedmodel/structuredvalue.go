package savedmodel

import (
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// tensorSpec describes a tensor that goes into or comes out of a signature.
type tensorSpec struct {
	key   string
	dtype typepb.DataType
	shape []int // -1: not known; nil: not even the rank
}

func (s tensorSpec) structured() *corepb.StructuredValue {
	shape := shapeProto(s.shape...)
	shape.UnknownRank = s.shape == nil
	return &corepb.StructuredValue{Kind: &corepb.StructuredValue_TensorSpecValue{
		TensorSpecValue: &corepb.TensorSpecProto{Name: s.key, Shape: shape, Dtype: s.dtype},
	}}
}

func tupleValue(values ...*corepb.StructuredValue) *corepb.StructuredValue {
	return &corepb.StructuredValue{Kind: &corepb.StructuredValue_TupleValue{TupleValue: &corepb.TupleValue{Values: values}}}
}

func dictValue(fields map[string]*corepb.StructuredValue) *corepb.StructuredValue {
	return &corepb.StructuredValue{Kind: &corepb.StructuredValue_DictValue{DictValue: &corepb.DictValue{Fields: fields}}}
}

func listValue(values ...*corepb.StructuredValue) *corepb.StructuredValue {
	return &corepb.StructuredValue{Kind: &corepb.StructuredValue_ListValue{ListValue: &corepb.ListValue{Values: values}}}
}

func noneValue() *corepb.StructuredValue {
	return &corepb.StructuredValue{Kind: &corepb.StructuredValue_NoneValue{NoneValue: &corepb.NoneValue{}}}
}

// specDict returns {key: TensorSpec}.
func specDict(specs []tensorSpec) *corepb.StructuredValue {
	fields := map[string]*corepb.StructuredValue{}
	for _, s := range specs {
		fields[s.key] = s.structured()
	}
	return dictValue(fields)
}

// keywordSignature returns the input signature of a function called by keywords alone: ((), {key:
// TensorSpec}).
func keywordSignature(specs []tensorSpec) *corepb.StructuredValue {
	return tupleValue(tupleValue(), specDict(specs))
}

// noArguments returns Python's FullArgSpec of a function without arguments, as tf.function saves
// it.
func noArguments() *corepb.FunctionSpec {
	pair := func(key string, value *corepb.StructuredValue) *corepb.PairValue {
		return &corepb.PairValue{Key: key, Value: value}
	}
	spec := &corepb.NamedTupleValue{Name: "FullArgSpec", Values: []*corepb.PairValue{
		pair("args", listValue()), pair("varargs", noneValue()), pair("varkw", noneValue()), pair("defaults", noneValue()),
		pair("kwonlyargs", listValue()), pair("kwonlydefaults", noneValue()), pair("annotations", dictValue(nil)),
	}}
	return &corepb.FunctionSpec{
		Fullargspec:    &corepb.StructuredValue{Kind: &corepb.StructuredValue_NamedTupleValue{NamedTupleValue: spec}},
		InputSignature: tupleValue(),
	}
}
