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

	// maxLength is what a record may be long: a protocol buffer cannot be longer.
	maxLength = math.MaxInt32

	// keptBytes is how much memory of a long record is kept for the next one.
	keptBytes = 16 << 20
)

// Reader reads the records of one file in turn. It is not safe for concurrent use.
type Reader struct {
	name   string
	stream *stream
	in     *bufio.Reader // of stream
	close  func() error
	number int64  // of the next record
	offset int64  // of the next record
	held   int    // bytes of records that were returned, still in the buffer of in
	ahead  []byte // what follows them there
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

// NewReader reads records from in, which is not closed. Errors contain the name, and decides by
// ".gz" at its end whether in must be gzip.
func NewReader(name string, in io.Reader) *Reader {
	r := &Reader{stream: newStream(), limit: CurrentLimit()}
	r.in = bufio.NewReaderSize(r.stream, bufferSize)
	r.Reset(name, in)
	return r
}

// Reset makes r read another file, as if NewReader had made it, and saves the memory of a new one:
// for those who read many. A file that Open opened must be closed before.
func (r *Reader) Reset(name string, in io.Reader) {
	r.stream.reset(name, in)
	r.in.Reset(r.stream)
	*r = Reader{name: name, stream: r.stream, in: r.in, large: r.large, limit: r.limit, close: func() error { return nil }}
}

// Limit sets how many bytes a record may have from now on: CurrentLimit at first, at most 2^31 - 1.
// A longer one is an *Error with ErrTooLong in its chain. Its length is known from its head, and
// nothing of it is read.
func (r *Reader) Limit(bytes int) { r.limit = min(bytes, maxLength) }

// Gzip says whether the file is compressed, once Next was called.
func (r *Reader) Gzip() bool { return r.stream.inflates() }

// Close closes the file that Open opened.
func (r *Reader) Close() error {
	if r.err == nil {
		r.err = fmt.Errorf("read %s: %w", r.name, os.ErrClosed)
	}
	return r.close()
}

// Next returns the next record. It stays valid until the next call. At the end of the file, and
// only at a clean one, the error is io.EOF; all others are *Error and stay.
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
	// What was peeked at by the calls before fits the buffer, so this can't fail.
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

// nextAhead takes the next record where it lies in the buffer, if it is whole there and right.
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

// otherFormat is what is wrong with a head whose checksum doesn't match: at the beginning of a
// file, often the file is another one.
func (r *Reader) otherFormat(head []byte) error {
	if r.number > 0 {
		return ErrLengthChecksum
	}
	return named(head, ErrLengthChecksum)
}

// peekData returns a record where it lies in the buffer.
func (r *Reader) peekData(length int) ([]byte, error) {
	data, err := r.in.Peek(length + footSize)
	if err != nil {
		return nil, cutShort(err)
	}
	r.held = len(data)
	whole, _ := r.in.Peek(r.in.Buffered()) // they are there
	r.ahead = whole[r.held:]
	return verified(data)
}

// readLarge reads a record that is longer than the buffer. Memory grows with the bytes that are
// there, not with what the length promises.
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

// verified takes the checksum off the end of framed and checks it.
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

// cutShort turns an end of the stream in the middle of a record into ErrTruncated.
func cutShort(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}
