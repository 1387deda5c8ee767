package ops

import (
	"fmt"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// firstOutputs are the names of first outputs, with the ops that have them. For an op with one
// output that isn't listed, it is "output". They are defined in tensorflow/core/ops; a test
// compares all with TensorFlow's own.
var firstOutputs = named(map[string][]string{
	"activations":   {"Elu", "LeakyRelu", "Relu", "Relu6", "Selu", "Softplus", "Softsign"},
	"dense":         {"SparseToDense"},
	"handle":        {"TensorListReserve"},
	"index":         {"Where"},
	"item":          {"TensorListGetItem"},
	"logsoftmax":    {"LogSoftmax"},
	"out":           {"Cumprod", "Cumsum"},
	"output_handle": {"TensorListFromTensor", "TensorListSetItem"},
	"product":       {"MatMul", "SparseTensorDenseMatMul"},
	"r0":            {"BroadcastArgs"},
	"result":        {"RaggedTensorToTensor"},
	"size":          {"LookupTableSize", "LookupTableSizeV2"},
	"softmax":       {"Softmax"},
	"sum":           {"AddN"},
	"table_handle":  {"HashTableV2"},
	"tensor":        {"TensorListStack"},
	"value":         {"ReadVariableOp"},
	"values":        {"LookupTableFind", "LookupTableFindV2"},
	"y": {
		"Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cast", "Ceil", "Cos", "Cosh", "Erf", "Erfc", "Exp", "Expm1", "Floor",
		"Inv", "IsFinite", "IsInf", "IsNan", "Log", "Log1p", "LogicalNot", "Neg", "OnesLike", "Reciprocal", "Rint", "Round", "Rsqrt",
		"Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Square", "Tan", "Tanh", "Transpose", "ZerosLike",
	},
	"z": {
		"Add", "AddV2", "Atan2", "Div", "DivNoNan", "Equal", "FloorDiv", "FloorMod", "Greater", "GreaterEqual", "Less", "LessEqual",
		"LogicalAnd", "LogicalOr", "Maximum", "Minimum", "Mul", "MulNoNan", "NotEqual", "Pow", "RealDiv", "SquaredDifference", "Sub",
		"TruncateDiv", "TruncateMod",
	},
})

// named turns the lists into a map from op to name.
func named(byName map[string][]string) map[string]string {
	byOp := map[string]string{}
	for name, list := range byName {
		for _, op := range list {
			byOp[op] = name
		}
	}
	return byOp
}

// FirstOutput returns an op's name of its first output.
func FirstOutput(op string) string {
	if o, ok := Find(op); ok && len(o.Outputs) > 0 {
		return o.Outputs[0]
	}
	if name, ok := firstOutputs[op]; ok {
		return name
	}
	return "output"
}

// OutputName returns the node's output tensor number place as other nodes of a function refer to
// it, behind the node's own name: output:index. Top graphs only count the tensors.
func OutputName(def *nodepb.NodeDef, place int) string {
	o, _ := Find(def.GetOp())
	for i := len(o.Outputs) - 1; i > 0; i-- {
		if before := o.Before(def, i); before <= place {
			return fmt.Sprintf("%s:%d", o.Outputs[i], place-before)
		}
	}
	return fmt.Sprintf("%s:%d", FirstOutput(def.GetOp()), place)
}
