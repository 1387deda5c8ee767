package tflite

// The schema is tensorflow/compiler/mlir/lite/schema/schema.fbs. A table is written slot by slot,
// in any order; slots are counted from 0 in the order of the schema.

const (
	fileIdentifier = "TFL3"
	fileVersion    = 3
)

// Slots of Model.
const (
	modelVersion     = 0
	modelOpCodes     = 1
	modelSubgraphs   = 2
	modelDescription = 3
	modelBuffers     = 4
	modelMetadata    = 6
	modelSignatures  = 7
	modelSlots       = 10
)

// Slots of SubGraph.
const (
	subgraphTensors   = 0
	subgraphInputs    = 1
	subgraphOutputs   = 2
	subgraphOperators = 3
	subgraphName      = 4
	subgraphSlots     = 5
)

// Slots of Tensor.
const (
	tensorShape          = 0
	tensorType           = 1
	tensorBuffer         = 2
	tensorName           = 3
	tensorQuantization   = 4
	tensorShapeSignature = 7
	tensorSlots          = 8
)

// Slots of QuantizationParameters.
const (
	quantizationScale     = 2
	quantizationZeroPoint = 3
	quantizationDimension = 6
	quantizationSlots     = 7
)

// Slots of OperatorCode. The code is there twice: old readers use the first, which can't represent
// all codes.
const (
	opCodeDeprecated = 0
	opCodeCustom     = 1
	opCodeVersion    = 2
	opCodeBuiltin    = 3
	opCodeSlots      = 4
)

// Slots of Operator.
const (
	operatorOpCode      = 0
	operatorInputs      = 1
	operatorOutputs     = 2
	operatorOptionsType = 3
	operatorOptions     = 4
	operatorSlots       = 5
)

// Slots of Buffer, Metadata, SignatureDef and TensorMap.
const (
	bufferData  = 0
	bufferSlots = 1

	metadataName   = 0
	metadataBuffer = 1
	metadataSlots  = 2

	signatureInputs   = 0
	signatureOutputs  = 1
	signatureKey      = 2
	signatureSubgraph = 4
	signatureSlots    = 5

	tensorMapName  = 0
	tensorMapIndex = 1
	tensorMapSlots = 2
)

// elementType is the schema's TensorType.
type elementType int8

// The element types that we write.
const (
	float32Type elementType = 0
	float16Type elementType = 1
	int32Type   elementType = 2
	int64Type   elementType = 4
	stringType  elementType = 5
	boolType    elementType = 6
	int8Type    elementType = 9
)

// opcode is the schema's BuiltinOperator.
type opcode int32

// The operators that we write.
const (
	opAdd            opcode = 0
	opConcatenation  opcode = 2
	opDequantize     opcode = 6
	opFullyConnected opcode = 9
	opLogistic       opcode = 14
	opMul            opcode = 18
	opRelu           opcode = 19
	opReshape        opcode = 22
	opSoftmax        opcode = 25
	opTanh           opcode = 28
	opGather         opcode = 36
	opMean           opcode = 40
	opSub            opcode = 41
	opDiv            opcode = 42
	opExp            opcode = 47
	opCast           opcode = 53
	opMaximum        opcode = 55
	opArgMax         opcode = 56
	opMinimum        opcode = 57
	opLess           opcode = 58
	opNeg            opcode = 59
	opGreaterEqual   opcode = 62
	opSlice          opcode = 65
	opNotEqual       opcode = 72
	opLog            opcode = 73
	opSum            opcode = 74
	opSqrt           opcode = 75
	opReduceMax      opcode = 82
	opOneHot         opcode = 85
	opLogicalAnd     opcode = 86
	opSquare         opcode = 92
	opLeakyRelu      opcode = 98
	opAbs            opcode = 101
	opQuantize       opcode = 114
	opSelectV2       opcode = 123
	opBucketize      opcode = 147
)

// options is one of the tables of the union BuiltinOptions. The zero value is none: the op has no
// options, or all are the default.
type options struct {
	table  uint8
	fields []field
}

// field is one slot of an options table: an int8, int32, float32, bool or []float32. A default need
// not be written.
type field struct {
	slot  int
	value any
}

// The options that we write, by the schema's numbers.
const (
	fullyConnectedTable = 8
	softmaxTable        = 9
	concatenationTable  = 10
	addTable            = 11
	mulTable            = 21
	gatherTable         = 23
	reducerTable        = 27
	subTable            = 28
	divTable            = 29
	castTable           = 37
	argMaxTable         = 40
	oneHotTable         = 61
	leakyReluTable      = 75
	bucketizeTable      = 115

	activationRelu int8 = 1 // of ActivationFunctionType
)

func fullyConnectedOptions(relu, dynamic bool) options {
	// asymmetric_quantize_inputs
	o := options{table: fullyConnectedTable, fields: []field{{3, dynamic}}}
	if relu {
		o.fields = append(o.fields, field{0, activationRelu})
	}
	return o
}

func castOptions(from, to elementType) options {
	return options{castTable, []field{{0, int8(from)}, {1, int8(to)}}}
}

func leakyReluOptions(alpha float32) options { return options{leakyReluTable, []field{{0, alpha}}} }
func softmaxOptions() options                { return options{softmaxTable, []field{{0, float32(1)}}} }
func concatenationOptions() options          { return options{concatenationTable, []field{{0, int32(1)}}} }
func oneHotOptions() options                 { return options{oneHotTable, []field{{0, int32(-1)}}} }

// reducerOptions sets keep_dims.
func reducerOptions() options { return options{reducerTable, []field{{0, true}}} }

func argMaxOptions() options { return options{argMaxTable, []field{{0, int8(int64Type)}}} }

func bucketizeOptions(boundaries []float32) options {
	return options{bucketizeTable, []field{{0, boundaries}}}
}
