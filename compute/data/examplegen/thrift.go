package examplegen

import (
	"encoding/binary"
	"errors"
)

// Types of Thrift's compact protocol that have another size than a varint.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

var errThrift = errors.New("its description claims more than it has")

// thriftClaims checks that a struct in the compact protocol has as many elements as its lists
// claim, which the library allocates at once, and that structs are nested no deeper than depth. It
// returns the bytes after the struct.
func thriftClaims(data []byte, depth int) ([]byte, error) {
	for {
		if len(data) == 0 || depth == 0 {
			return nil, errThrift
		}
		head := data[0]
		if data = data[1:]; head == 0 {
			return data, nil
		}
		var err error
		if head>>4 == 0 { // the number of the field, instead of the difference to the last one
			if data, _, err = thriftVarint(data); err != nil {
				return nil, err
			}
		}
		if kind := head & 0xf; kind != thriftTrue && kind != thriftFalse {
			if data, err = thriftValue(data, kind, depth); err != nil {
				return nil, err
			}
		}
	}
}

func thriftVarint(data []byte) ([]byte, uint64, error) {
	v, n := binary.Uvarint(data)
	if n <= 0 {
		return nil, 0, errThrift
	}
	return data[n:], v, nil
}

func thriftValue(data []byte, kind byte, depth int) (rest []byte, err error) {
	size := uint64(1)
	switch kind {
	case thriftByte, thriftTrue, thriftFalse: // true and false are bytes in a list
	case thriftDouble:
		size = 8
	case thriftBinary:
		if data, size, err = thriftVarint(data); err != nil {
			return nil, err
		}
	case thriftList, thriftSet:
		return thriftElements(data, depth-1)
	case thriftMap:
		return nil, errors.New("its description has a map")
	case thriftStruct:
		return thriftClaims(data, depth-1)
	default:
		rest, _, err = thriftVarint(data)
		return rest, err
	}
	if size > uint64(len(data)) {
		return nil, errThrift
	}
	return data[size:], nil
}

func thriftElements(data []byte, depth int) (rest []byte, err error) {
	if len(data) == 0 || depth <= 0 {
		return nil, errThrift
	}
	head := data[0]
	data = data[1:]
	n := uint64(head >> 4)
	if n == 15 {
		if data, n, err = thriftVarint(data); err != nil {
			return nil, err
		}
	}
	if n > uint64(len(data)) { // each takes at least one byte
		return nil, errThrift
	}
	for range n {
		if data, err = thriftValue(data, head&0xf, depth); err != nil {
			return nil, err
		}
	}
	return data, nil
}
