package tensor

import (
	"encoding/binary"
	"iter"
	"slices"
)

// Bytes returns the elements of t as bytes, little endian and row major, in pieces that are valid
// until the next one. It yields nothing for strings.
func Bytes(t Tensor) iter.Seq[[]byte] {
	switch a := t.(type) {
	case *Array[float32]:
		return encode(a.Data)
	case *Array[float64]:
		return encode(a.Data)
	case *Array[int8]:
		return encode(a.Data)
	case *Array[int16]:
		return encode(a.Data)
	case *Array[int32]:
		return encode(a.Data)
	case *Array[int64]:
		return encode(a.Data)
	case *Array[uint8]:
		return encode(a.Data)
	case *Array[uint16]:
		return encode(a.Data)
	case *Array[uint32]:
		return encode(a.Data)
	case *Array[uint64]:
		return encode(a.Data)
	case *Array[bool]:
		return encode(a.Data)
	}
	return func(func([]byte) bool) {}
}

func encode[T Element](data []T) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var piece []byte
		for part := range slices.Chunk(data, 4096) {
			piece, _ = binary.Append(piece[:0], binary.LittleEndian, part) // no error for elements of fixed size
			if !yield(piece) {
				return
			}
		}
	}
}
