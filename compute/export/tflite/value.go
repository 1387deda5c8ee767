package tflite

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
)

// value is the location of a value of the graph in the file: as it is, in 8 bits, or both.
type value struct {
	plain  int32             // float32 or int64; none if only in 8 bits
	eights map[scaling]int32 // int8, by scaling
	own    scaling           // of the one that was computed in 8 bits, if there is no plain one
}

const none int32 = -1

func newValue(plain int32) *value { return &value{plain: plain, eights: map[scaling]int32{}} }

func newEight(t int32, s scaling) *value {
	return &value{plain: none, eights: map[scaling]int32{s: t}, own: s}
}

// plain returns the tensor of a value or a param in float32 or int64. A value of 8 bits only is
// dequantized.
func (l *lowering) plain(name string) int32 {
	if p := l.params[name]; p != nil {
		return l.store(p, "", func() tensor { return tensor{shape: shapeOf(p), data: floatBytes(p.Values...)} })
	}
	v := l.values[name]
	if v.plain == none {
		out := tensor{name: name + "/float", shape: []int32{-1, int32(l.types[name].Width)}}
		v.plain = l.emit(operator{code: opDequantize, version: 2, in: []int32{v.eights[v.own]}}, out)
	}
	return v.plain
}

// eight returns the tensor of a value or a param in 8 bits of that scaling.
func (l *lowering) eight(name string, s scaling) int32 {
	if p := l.params[name]; p != nil {
		return l.store(p, fmt.Sprint("/int8 ", s), func() tensor {
			return tensor{shape: shapeOf(p), data: s.bytes(p.Values)}.eight(s)
		})
	}
	v := l.values[name]
	if t, ok := v.eights[s]; ok {
		return t
	}
	from, version := v.plain, int32(1)
	if from == none {
		from, version = v.eights[v.own], 2
	}
	out := tensor{name: name + "/int8", shape: []int32{-1, int32(l.types[name].Width)}}
	v.eights[s] = l.emit(operator{code: opQuantize, version: version, in: []int32{from}}, out.eight(s))
	return v.eights[s]
}

// ownEight returns the tensor of a value or a param in 8 bits, with the scaling of scalingOf.
func (l *lowering) ownEight(name string) int32 { return l.eight(name, l.scalingOf(name)) }

// scalingOf returns the scaling that a value has in 8 bits, or by the samples; that of a param
// covers all its numbers.
func (l *lowering) scalingOf(name string) scaling {
	if p := l.params[name]; p != nil {
		return scalingFor(p.Values)
	}
	if v := l.values[name]; v != nil && v.plain == none {
		return v.own
	}
	s, ok := l.scalings[name]
	if !ok {
		l.fail(fmt.Errorf("%q has no finite number in any sample row, so its range in int8 is unknown", name))
		return scaling{scale: 1}
	}
	return s
}

// store adds the result of write for a param as a constant, once for each form.
func (l *lowering) store(p *nn.Param, form string, write func() tensor) int32 {
	key := p.Name + form
	t, ok := l.stored[key]
	if !ok {
		c := write()
		c.name = p.Name
		t = l.add(c)
		l.stored[key] = t
	}
	return t
}

func shapeOf(p *nn.Param) []int32 {
	shape := make([]int32, len(p.Shape))
	for i, d := range p.Shape {
		shape[i] = int32(d)
	}
	return shape
}

// constant returns a tensor of fixed elements that no param holds: a shape, an axis, a number. Each
// is added once.
func (l *lowering) constant(kind elementType, shape []int32, data []byte) int32 {
	key := fmt.Sprint(kind, len(shape), data)
	t, ok := l.constants[key]
	if !ok {
		t = l.add(tensor{name: fmt.Sprintf("constant_%d", len(l.constants)), kind: kind, shape: shape, data: data})
		l.constants[key] = t
	}
	return t
}

// number returns a float32 that broadcasts over every element.
func (l *lowering) number(v float32) int32 { return l.constant(float32Type, nil, floatBytes(v)) }

// ints returns a constant list of int32.
func (l *lowering) ints(v ...int32) int32 {
	return l.constant(int32Type, []int32{int32(len(v))}, int32Bytes(v...))
}
