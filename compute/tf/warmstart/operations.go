package warmstart

// operation describes an output of one of TensorFlow's ops.
type operation struct {
	inputs  int                   // it has at least so many
	columns func(origin) []column // that its output has
}

// newOperations returns all known ones. The contents of any other op's output are unknown.
func (t *tracer) newOperations() map[string]operation {
	ops := map[string]operation{
		"ParseExampleV2": {1, t.parsed}, "ParseExample": {1, t.parsed},
		"MatMul":   {2, t.product},
		"GatherV2": {2, t.gathered}, "Gather": {2, t.gathered}, "ResourceGather": {2, t.gathered},
		"ConcatV2": {1, t.joined},
		"OneHot":   {2, t.oneHot},
		"Sum":      {1, t.summed},

		"LookupTableFindV2":      {3, t.found},
		"SparseCross":            {2, t.crossed},
		"StringToHashBucketFast": {1, t.hashed}, "StringToHashBucketStrong": {1, t.hashed}, "StringToHashBucket": {1, t.hashed},

		"SelectV2": {3, t.selected}, "Select": {3, t.selected},
		"SparseToDense":       {3, t.input(2)},
		"SparseFillEmptyRows": {2, t.rowsFilled},
	}
	for _, op := range elementwise {
		ops[op] = operation{1, t.input(0)}
	}
	for _, op := range ofEachRow {
		ops[op] = operation{1, t.input(0)}
	}
	for _, op := range ofTwo {
		ops[op] = operation{2, t.combined}
	}
	return ops
}

// input returns the operation of ops whose columns are those of an input.
func (t *tracer) input(i int) func(origin) []column {
	return func(o origin) []column { return t.columns(o.frame, o.node.GetInput()[i]) }
}

// elementwise ops keep the meaning of each column.
var elementwise = []string{
	"Identity", "IdentityN", "StopGradient", "PlaceholderWithDefault", "EnsureShape", "CheckNumerics", "PreventGradient", "Snapshot",
	"Cast", "Squeeze", "ExpandDims", "Reshape", "BiasAdd",
	"Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Tanh", "Sigmoid", "Softplus", "Softmax",
	"Neg", "Abs", "Exp", "Log", "Log1p", "Sqrt", "Rsqrt", "Square",
}

// ofEachRow ops take each row, one of its kind or with others of its example.
var ofEachRow = []string{"Unique", "SparseSegmentMean", "SparseSegmentSum", "SparseSegmentSqrtN"}

// ofTwo ops make one value of two, element by element.
var ofTwo = []string{
	"Sub", "Mul", "AddV2", "Add", "RealDiv", "Div", "DivNoNan", "Maximum", "Minimum", "SquaredDifference",
}
