package tflite

import (
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// maxBytes bounds what a file may hold: offsets in a FlatBuffer are 32 bits, and its builder
// doubles its buffer to 2 GiB at most.
const maxBytes = 1 << 30

// dataAlignment is that of constants, which runtimes use where they lie.
const dataAlignment = 16

// encode writes the FlatBuffer. Children come before the table that holds them.
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

// offset is where a child stands. 0 is none.
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

// buffers writes what constants hold: the first buffer is empty and stands for none, then comes one
// for each constant, then the notes, if there are some. last is the index of the last one.
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
		e.Prep(dataAlignment, len(data)) // what CreateByteVector writes next ends here, so its first byte is aligned
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

// opCodes writes each pair of code and version once, and says which one each operator has.
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

// largestOldCode is the code that stands for all newer ones in the old field.
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
