package cuda

import (
	_ "embed"
	"math"
)

// ptx has the kernels, compiled by `task cuda:ptx` for any GPU from compute capability 7.5 (Turing,
// 2018) on.
//
//go:embed kernels/all.ptx
var ptx string

// ParamKind is the type of a kernel's parameter.
type ParamKind byte

// The kinds.
const (
	PointerParam ParamKind = 'p' // a Pointer
	IntParam     ParamKind = 'i' // int32
	FloatParam   ParamKind = 'f' // float32
	LongParam    ParamKind = 'l' // uint64
)

// Kernel is the name of a kernel, and its parameters' kinds in their order.
type Kernel struct{ Name, Params string }

// KernelID is a kernel's index in Kernels.
type KernelID int

// The kernels, each described in kernels/.
const (
	Map KernelID = iota
	Slope
	Combine
	Repeat
	Copy
	Fill
	Epilogue
	Gemm
	SumColumns
	MaxColumns
	Softmax
	LogSoftmax
	SoftmaxSlope
	LogSoftmaxSlope
	SumParts
	SumFinish
	NormFinish
	SumRows
	Finish
	Gather
	Sparse
	Scatter
	Place
	Pad
	Transpose
	Dropout
	Update
	ClipValue
	ClipNorm
)

// Kernels returns all kernels of the module.
func Kernels() []Kernel {
	return []Kernel{
		Map:             {"map", "ppii"},
		Slope:           {"slope", "pppii"},
		Combine:         {"combine", "pppiiiiif"},
		Repeat:          {"repeat", "ppiii"},
		Copy:            {"copy", "ppii"},
		Fill:            {"fill", "pif"},
		Epilogue:        {"epilogue", "ppiii"},
		Gemm:            {"gemm", "ppppiiiiiii"},
		SumColumns:      {"sum_columns", "ppiifi"},
		MaxColumns:      {"max_columns", "ppii"},
		Softmax:         {"softmax", "ppii"},
		LogSoftmax:      {"log_softmax", "ppii"},
		SoftmaxSlope:    {"softmax_slope", "pppii"},
		LogSoftmaxSlope: {"log_softmax_slope", "pppii"},
		SumParts:        {"sum_parts", "ppii"},
		SumFinish:       {"sum_finish", "ppifi"},
		NormFinish:      {"norm_finish", "ppi"},
		SumRows:         {"sum_rows", "ppiifi"},
		Finish:          {"finish", "ppp"},
		Gather:          {"gather", "pppiiipi"},
		Sparse:          {"sparse", "ppppiiiipi"},
		Scatter:         {"scatter", "ppppiiiipi"},
		Place:           {"place", "ppiiiiii"},
		Pad:             {"pad", "ppiiii"},
		Transpose:       {"transpose", "ppii"},
		Dropout:         {"dropout", "piifllp"},
		Update:          {"update", "pppppiiillllllfffffff"},
		ClipValue:       {"clip_value", "pif"},
		ClipNorm:        {"clip_norm", "pipf"},
	}
}

// arg makes an Arg from a Pointer, an int, a bool, a float32 or a uint64. An int must fit into 32
// bits, which fits has checked.
func arg(value any) Arg {
	switch v := value.(type) {
	case Pointer:
		return Arg{PointerParam, uint64(v)}
	case int:
		return Arg{IntParam, uint64(uint32(int32(v)))}
	case bool:
		if v {
			return Arg{IntParam, 1}
		}
		return Arg{IntParam, 0}
	case float32:
		return Arg{FloatParam, uint64(math.Float32bits(v))}
	case uint64:
		return Arg{LongParam, v}
	}
	panic("cuda: no parameter of a kernel has this type")
}
