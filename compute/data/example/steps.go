package example

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// FloatSteps adds a list of features of 32-bit floats to the feature_lists: Build returns a
// tf.SequenceExample then, whose context is made of the other features. Each step has values of its
// own, none too.
func (b *Builder) FloatSteps(name string, steps ...[]float32) *Builder {
	return addSteps(b, name, Float, steps, packedFloats)
}

// Int64Steps adds a list of features of integers, as FloatSteps does.
func (b *Builder) Int64Steps(name string, steps ...[]int64) *Builder {
	return addSteps(b, name, Int64, steps, packedInts)
}

// BytesSteps adds a list of features of byte strings, as FloatSteps does.
func (b *Builder) BytesSteps(name string, steps ...[][]byte) *Builder {
	return addSteps(b, name, Bytes, steps, bytesList)
}

// UnsetSteps adds a list of features without a kind, as Unset does for one.
func (b *Builder) UnsetSteps(name string, steps int) *Builder {
	var features []byte
	for range steps {
		features = appendMessage(features, 1, nil)
	}
	return b.addList(name, features)
}

func addSteps[T any](b *Builder, name string, kind Kind, steps [][]T, list func([]T) []byte) *Builder {
	var features []byte
	for _, values := range steps {
		features = appendMessage(features, 1, appendMessage(nil, int(kind), list(values)))
	}
	return b.addList(name, features)
}

func (b *Builder) addList(name string, features []byte) *Builder {
	entry := appendMessage(appendMessage(nil, 1, []byte(name)), 2, features)
	b.lists = appendMessage(b.lists, 1, entry)
	return b
}

func packedFloats(values []float32) []byte {
	var packed []byte
	for _, v := range values {
		packed = protowire.AppendFixed32(packed, math.Float32bits(v))
	}
	return packedList(packed)
}

func packedInts(values []int64) []byte {
	var packed []byte
	for _, v := range values {
		packed = protowire.AppendVarint(packed, uint64(v))
	}
	return packedList(packed)
}

func bytesList(values [][]byte) []byte {
	var list []byte
	for _, v := range values {
		list = appendMessage(list, 1, v)
	}
	return list
}
