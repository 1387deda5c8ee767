package savedmodel

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// marshal encodes a message so that equal messages have equal bytes, and the same as TensorFlow's
// deterministic C++ encoding: maps in the order of their keys, fields in the order of their
// numbers. Go alone puts the fields of oneofs last.
func marshal(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	sortFields(b, m.ProtoReflect().Descriptor())
	return b, nil
}

// wireField is a field of an encoded message, including its tag.
type wireField struct {
	number protowire.Number
	bytes  []byte
}

// sortFields sorts the fields of an encoded message, and of those in it, by their numbers; unknown
// ones come last. The message keeps its length. The bytes must be valid.
func sortFields(b []byte, d protoreflect.MessageDescriptor) {
	var fields []wireField
	for rest := b; len(rest) > 0; {
		number, kind, tag := protowire.ConsumeTag(rest)
		value := protowire.ConsumeFieldValue(number, kind, rest[tag:])
		field := rest[:tag+value]
		rest = rest[tag+value:]
		known := d.Fields().ByNumber(number)
		if known == nil {
			number = math.MaxInt32
		} else if message := known.Message(); message != nil && kind == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(field[tag:])
			sortFields(content, message)
		}
		fields = append(fields, wireField{number, field})
	}
	byNumber := func(a, b wireField) int { return cmp.Compare(a.number, b.number) }
	if slices.IsSortedFunc(fields, byNumber) {
		return
	}
	slices.SortStableFunc(fields, byNumber)
	sorted := make([]byte, 0, len(b))
	for _, f := range fields {
		sorted = append(sorted, f.bytes...)
	}
	copy(b, sorted)
}
