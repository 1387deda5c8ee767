package onnx

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// message is one protobuf message within a file, read field by field: fields that aren't needed are
// skipped.
type message struct {
	r    *bufio.Reader
	left int64 // bytes of the message that are not read yet
}

// field is one field of a message: its number, and its value or, of bytes, their count.
type field struct {
	number protowire.Number
	wire   protowire.Type
	value  uint64
	size   int64
}

func newMessage(r io.Reader, size int64) *message {
	return &message{r: bufio.NewReaderSize(r, 1<<16), left: size}
}

// fields calls take for each field. The bytes that take leaves are skipped.
func (m *message) fields(take func(m *message, f field) error) error {
	for m.left > 0 {
		f, err := m.next()
		if err != nil {
			return err
		}
		after := m.left - f.size
		if err := take(m, f); err != nil {
			return err
		}
		if err := m.skip(m.left - after); err != nil {
			return err
		}
	}
	return nil
}

// next reads a field up to its bytes, if it has some.
func (m *message) next() (f field, err error) {
	tag, err := m.varint()
	if err != nil {
		return f, err
	}
	number, wire := protowire.DecodeTag(tag)
	if number < protowire.MinValidNumber || number > protowire.MaxValidNumber {
		return f, fmt.Errorf("field number %d", number)
	}
	f.number, f.wire = number, wire
	switch wire {
	case protowire.VarintType:
		f.value, err = m.varint()
	case protowire.Fixed32Type:
		err = m.skip(4)
	case protowire.Fixed64Type:
		err = m.skip(8)
	case protowire.BytesType:
		var size uint64
		if size, err = m.varint(); err == nil && size > uint64(m.left) {
			err = fmt.Errorf("field %d has %d bytes where %d are left", number, size, m.left)
		}
		f.size = int64(size)
	default:
		err = fmt.Errorf("field %d has wire type %d", number, wire)
	}
	return f, err
}

// enter reads the message that a field holds.
func (m *message) enter(f field, take func(m *message, f field) error) error {
	if f.wire != protowire.BytesType {
		return fmt.Errorf("field %d is no message", f.number)
	}
	m.left -= f.size
	return (&message{r: m.r, left: f.size}).fields(take)
}

// decode reads a small message that a field holds.
func (m *message) decode(f field, into proto.Message) error {
	data, err := m.bytes(f, maxValueBytes)
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, into)
}

// text reads a short name.
func (m *message) text(f field) (string, error) {
	data, err := m.bytes(f, maxNameBytes)
	return strings.ToValidUTF8(string(data), "?"), err
}

func (m *message) bytes(f field, limit int64) ([]byte, error) {
	if f.wire != protowire.BytesType || f.size > limit {
		return nil, fmt.Errorf("field %d has %d bytes, expected at most %d", f.number, f.size, limit)
	}
	data := make([]byte, f.size)
	m.left -= f.size
	_, err := io.ReadFull(m.r, data)
	return data, whole(err)
}

func (m *message) varint() (uint64, error) {
	v, err := binary.ReadUvarint(byteByByte{m})
	return v, whole(err)
}

func (m *message) skip(n int64) error {
	if n > m.left {
		return errCut
	}
	m.left -= n
	_, err := io.CopyN(io.Discard, m.r, n)
	return whole(err)
}

var errCut = errors.New("it ends in the middle")

func whole(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}

// byteByByte reads within the message.
type byteByByte struct{ m *message }

// ReadByte implements io.ByteReader.
func (b byteByByte) ReadByte() (byte, error) {
	if b.m.left == 0 {
		return 0, io.EOF
	}
	b.m.left--
	return b.m.r.ReadByte()
}
