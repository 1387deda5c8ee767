package tfrecord

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// fileBufferSize is how much of a compressed file is read at once.
const fileBufferSize = 64 << 10

// stream is the uncompressed bytes of a file. It examines the first bytes when it is first read, so
// that a bad file fails at its first record like every other bad file.
type stream struct {
	name string
	file source
	in   *bufio.Reader // of file
	out  io.Reader     // in or inflater, set by the first Read

	inflater *gzip.Reader // nil until the first compressed file
}

func newStream() *stream {
	s := &stream{}
	s.in = bufio.NewReaderSize(&s.file, fileBufferSize)
	return s
}

// reset begins another file with the memory of the last.
func (s *stream) reset(name string, file io.Reader) {
	s.name, s.file, s.out = name, source{in: file}, nil
	s.in.Reset(&s.file)
}

func (s *stream) Read(p []byte) (int, error) {
	if s.out == nil {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	n, err := s.out.Read(p)
	if err == nil || err == io.EOF || s.out == s.in {
		return n, err
	}
	return n, s.inflateError(err)
}

func (s *stream) open() error {
	head, err := s.in.Peek(headSize)
	if err != nil && err != io.EOF {
		return err
	}
	if !isGzip(head) {
		if strings.HasSuffix(s.name, ".gz") {
			return named(head, ErrNotGzip)
		}
		s.out = s.in
		return nil
	}
	if s.inflater == nil {
		s.inflater = &gzip.Reader{}
	}
	if err := s.inflater.Reset(s.in); err != nil {
		return s.inflateError(err)
	}
	s.out = s.inflater
	return nil
}

// inflates reports whether the file is compressed, once it was read from.
func (s *stream) inflates() bool { return s.out != nil && s.out != s.in }

// isGzip checks for gzip's magic (RFC 1952: 1f 8b, then method 8). A plain file begins with a
// length, which may look the same, but is followed by its own checksum.
func isGzip(head []byte) bool {
	if len(head) < 3 || head[0] != 0x1f || head[1] != 0x8b || head[2] != 8 {
		return false
	}
	plain := len(head) >= headSize && Checksum(head[:8]) == binary.LittleEndian.Uint32(head[8:headSize])
	return !plain
}

// inflateError returns what is wrong with a gzip stream. It passes on an error of reading the file
// itself.
func (s *stream) inflateError(err error) error {
	switch {
	case s.file.err != nil:
		return s.file.err
	case errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF:
		return fmt.Errorf("%w in the middle of the gzip stream", ErrTruncated)
	case errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("%w: its own checksum or length does not match", ErrGzip)
	}
	return fmt.Errorf("%w: %w", ErrGzip, err)
}

// source remembers an error of reading, so that it is not mistaken for damage.
type source struct {
	in  io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
