package tflite

import (
	"encoding/binary"
	"fmt"
	"io"
)

// reader reads a FlatBuffer in place (https://flatbuffers.dev/internals/): it keeps only what was
// requested. The first error is kept in err; after it all reads return zero.
type reader struct {
	data   io.ReaderAt
	size   int64
	budget int64 // elements and characters that may still be read
	err    error
}

// maxRead limits the bytes that a description is made from. In a usual file no byte counts twice,
// so its size is a limit too; a malicious file may let a million vectors share their elements.
const maxRead = 16 << 20

func newReader(data io.ReaderAt, size int64) *reader {
	return &reader{data: data, size: size, budget: min(size, maxRead)}
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) bytes(at int64, b []byte) {
	switch {
	case r.err != nil:
	case at < 0 || at+int64(len(b)) > r.size:
		r.fail("it ends before offset %d, where something should be", at+int64(len(b)))
	default:
		if _, err := r.data.ReadAt(b, at); err != nil && err != io.EOF {
			r.fail("read: %w", err)
		}
	}
	if r.err != nil {
		clear(b)
	}
}

func (r *reader) uint16(at int64) uint16 {
	var b [2]byte
	r.bytes(at, b[:])
	return binary.LittleEndian.Uint16(b[:])
}

func (r *reader) uint32(at int64) uint32 {
	var b [4]byte
	r.bytes(at, b[:])
	return binary.LittleEndian.Uint32(b[:])
}

func (r *reader) int32(at int64) int32 { return int32(r.uint32(at)) }

// spend takes n of the budget.
func (r *reader) spend(n int64) {
	if r.budget -= n; r.budget < 0 {
		r.fail("it has more to say than a model has: its parts overlap, or are too many")
	}
}

// follow returns where the offset at a place leads.
func (r *reader) follow(at int64) int64 { return at + int64(r.uint32(at)) }

// table is a table and its list of slots.
type table struct {
	*reader
	at, slots, slotBytes int64
}

func (r *reader) table(at int64) table {
	t := table{reader: r, at: at}
	t.slots = at - int64(r.int32(at))
	t.slotBytes = int64(r.uint16(t.slots))
	return t
}

// field returns the position of a slot's value, or 0 if the slot is omitted.
func (t table) field(slot int) int64 {
	place := int64(4 + 2*slot)
	if t.err != nil || place+2 > t.slotBytes {
		return 0
	}
	offset := int64(t.uint16(t.slots + place))
	if offset == 0 {
		return 0
	}
	return t.at + offset
}

// number returns an int32 or uint32 slot.
func (t table) number(slot int) int32 {
	if at := t.field(slot); at != 0 {
		return t.int32(at)
	}
	return 0
}

// small returns an int8 slot.
func (t table) small(slot int) int8 {
	at := t.field(slot)
	if at == 0 {
		return 0
	}
	var b [1]byte
	t.bytes(at, b[:])
	return int8(b[0])
}

func (t table) text(slot int) string {
	v := t.vector(slot, 1)
	b := make([]byte, v.count)
	t.bytes(v.at, b)
	return string(b)
}

// vector is a list of elements of one size; the caller knows their type.
type vector struct {
	*reader
	at, count int64
}

// vector returns that of a slot; one that is left out has no elements. It is within the file, and
// is charged.
func (t table) vector(slot int, elementBytes int64) vector {
	at := t.field(slot)
	if at == 0 {
		return vector{reader: t.reader}
	}
	v := t.span(at, elementBytes)
	if t.spend(v.count); t.err != nil {
		v.count = 0
	}
	return v
}

// span returns the position of the vector that the offset at a place leads to, without reading its
// elements.
func (r *reader) span(at, elementBytes int64) vector {
	start := r.follow(at)
	v := vector{reader: r, at: start + 4, count: int64(r.uint32(start))}
	if v.count*elementBytes > r.size-v.at {
		r.fail("a list of %d elements begins at offset %d of %d", v.count, start, r.size)
	}
	if r.err != nil {
		v.count = 0
	}
	return v
}

// tables iterates over a vector of tables.
func (v vector) tables(yield func(int, table) bool) {
	for i := range v.count {
		t := v.table(v.follow(v.at + 4*i))
		if v.err != nil || !yield(int(i), t) {
			return
		}
	}
}

// int32s returns the elements of a vector of them.
func (v vector) int32s() []int32 {
	all := make([]int32, v.count)
	for i := range all {
		all[i] = v.int32(v.at + 4*int64(i))
	}
	return all
}
