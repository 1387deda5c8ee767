package example

import (
	"bufio"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// walk goes through a message of protocol buffers field by field, without holding any.
type walk struct {
	in   *bufio.Reader
	left int64 // bytes that may still come
	err  error // of reading, not of what was read
}

// tag reads which field comes next. io.EOF is an end where a field may begin.
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

// enter reads the length of a message, and says how much is left after it.
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

// skip passes over the value of a field.
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
		return errMalformed // a group, which statistics have none of
	}
	n, err := io.CopyN(io.Discard, w.in, w.left-end)
	w.left -= n
	if err != nil {
		return w.failed(err)
	}
	return nil
}

// failed keeps what went wrong with reading apart from what is wrong with the bytes.
func (w *walk) failed(err error) error {
	if err == io.EOF {
		return malformed(err)
	}
	w.err = err
	return err
}

// malformed makes an end in the middle what it is.
func malformed(err error) error {
	if err == io.EOF {
		return fmt.Errorf("%w: %w", errMalformed, io.ErrUnexpectedEOF)
	}
	return err
}
