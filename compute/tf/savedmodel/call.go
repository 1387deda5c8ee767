package savedmodel

import (
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	oppb "github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// callAttrs returns the attributes of a StatefulPartitionedCall of the function.
func callAttrs(def *functionpb.FunctionDef) attrs {
	signature := def.GetSignature()
	return attrs{
		"f":    functionAttr(signature.GetName()),
		"Tin":  typesAttr(argumentTypes(signature.GetInputArg())...),
		"Tout": typesAttr(argumentTypes(signature.GetOutputArg())...),
	}
}

func argumentTypes(args []*oppb.OpDef_ArgDef) []typepb.DataType {
	types := []typepb.DataType{}
	for _, a := range args {
		types = append(types, a.GetType())
	}
	return types
}

func library(functions []*function) *functionpb.FunctionDefLibrary {
	lib := &functionpb.FunctionDefLibrary{}
	for _, f := range functions {
		lib.Function = append(lib.Function, f.def)
	}
	return lib
}
