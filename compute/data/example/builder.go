package example

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Builder builds a tf.Example or a tf.SequenceExample, for publishers of data and for tests.
// Methods add one feature each and may be chained; a feature without values has an empty list,
// which is how TFX writes a missing cell. If a name is added twice the second counts.
//
// The zero value is an empty example. Features have the order in which they were added.
type Builder struct {
	entries []byte // of Features
	lists   []byte // of FeatureLists
}

// Float adds a feature of 32-bit floats.
func (b *Builder) Float(name string, values ...float32) *Builder {
	return b.add(name, Float, packedFloats(values))
}

// Int64 adds a feature of integers.
func (b *Builder) Int64(name string, values ...int64) *Builder {
	return b.add(name, Int64, packedInts(values))
}

// Bytes adds a feature of byte strings.
func (b *Builder) Bytes(name string, values ...[]byte) *Builder {
	return b.add(name, Bytes, bytesList(values))
}

// String adds a feature of byte strings.
func (b *Builder) String(name string, values ...string) *Builder {
	list := make([][]byte, len(values))
	for i, v := range values {
		list[i] = []byte(v)
	}
	return b.Bytes(name, list...)
}

// Unset adds a feature without a kind, which is read as a missing one: TFX writes it for a column
// without any value.
func (b *Builder) Unset(name string) *Builder {
	b.entries = appendMessage(b.entries, 1, appendMessage(appendMessage(nil, 1, []byte(name)), 2, nil))
	return b
}

// Build returns the serialized tf.Example, or the tf.SequenceExample once there are steps, and
// leaves b as it is.
func (b *Builder) Build() []byte {
	record := appendMessage(nil, 1, b.entries)
	if len(b.lists) > 0 {
		record = appendMessage(record, 2, b.lists)
	}
	return record
}

func (b *Builder) add(name string, kind Kind, list []byte) *Builder {
	feature := appendMessage(nil, int(kind), list)
	entry := appendMessage(appendMessage(nil, 1, []byte(name)), 2, feature)
	b.entries = appendMessage(b.entries, 1, entry)
	return b
}

func packedList(packed []byte) []byte {
	if len(packed) == 0 {
		return nil
	}
	return appendMessage(nil, 1, packed)
}

func appendMessage(to []byte, field int, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, protowire.Number(field), protowire.BytesType), message)
}

// appendShort appends the values of a feature in the usual form: one list of the column's kind, in
// one part, shorter than 128 bytes, with the required number of values. It returns whether the
// feature has that form; if not, nothing is appended. It halved the time of parsing when it was
// added.
func (c *Column) appendShort(feature []byte) bool {
	const valuesTag = 1<<3 | byte(protowire.BytesType)
	n := len(feature)
	if n < 4 || n > 2+0x7f || feature[0] != c.kindTag || int(feature[1]) != n-2 || feature[2] != valuesTag || int(feature[3]) != n-4 {
		return false
	}
	switch data := feature[4:]; c.Feature.Kind {
	case Bytes:
		if !c.fits(1) {
			return false
		}
		c.Data = append(c.Data, data...)
		c.Ends = append(c.Ends, int32(len(c.Data)))
	case Float:
		if len(data)%4 != 0 || !c.fits(len(data)/4) {
			return false
		}
		for ; len(data) >= 4; data = data[4:] {
			c.Floats = append(c.Floats, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
	default:
		return c.appendShortInts(data)
	}
	return true
}

// fits reports whether a row may have n values.
func (c *Column) fits(n int) bool { return n == c.size || c.Feature.VarLen() }

// appendShortInts appends integers, varints of any size. A negative one takes ten bytes.
func (c *Column) appendShortInts(data []byte) bool {
	start := len(c.Ints)
	for len(data) > 0 {
		v, n := uint64(data[0]), 1
		if v >= 0x80 {
			if v, n = protowire.ConsumeVarint(data); n < 0 {
				break
			}
		}
		c.Ints = append(c.Ints, int64(v))
		data = data[n:]
	}
	if len(data) > 0 || !c.fits(len(c.Ints)-start) {
		c.Ints = c.Ints[:start]
		return false
	}
	return true
}

// appendShortSteps appends those steps at the beginning of a serialized tf.FeatureList whose
// features are short ones, and returns the rest.
func (c *Column) appendShortSteps(list []byte) []byte {
	const stepTag = 1<<3 | byte(protowire.BytesType)
	for len(list) >= 2 && list[0] == stepTag && list[1] < 0x80 {
		end := 2 + int(list[1])
		if end > len(list) || !c.appendShort(list[2:end]) {
			break
		}
		c.Inner = append(c.Inner, int32(c.Len()))
		list = list[end:]
	}
	return list
}

// FloatSteps adds a list of features of 32-bit floats to the feature_lists: Build then returns a
// tf.SequenceExample whose context has the other features. Each step has values of its own,
// possibly none.
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
