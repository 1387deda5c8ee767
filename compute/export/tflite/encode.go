package tflite

import (
	"fmt"
	"math"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
)

// maxBytes limits the size of a file: offsets in a FlatBuffer are 32 bits, and its builder doubles
// its buffer to 2 GiB at most.
const maxBytes = 1 << 30

// dataAlignment is that of constants, which runtimes use in place.
const dataAlignment = 16

// encode writes the FlatBuffer. Children come before the table that contains them.
func (f *file) encode() ([]byte, error) {
	size := len(f.notes)
	for _, t := range f.tensors {
		size += len(t.data)
	}
	if size > maxBytes {
		return nil, fmt.Errorf("constants of %d bytes, at most %d can be written", size, maxBytes)
	}
	e := encoder{flatbuffers.NewBuilder(size + size/8 + 4096)}
	e.FinishWithFileIdentifier(e.model(f), []byte(fileIdentifier))
	return e.FinishedBytes(), nil
}

type encoder struct{ *flatbuffers.Builder }

// offset is the position of a child. 0 is none.
type offset = flatbuffers.UOffsetT

func (e encoder) model(f *file) offset {
	buffers, last := e.buffers(f)
	codes, indices := e.opCodes(f.operators)
	subgraphs := e.tables(e.subgraph(f, indices))
	signatures := e.tables(e.signature(f))
	description := e.CreateString(f.description)
	var metadata offset
	if f.notes != nil {
		metadata = e.metadata(last)
	}
	e.StartObject(modelSlots)
	e.PrependUint32Slot(modelVersion, fileVersion, 0)
	e.PrependUOffsetTSlot(modelOpCodes, codes, 0)
	e.PrependUOffsetTSlot(modelSubgraphs, subgraphs, 0)
	e.PrependUOffsetTSlot(modelDescription, description, 0)
	e.PrependUOffsetTSlot(modelBuffers, buffers, 0)
	e.PrependUOffsetTSlot(modelMetadata, metadata, 0)
	e.PrependUOffsetTSlot(modelSignatures, signatures, 0)
	return e.EndObject()
}

// buffers writes the values of constants: the first buffer is empty and represents none, then there
// is one for each constant, then the notes, if there are some. last is the index of the last one.
func (e encoder) buffers(f *file) (vector offset, last int) {
	all := []offset{e.buffer(nil)}
	for _, t := range f.tensors {
		if t.data != nil {
			all = append(all, e.buffer(t.data))
		}
	}
	if f.notes != nil {
		all = append(all, e.buffer(f.notes))
	}
	return e.tables(all...), len(all) - 1
}

func (e encoder) buffer(data []byte) offset {
	var vector offset
	if len(data) > 0 {
		// What CreateByteVector writes next ends here, so its first byte is aligned.
		e.Prep(dataAlignment, len(data))
		vector = e.CreateByteVector(data)
	}
	e.StartObject(bufferSlots)
	e.PrependUOffsetTSlot(bufferData, vector, 0)
	return e.EndObject()
}

// metadata names the notes' buffer.
func (e encoder) metadata(buffer int) offset {
	name := e.CreateString(NotesName)
	e.StartObject(metadataSlots)
	e.PrependUOffsetTSlot(metadataName, name, 0)
	e.PrependUint32Slot(metadataBuffer, uint32(buffer), 0)
	return e.tables(e.EndObject())
}

// opCodes writes each pair of code and version once, and returns the index of the pair of each
// operator.
func (e encoder) opCodes(operators []operator) (vector offset, indices []uint32) {
	type pair struct {
		code    opcode
		version int32
	}
	known := map[pair]uint32{}
	var all []offset
	for _, op := range operators {
		p := pair{op.code, op.version}
		i, ok := known[p]
		if !ok {
			i = uint32(len(all))
			known[p] = i
			all = append(all, e.opCode(p.code, p.version))
		}
		indices = append(indices, i)
	}
	return e.tables(all...), indices
}

// largestOldCode is the code that represents all newer ones in the old field.
const largestOldCode = 127

func (e encoder) opCode(code opcode, version int32) offset {
	e.StartObject(opCodeSlots)
	e.PrependInt8Slot(opCodeDeprecated, int8(min(code, largestOldCode)), 0)
	e.PrependInt32Slot(opCodeVersion, version, 1)
	e.PrependInt32Slot(opCodeBuiltin, int32(code), 0)
	return e.EndObject()
}

func (e encoder) subgraph(f *file, codes []uint32) offset {
	tensors := make([]offset, len(f.tensors))
	buffer := uint32(0)
	for i, t := range f.tensors {
		if t.data == nil {
			tensors[i] = e.tensor(t, 0)
			continue
		}
		buffer++
		tensors[i] = e.tensor(t, buffer)
	}
	operators := make([]offset, len(f.operators))
	for i, op := range f.operators {
		operators[i] = e.operator(op, codes[i])
	}
	tensorVector, operatorVector := e.tables(tensors...), e.tables(operators...)
	inputs, outputs := e.int32s(indices(f.inputs)), e.int32s(indices(f.outputs))
	name := e.CreateString("main")
	e.StartObject(subgraphSlots)
	e.PrependUOffsetTSlot(subgraphTensors, tensorVector, 0)
	e.PrependUOffsetTSlot(subgraphInputs, inputs, 0)
	e.PrependUOffsetTSlot(subgraphOutputs, outputs, 0)
	e.PrependUOffsetTSlot(subgraphOperators, operatorVector, 0)
	e.PrependUOffsetTSlot(subgraphName, name, 0)
	return e.EndObject()
}

func indices(ports []port) []int32 {
	all := make([]int32, len(ports))
	for i, p := range ports {
		all[i] = p.tensor
	}
	return all
}

// tensor writes a tensor. One whose number of rows isn't known has 1 in its shape, and -1 in its
// shape's signature.
func (e encoder) tensor(t tensor, buffer uint32) offset {
	name, scaled := e.CreateString(t.name), e.quantization(t.scaled)
	shape, signature := slices.Clone(t.shape), offset(0)
	if len(shape) > 0 && shape[0] < 0 {
		signature = e.int32s(t.shape)
		shape[0] = 1
	}
	dims := e.int32s(shape)
	e.StartObject(tensorSlots)
	e.PrependUOffsetTSlot(tensorShape, dims, 0)
	e.PrependInt8Slot(tensorType, int8(t.kind), 0)
	e.PrependUint32Slot(tensorBuffer, buffer, 0)
	e.PrependUOffsetTSlot(tensorName, name, 0)
	e.PrependUOffsetTSlot(tensorQuantization, scaled, 0)
	e.PrependUOffsetTSlot(tensorShapeSignature, signature, 0)
	return e.EndObject()
}

func (e encoder) quantization(q *quantization) offset {
	if q == nil {
		return 0
	}
	scales, zeros := e.float32s(q.scales), e.int64s(q.zeros)
	e.StartObject(quantizationSlots)
	e.PrependUOffsetTSlot(quantizationScale, scales, 0)
	e.PrependUOffsetTSlot(quantizationZeroPoint, zeros, 0)
	e.PrependInt32Slot(quantizationDimension, q.dimension, 0)
	return e.EndObject()
}

func (e encoder) operator(op operator, code uint32) offset {
	in, out := e.int32s(op.in), e.int32s(op.out)
	table := e.options(op.options)
	e.StartObject(operatorSlots)
	e.PrependUint32Slot(operatorOpCode, code, 0)
	e.PrependUOffsetTSlot(operatorInputs, in, 0)
	e.PrependUOffsetTSlot(operatorOutputs, out, 0)
	e.PrependUint8Slot(operatorOptionsType, op.options.table, 0)
	e.PrependUOffsetTSlot(operatorOptions, table, 0)
	return e.EndObject()
}

func (e encoder) options(o options) offset {
	if o.table == 0 {
		return 0
	}
	slots, lists := 0, map[int]offset{}
	for _, f := range o.fields {
		slots = max(slots, f.slot+1)
		if list, ok := f.value.([]float32); ok {
			lists[f.slot] = e.float32s(list)
		}
	}
	e.StartObject(slots)
	for _, f := range o.fields {
		switch v := f.value.(type) {
		case bool:
			e.PrependBoolSlot(f.slot, v, false)
		case int8:
			e.PrependInt8Slot(f.slot, v, 0)
		case int32:
			e.PrependInt32Slot(f.slot, v, 0)
		case float32:
			e.PrependFloat32Slot(f.slot, v, 0)
		case []float32:
			e.PrependUOffsetTSlot(f.slot, lists[f.slot], 0)
		}
	}
	return e.EndObject()
}

func (e encoder) signature(f *file) offset {
	inputs, outputs := e.ports(f.inputs), e.ports(f.outputs)
	key := e.CreateString(SignatureKey)
	e.StartObject(signatureSlots)
	e.PrependUOffsetTSlot(signatureInputs, inputs, 0)
	e.PrependUOffsetTSlot(signatureOutputs, outputs, 0)
	e.PrependUOffsetTSlot(signatureKey, key, 0)
	e.PrependUint32Slot(signatureSubgraph, 0, 0)
	return e.EndObject()
}

func (e encoder) ports(ports []port) offset {
	all := make([]offset, len(ports))
	for i, p := range ports {
		name := e.CreateString(p.name)
		e.StartObject(tensorMapSlots)
		e.PrependUOffsetTSlot(tensorMapName, name, 0)
		e.PrependUint32Slot(tensorMapIndex, uint32(p.tensor), 0)
		all[i] = e.EndObject()
	}
	return e.tables(all...)
}

// Vectors are written from their last element on.

func (e encoder) tables(all ...offset) offset { return e.CreateVectorOfTables(all) }

func (e encoder) int32s(values []int32) offset {
	e.StartVector(4, len(values), 4)
	for _, v := range slices.Backward(values) {
		e.PrependInt32(v)
	}
	return e.EndVector(len(values))
}

func (e encoder) int64s(values []int64) offset {
	e.StartVector(8, len(values), 8)
	for _, v := range slices.Backward(values) {
		e.PrependInt64(v)
	}
	return e.EndVector(len(values))
}

func (e encoder) float32s(values []float32) offset {
	e.StartVector(4, len(values), 4)
	for _, v := range slices.Backward(values) {
		e.PrependUint32(math.Float32bits(v))
	}
	return e.EndVector(len(values))
}
