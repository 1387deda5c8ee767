package graph

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Limits of the memory of a file of graphs: an empty message takes two bytes in the file, and
// hundreds in memory. Graphs of TensorFlow take ten to twenty times their file, without their
// constants.
const (
	maxParsed     = 1 << 30
	overParsed    = 4   // multiple of the size of the file, in addition
	messageBytes  = 256 // what a message takes, about
	elementOfList = 32  // bytes of an element of a list that is no message
	maxNested     = 512 // nested messages
)

// checkMessages returns an error for bytes whose messages would take far more memory than they are
// large. It reads what proto.Unmarshal will: bytes that are malformed are left to that.
func checkMessages(data []byte, of protoreflect.MessageDescriptor) error {
	left := int64(maxParsed) + overParsed*int64(len(data))
	if !chargeMessages(data, of, &left, 0) {
		return fmt.Errorf("its messages would take more than %d bytes in memory, or are more than %d one within another", int64(maxParsed)+overParsed*int64(len(data)), maxNested)
	}
	return nil
}

// packedGrowth returns how many times as large packed numbers are in memory, at most.
func packedGrowth(kind protoreflect.Kind) int64 {
	switch kind {
	case protoreflect.FloatKind, protoreflect.DoubleKind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind, protoreflect.Sfixed32Kind,
		protoreflect.Sfixed64Kind, protoreflect.BoolKind:
		return 1
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind:
		return 8
	}
	return 4
}

func chargeMessages(data []byte, of protoreflect.MessageDescriptor, left *int64, depth int) bool {
	if *left -= messageBytes; *left < 0 || depth > maxNested {
		return false
	}
	for len(data) > 0 {
		number, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			return true
		}
		data = data[n:]
		size := protowire.ConsumeFieldValue(number, wire, data)
		if size < 0 {
			return true
		}
		value := data[:size]
		data = data[size:]
		field := of.Fields().ByNumber(number)
		switch {
		case field == nil: // kept as it is
		case field.Message() != nil && wire == protowire.BytesType:
			if inner, _ := protowire.ConsumeBytes(value); !chargeMessages(inner, field.Message(), left, depth+1) {
				return false
			}
		case field.IsList() && wire == protowire.BytesType && field.Kind() != protoreflect.StringKind && field.Kind() != protoreflect.BytesKind:
			*left -= packedGrowth(field.Kind()) * int64(len(value))
		case field.IsList():
			*left -= elementOfList
		}
		if *left < 0 {
			return false
		}
	}
	return true
}
