package tflite

import (
	"math"
	"slices"
)

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
