package example

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

var errMalformed = errors.New("malformed protocol buffer")

// field is one field of a message in the wire format of protocol buffers.
type field struct {
	number int
	wire   protowire.Type
	data   []byte // of a length-delimited field: its content; of others: the encoded value
}

// nextField splits off the first field of message, which must not be empty. data is a part of
// message.
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

// message reports whether f is field number as a message or string.
func (f field) message(number int) bool { return f.number == number && f.wire == protowire.BytesType }

func wireError(n int) error { return fmt.Errorf("%w: %w", errMalformed, protowire.ParseError(n)) }

// walk reads a message of protocol buffers field by field, without keeping any.
type walk struct {
	in   *bufio.Reader
	left int64 // bytes that may still follow
	err  error // error of reading, not of the bytes that were read
}

// tag reads the number and type of the next field. It returns io.EOF at an end where a field may
// begin.
func (w *walk) tag() (protowire.Number, protowire.Type, error) {
	tag, err := w.varint()
	if err != nil {
		return 0, 0, err
	}
	number, wire := protowire.DecodeTag(tag)
	if !number.IsValid() {
		return 0, 0, errMalformed
	}
	return number, wire, nil
}

func (w *walk) varint() (v uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		b, err := w.in.ReadByte()
		if err == io.EOF && shift == 0 {
			return 0, io.EOF
		}
		if err != nil {
			return 0, w.failed(err)
		}
		w.left--
		if shift == 63 && b > 1 {
			break
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, errMalformed
}

// enter reads the length of a message, and returns how much is left after it.
func (w *walk) enter() (end int64, err error) {
	length, err := w.varint()
	if err != nil {
		return 0, malformed(err)
	}
	if length > uint64(w.left) {
		return 0, errMalformed
	}
	return w.left - int64(length), nil
}

// skip skips the value of a field.
func (w *walk) skip(wire protowire.Type) error {
	end := w.left
	var err error
	switch wire {
	case protowire.VarintType:
		_, err = w.varint()
		return malformed(err)
	case protowire.Fixed32Type:
		end -= 4
	case protowire.Fixed64Type:
		end -= 8
	case protowire.BytesType:
		if end, err = w.enter(); err != nil {
			return err
		}
	default:
		return errMalformed // a group, of which statistics have none
	}
	n, err := io.CopyN(io.Discard, w.in, w.left-end)
	w.left -= n
	if err != nil {
		return w.failed(err)
	}
	return nil
}

// failed distinguishes an error of reading from malformed bytes.
func (w *walk) failed(err error) error {
	if err == io.EOF {
		return malformed(err)
	}
	w.err = err
	return err
}

// malformed converts an end in the middle of a message.
func malformed(err error) error {
	if err == io.EOF {
		return fmt.Errorf("%w: %w", errMalformed, io.ErrUnexpectedEOF)
	}
	return err
}
