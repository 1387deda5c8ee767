package example

import "google.golang.org/protobuf/encoding/protowire"

// Builder puts a tf.Example or a tf.SequenceExample together, for those who publish data and for
// tests. Methods add one feature each and may be chained; a feature without values is there, with
// an empty list, which is how TFX writes a missing cell. Adding a name twice makes the second
// count.
//
// The zero value is an empty example. Features stand in the order in which they were added.
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

// Unset adds a feature without a kind, which reads as a missing one: TFX writes it for a column
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
