package tfrecord

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

const (
	bufferSize = 256 << 10

	// maxLength is the largest length of a record: a protocol buffer cannot be longer.
	maxLength = math.MaxInt32

	// keptBytes is how much memory of a long record is kept for the next one.
	keptBytes = 16 << 20
)

// Reader reads the records of one file in turn. It is for one goroutine at a time.
type Reader struct {
	name   string
	stream *stream
	in     *bufio.Reader // of stream
	close  func() error
	number int64  // of the next record
	offset int64  // of the next record
	held   int    // bytes of records that were returned and are still in the buffer of in
	ahead  []byte // the bytes that follow them there
	large  []byte
	limit  int   // bytes of a record
	err    error // once set, what every later call of Next returns
}

// Open opens a file of records, gzip or plain, detected by its first bytes. A file named .gz that
// is not gzip is an error, at the first Next.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open records: %w", err)
	}
	r := NewReader(path, f)
	r.close = f.Close
	return r, nil
}

// NewReader reads records from in, which it does not close. Errors contain the name, and in must be
// gzip if the name ends in ".gz".
func NewReader(name string, in io.Reader) *Reader {
	r := &Reader{stream: newStream(), limit: CurrentLimit()}
	r.in = bufio.NewReaderSize(r.stream, bufferSize)
	r.Reset(name, in)
	return r
}

// Reset makes r read another file, as if NewReader had made it, and saves allocating a new one for
// callers that read many. A file that Open opened must be closed before.
func (r *Reader) Reset(name string, in io.Reader) {
	r.stream.reset(name, in)
	r.in.Reset(r.stream)
	*r = Reader{name: name, stream: r.stream, in: r.in, large: r.large, limit: r.limit, close: func() error { return nil }}
}

// Limit sets how many bytes a record may have from now on: CurrentLimit at first, at most 2^31 - 1.
// A longer one is an *Error with ErrTooLong in its chain. Its length is known from its head, and
// none of it is read.
func (r *Reader) Limit(bytes int) { r.limit = min(bytes, maxLength) }

// Gzip reports whether the file is compressed, once Next was called.
func (r *Reader) Gzip() bool { return r.stream.inflates() }

// Close closes the file that Open opened.
func (r *Reader) Close() error {
	if r.err == nil {
		r.err = fmt.Errorf("read %s: %w", r.name, os.ErrClosed)
	}
	return r.close()
}

// Next returns the next record. It stays valid until the next call. At the end of the file, if it
// is not within a record, the error is io.EOF; all other errors are *Error and permanent.
func (r *Reader) Next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	data, err := r.next()
	if err != nil {
		r.err = r.locate(err)
		return nil, r.err
	}
	r.number++
	r.offset += headSize + int64(len(data)) + footSize
	return data, nil
}

func (r *Reader) next() ([]byte, error) {
	if data, ok := r.nextAhead(); ok {
		return data, nil
	}
	// These bytes were peeked at before and fit the buffer, so this can't fail.
	r.in.Discard(r.held)
	r.held, r.ahead = 0, nil

	length, err := r.readLength()
	if err != nil {
		return nil, err
	}
	if length+footSize <= bufferSize {
		return r.peekData(length)
	}
	return r.readLarge(length)
}

// nextAhead returns the next record from the buffer, if it is complete there and valid.
func (r *Reader) nextAhead() ([]byte, bool) {
	const frame = headSize + footSize
	if len(r.ahead) < frame {
		return nil, false
	}
	length := binary.LittleEndian.Uint64(r.ahead)
	if length > uint64(len(r.ahead)-frame) || length > uint64(r.limit) || checksum(r.ahead[:8]) != binary.LittleEndian.Uint32(r.ahead[8:]) {
		return nil, false
	}
	size := frame + int(length)
	data, err := verified(r.ahead[headSize:size])
	if err != nil {
		return nil, false
	}
	r.held, r.ahead = r.held+size, r.ahead[size:]
	return data, true
}

// readLength reads a record's head. io.EOF means that the file ends where a record may begin.
func (r *Reader) readLength() (int, error) {
	head, err := r.in.Peek(headSize)
	if len(head) == 0 && err == io.EOF {
		return 0, io.EOF
	}
	if err != nil {
		return 0, cutShort(err)
	}
	if checksum(head[:8]) != binary.LittleEndian.Uint32(head[8:]) {
		return 0, r.otherFormat(head)
	}
	length := binary.LittleEndian.Uint64(head)
	if length > uint64(r.limit) {
		return 0, fmt.Errorf("%d bytes: %w (%d): write smaller records, or raise the limit (%s)", length, ErrTooLong, r.limit, EnvLimit)
	}
	r.in.Discard(headSize)
	return int(length), nil
}

// otherFormat returns the error of a head whose checksum doesn't match: at the beginning of a file,
// it often has another format.
func (r *Reader) otherFormat(head []byte) error {
	if r.number > 0 {
		return ErrLengthChecksum
	}
	return named(head, ErrLengthChecksum)
}

// peekData returns a record from the buffer.
func (r *Reader) peekData(length int) ([]byte, error) {
	data, err := r.in.Peek(length + footSize)
	if err != nil {
		return nil, cutShort(err)
	}
	r.held = len(data)
	whole, _ := r.in.Peek(r.in.Buffered()) // they are in the buffer
	r.ahead = whole[r.held:]
	return verified(data)
}

// readLarge reads a record that is longer than the buffer. Memory grows with the bytes of the file,
// not with the claimed length.
func (r *Reader) readLarge(length int) ([]byte, error) {
	need := length + footSize
	if r.large = r.large[:0]; cap(r.large) > keptBytes && need <= keptBytes {
		r.large = nil
	}
	for len(r.large) < need {
		start := len(r.large)
		r.large = append(r.large, make([]byte, min(need-start, max(bufferSize, start)))...)
		if _, err := io.ReadFull(r.in, r.large[start:]); err != nil {
			return nil, cutShort(err)
		}
	}
	return verified(r.large)
}

// verified removes the checksum from the end of framed and verifies it.
func verified(framed []byte) ([]byte, error) {
	end := len(framed) - footSize
	data := framed[:end:end]
	if checksum(data) != binary.LittleEndian.Uint32(framed[end:]) {
		return nil, ErrDataChecksum
	}
	return data, nil
}

func (r *Reader) locate(err error) error {
	if err == io.EOF {
		return err
	}
	return &Error{File: r.name, Record: r.number, Offset: r.offset, Err: err}
}

// cutShort converts an end of the stream in the middle of a record to ErrTruncated.
func cutShort(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}
