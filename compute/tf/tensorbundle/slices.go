package tensorbundle

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	slicepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_slice_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// A partitioned variable has an entry under its own name, which lists its slices and has no data,
// and one for each slice, under a key that sorts before every name: the variable's name, then each
// axis's start and length, in OrderedCode. Source: tensorflow/core/util/saved_tensor_slice_util.cc
// and tensorflow/core/lib/strings/ordered_code.cc.

// maxSlices limits the slices of a variable: each is compared with each.
const maxSlices = 4096

// isSliceKey reports whether a key is that of a slice. It begins with the number 0, which has no
// bytes except its length.
func isSliceKey(key string) bool { return strings.HasPrefix(key, "\x00") }

// box is the position of a slice in its variable.
type box struct{ start, length []int64 }

// newBox checks a slice against the variable's shape. An axis without a length is whole.
func newBox(slice *slicepb.TensorSliceProto, shape []int64) (box, error) {
	if len(slice.GetExtent()) != len(shape) {
		return box{}, fmt.Errorf("has %d axes of %d", len(slice.GetExtent()), len(shape))
	}
	var b box
	for axis, extent := range slice.GetExtent() {
		start, length := extent.GetStart(), shape[axis]
		if e, ok := extent.GetHasLength().(*slicepb.TensorSliceProto_Extent_Length); ok {
			length = e.Length
		}
		if start < 0 || length < 0 || start > shape[axis] || length > shape[axis]-start {
			return box{}, fmt.Errorf("%d elements at %d of axis %d, which has %d", length, start, axis, shape[axis])
		}
		b.start, b.length = append(b.start, start), append(b.length, length)
	}
	return b, nil
}

// meets reports whether two slices have a common element.
func (b box) meets(other box) bool {
	for axis := range b.start {
		if b.start[axis] >= other.start[axis]+other.length[axis] || other.start[axis] >= b.start[axis]+b.length[axis] {
			return false
		}
	}
	return true
}

// elements can't overflow: the slice is within a shape whose product doesn't.
func (b box) elements() int64 {
	n := int64(1)
	for _, length := range b.length {
		n *= length
	}
	return n
}

// sliced reads a variable of n elements from its slices, which must be all of it, each element
// once.
func (b *Bundle) sliced(key string, entry *corepb.BundleEntryProto, n, size int64) ([]byte, error) {
	shape := make([]int64, len(entry.GetShape().GetDim()))
	for axis, d := range entry.GetShape().GetDim() {
		shape[axis] = d.GetSize()
	}
	boxes, err := boxesOf(entry.GetSlices(), shape, n)
	if err != nil {
		return nil, err
	}
	entries, err := b.sliceEntries(key, entry)
	if err != nil {
		return nil, err
	}
	var parts [][]byte // all are read before memory for the whole is allocated
	for i, at := range boxes {
		part, err := b.whole(entries[i], at.elements(), size)
		if err != nil {
			return nil, fmt.Errorf("slice %d: %w", i, err)
		}
		parts = append(parts, part)
	}
	whole := make([]byte, n*size)
	for i, at := range boxes {
		at.copy(whole, parts[i], shape, size)
	}
	return whole, nil
}

func boxesOf(list []*slicepb.TensorSliceProto, shape []int64, n int64) ([]box, error) {
	if len(list) > maxSlices {
		return nil, fmt.Errorf("%d slices, expected at most %d", len(list), maxSlices)
	}
	var boxes []box
	for i, slice := range list {
		at, err := newBox(slice, shape)
		if err != nil {
			return nil, fmt.Errorf("slice %d: %w", i, err)
		}
		for j, before := range boxes {
			if at.meets(before) {
				return nil, fmt.Errorf("slices %d and %d overlap", j, i)
			}
		}
		boxes = append(boxes, at)
		n -= at.elements()
	}
	if n != 0 {
		return nil, errors.New("its slices are not all of it")
	}
	return boxes, nil
}

// sliceEntries finds the entries of a variable's slices. No two may have the same bytes of a file,
// because then a small file could be large in memory.
func (b *Bundle) sliceEntries(key string, of *corepb.BundleEntryProto) ([]*corepb.BundleEntryProto, error) {
	var list []*corepb.BundleEntryProto
	for i, slice := range of.GetSlices() {
		entry, ok := b.entries[sliceKey(key, slice)]
		switch {
		case !ok:
			return nil, fmt.Errorf("slice %d: no such slice", i)
		case entry.GetDtype() != of.GetDtype():
			return nil, fmt.Errorf("slice %d: type is %v, the variable's is %v", i, entry.GetDtype(), of.GetDtype())
		}
		list = append(list, entry)
	}
	inFile := slices.SortedFunc(slices.Values(list), func(a, b *corepb.BundleEntryProto) int {
		return cmp.Or(cmp.Compare(a.GetShardId(), b.GetShardId()), cmp.Compare(a.GetOffset(), b.GetOffset()))
	})
	for i, entry := range inFile[min(1, len(inFile)):] {
		if before := inFile[i]; entry.GetShardId() == before.GetShardId() && entry.GetOffset()-before.GetOffset() < before.GetSize() {
			return nil, fmt.Errorf("two slices have the same bytes, at %d of file %d", entry.GetOffset(), entry.GetShardId())
		}
	}
	return list, nil
}

// copy puts the slice's bytes into the whole's, a run along the last axis at a time.
func (b box) copy(whole, part []byte, shape []int64, size int64) {
	last := len(shape) - 1
	if last < 0 || len(part) == 0 {
		copy(whole, part)
		return
	}
	run := b.length[last] * size
	at := make([]int64, len(shape)) // in the slice
	for len(part) > 0 {
		offset := int64(0)
		for axis := range shape {
			offset = offset*shape[axis] + b.start[axis] + at[axis]
		}
		copy(whole[offset*size:], part[:run])
		part = part[run:]
		for axis := last - 1; axis >= 0; axis-- {
			if at[axis]++; at[axis] < b.length[axis] {
				break
			}
			at[axis] = 0
		}
	}
}

// sliceKey returns the key of a variable's slice.
func sliceKey(name string, slice *slicepb.TensorSliceProto) string {
	key := appendCount(nil, 0)
	key = append(key, strings.NewReplacer("\x00", "\x00\xff", "\xff", "\xff\x00").Replace(name)...)
	key = append(key, 0, 1)
	key = appendCount(key, uint64(len(slice.GetExtent())))
	for _, extent := range slice.GetExtent() {
		length := int64(-1) // a whole axis
		if e, ok := extent.GetHasLength().(*slicepb.TensorSliceProto_Extent_Length); ok {
			length = e.Length
		}
		key = appendSigned(appendSigned(key, extent.GetStart()), length)
	}
	return string(key)
}

// appendCount writes a number as OrderedCode: how many bytes it has, then these, the highest first.
func appendCount(key []byte, n uint64) []byte {
	size := (bits.Len64(n) + 7) / 8
	return append(append(key, byte(size)), binary.BigEndian.AppendUint64(nil, n)[8-size:]...)
}

// appendSigned writes a number as OrderedCode: in size bytes of two's complement, the first size
// bits of which are those of the sign inverted. 7*size-1 bits are left for the number.
func appendSigned(key []byte, n int64) []byte {
	size := (bits.Len64(uint64(n^n>>63)) + 7) / 7
	wide := binary.BigEndian.AppendUint64([]byte{byte(n >> 63), byte(n >> 63)}, uint64(n))
	code := wide[len(wide)-size:]
	for bit := range size {
		code[bit/8] ^= 0x80 >> (bit % 8)
	}
	return append(key, code...)
}
