package example

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

var errMalformed = errors.New("malformed protocol buffer")

// field is one field of a message in the protocol buffer wire format.
type field struct {
	number int
	wire   protowire.Type
	data   []byte // of a length-delimited field: its content; of others: the value as it is encoded
}

// nextField splits the first field off message, which must not be empty. Data is a part of message.
func nextField(message []byte) (f field, rest []byte, err error) {
	// Nearly all fields of a tf.Example have a small number and are shorter than 128 bytes.
	if len(message) >= 2 && message[0] < 0x80 && message[0] >= 8 && message[0]&7 == byte(protowire.BytesType) && message[1] < 0x80 {
		if end := 2 + int(message[1]); end <= len(message) {
			return field{int(message[0] >> 3), protowire.BytesType, message[2:end]}, message[end:], nil
		}
	}
	return anyField(message)
}

func anyField(message []byte) (f field, rest []byte, err error) {
	number, wire, n := protowire.ConsumeTag(message)
	if n < 0 {
		return field{}, nil, wireError(n)
	}
	message = message[n:]
	if wire == protowire.BytesType {
		data, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return field{}, nil, wireError(n)
		}
		return field{int(number), wire, data}, message[n:], nil
	}
	n = protowire.ConsumeFieldValue(number, wire, message)
	if n < 0 {
		return field{}, nil, wireError(n)
	}
	return field{int(number), wire, message[:n]}, message[n:], nil
}

// message says whether f is field number as a message or string.
func (f field) message(number int) bool { return f.number == number && f.wire == protowire.BytesType }

func wireError(n int) error { return fmt.Errorf("%w: %w", errMalformed, protowire.ParseError(n)) }
