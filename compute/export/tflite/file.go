package tflite

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/compute/nn"
)

// file is the content of a .tflite file. It has one subgraph.
type file struct {
	tensors     []tensor
	operators   []operator
	inputs      []port
	outputs     []port
	description string
	notes       []byte
}

// tensor is one value. Data is set for a constant; the first dimension of a computed tensor is
// rows, any number of them.
type tensor struct {
	name   string
	kind   elementType
	shape  []int32 // -1 for the rows
	data   []byte
	scaled *quantization
}

// quantization gives meaning to integers: real = scale * (integer - zero), a scale for each index
// of the dimension, or one for all.
type quantization struct {
	scales    []float32
	zeros     []int64
	dimension int32
}

// operator computes tensors from tensors, by index; -1 is an omitted operand.
type operator struct {
	code    opcode
	version int32
	in, out []int32
	options options
}

// port is a tensor that the signature names.
type port struct {
	name   string
	tensor int32
}

// add adds a tensor and returns its index.
func (f *file) add(t tensor) int32 {
	f.tensors = append(f.tensors, t)
	return int32(len(f.tensors) - 1)
}

// emit adds an operator and the tensor that it computes, and returns the tensor's index.
func (f *file) emit(op operator, out tensor) int32 {
	i := f.add(out)
	op.out = []int32{i}
	if op.version == 0 {
		op.version = 1
	}
	f.operators = append(f.operators, op)
	return i
}

// The bytes of constants, little endian as in every .tflite file.

func floatBytes(values ...float32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func int32Bytes(values ...int32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func int64Bytes(value int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(value)) }

// Quantization is the type of numbers with which a file stores its weights and computes.
type Quantization int

// The quantizations. Inputs and outputs are float32 and int64 in all of them, unless
// Options.IntegerIO.
const (
	Float32 Quantization = iota // as trained
	// Float16 keeps matrices in half precision, some 11 bits of each number, and computes in
	// float32: half the size. A matrix with a number beyond 65504 stays as it is.
	Float16
	// DynamicInt8 keeps large matrices in 8 bits, a scale for each column or table, and computes in
	// float32, except products of matrices, whose rows are rounded to 8 bits when they are
	// computed: a quarter of the size. Runtimes up to TensorFlow 2.16 refuse it; those know the
	// others.
	DynamicInt8
	// Int8 computes in 8 bits from the first product or embedding on, wherever the format has an op
	// for it, and in float32 before it: there features of wide ranges are brought to a common one.
	// It needs sample rows, to measure how large numbers get.
	Int8
)

// Options determine how a file is written. The zero value writes all in float32.
type Options struct {
	Quantization Quantization

	// Samples are rows as the graph takes them, by input, for Int8: a hundred or more that are like
	// the rows of later calls. Larger numbers than theirs are clipped.
	Samples map[string]nn.Value

	// IntegerIO makes the inputs and outputs of an Int8 file int8 instead of float32, for devices
	// that support nothing else. Callers find the scales in the file.
	IntegerIO bool

	// Notes describe in words, or JSON, what to feed. It is kept in the file as metadata NotesName;
	// nil leaves it out.
	Notes []byte
}

// NotesName is the name of the metadata that holds Options.Notes.
const NotesName = "inputs.json"

// SignatureKey names the one signature of a file: inputs and outputs as the graph names them.
const SignatureKey = "serving_default"

// Holds reports whether a file can represent an op: all but those that look strings up.
func Holds(op nn.Op) bool {
	_, simple := simpleOf(op)
	return simple || loweringOf(op) != nil
}

// Write writes g to path. Inputs and outputs have shape [batch, width], batch being the caller's
// choice, 1 at first. The same graph gives the same bytes. An op that the file can't represent is
// an error that names its node.
func Write(path string, g *nn.Graph, o Options) error {
	f, err := lower(g, o)
	if err == nil {
		err = f.save(path)
	}
	if err != nil {
		return fmt.Errorf("write TFLite model %s: %w", path, err)
	}
	return nil
}

// save writes the file, and renames it when it is complete.
func (f *file) save(path string) error {
	data, err := f.encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// customCode is the operator for a runtime's own code.
const customCode = 32

// builtinNames are the names of the schema's BuiltinOperator, by code from 0.
var builtinNames = strings.Fields(`
	ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
	FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM
	MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
	SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND
	SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN
	EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2
	GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG
	SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT
	UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU
	SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE
	MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5
	SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO
	RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL
	CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE
	RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX
	UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD
	STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
	STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS
	STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE
	STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH
	STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE
	STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE
	STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE
	STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
`)

// typeNames are the names of the schema's TensorType, by code from 0.
var typeNames = strings.Fields(`
	float32 float16 int32 uint8 int64 string bool int16 complex64 int8 float64 complex128 uint64 resource variant uint32 uint16
	int4 bfloat16 int2 uint4
`)
