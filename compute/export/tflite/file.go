package tflite

import (
	"encoding/binary"
	"math"
)

// file is what will stand in a .tflite file, in plain words. It has one subgraph.
type file struct {
	tensors     []tensor
	operators   []operator
	inputs      []port
	outputs     []port
	description string
	notes       []byte
}

// tensor is one value. Data is set for a constant; what is computed has rows as its first
// dimension, any number of them.
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

// operator computes tensors from tensors, by index; -1 stands for an operand left out.
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
