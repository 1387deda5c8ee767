package tflite

import (
	"encoding/binary"

	"github.com/stoker-ml/stoker/compute/nn"
)

// clamp is x where 0 <= x <= depth-2, else depth-1.
func (l *lowering) clamp(n *nn.Node) { l.keep(n, n.Attr.Depth-1, int64(n.Attr.Depth-1)) }

// within is x where 0 <= x <= depth-1, else the default.
func (l *lowering) within(n *nn.Node) { l.keep(n, n.Attr.Depth, n.Attr.Default) }

// keep is x where 0 <= x < count, else other.
func (l *lowering) keep(n *nn.Node, count int, other int64) {
	s, x := steps{l, n}, l.plain(n.In[0])
	id := func(v int64) int32 { return l.constant(int64Type, nil, int64Bytes(v)) }
	low := s.typed(opGreaterEqual, boolType, x, id(0))
	high := s.typed(opLess, boolType, x, id(int64(count)))
	known := s.typed(opLogicalAnd, boolType, low, high)
	l.values[n.Name] = newValue(s.typed(opSelectV2, int64Type, known, x, id(other)))
}

// bucket is the number of boundaries that are at most x; BUCKETIZE gives it in 32 bits.
func (l *lowering) bucket(n *nn.Node) {
	op := operator{code: opBucketize, in: []int32{l.plain(n.In[0])}, options: bucketizeOptions(n.Attr.Boundaries)}
	short := l.emit(op, l.rows(n, int32Type))
	op = operator{code: opCast, in: []int32{short}, options: castOptions(int32Type, int64Type)}
	l.values[n.Name] = newValue(l.emit(op, l.rows(n, int64Type)))
}

// argMax gives a list, of which rows are made.
func (l *lowering) argMax(n *nn.Node) {
	axis := l.constant(int32Type, nil, int32Bytes(1))
	op := operator{code: opArgMax, in: []int32{l.plain(n.In[0]), axis}, options: argMaxOptions()}
	list := l.emit(op, tensor{name: n.Name + "/list", kind: int64Type, shape: []int32{-1}})
	l.values[n.Name] = newValue(l.reshape(n.Name, list, 1))
}

// label looks names up by their index. A runtime refuses one that is out of range.
func (l *lowering) label(n *nn.Node) {
	names := l.add(tensor{
		name: n.Name + "/names", kind: stringType, shape: []int32{int32(len(n.Attr.Vocabulary))}, data: stringBytes(n.Attr.Vocabulary),
	})
	op := operator{code: opGather, in: []int32{names, l.plain(n.In[0])}, options: options{table: gatherTable}}
	l.values[n.Name] = newValue(l.emit(op, l.rows(n, stringType)))
}

// stringBytes is how a tensor holds strings: how many there are, where each begins and the last
// ends, counted from the tensor's first byte, and then their bytes (tensorflow/lite/string_util.h).
func stringBytes(words []string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(words)))
	at := 4 * (len(words) + 2)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, uint32(at))
		at += len(w)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(at))
	for _, w := range words {
		b = append(b, w...)
	}
	return b
}
