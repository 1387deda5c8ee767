package tfrecord

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Writer writes records. It is for one goroutine at a time. It must be closed, because records may
// still be in its buffers.
type Writer struct {
	out     *bufio.Writer
	flushes []func() error // of the layers below out, outermost first
	closes  []func() error // likewise
}

// Create creates the file and writes records to it, gzip if its name ends in .gz, plain if not. An
// existing file is truncated.
func Create(path string) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create records: %w", err)
	}
	begin := NewWriter
	if strings.HasSuffix(path, ".gz") {
		begin = NewGzipWriter
	}
	w := begin(f)
	w.closes = append(w.closes, f.Close)
	return w, nil
}

// NewWriter writes plain records to out, which it does not close.
func NewWriter(out io.Writer) *Writer {
	return &Writer{out: bufio.NewWriterSize(out, bufferSize)}
}

// NewGzipWriter writes records as one gzip stream to out, which it does not close.
func NewGzipWriter(out io.Writer) *Writer {
	z := gzip.NewWriter(out)
	w := NewWriter(z)
	w.flushes = append(w.flushes, z.Flush)
	w.closes = append(w.closes, z.Close)
	return w
}

// Append writes one record.
func (w *Writer) Append(data []byte) error {
	if len(data) > maxLength {
		return fmt.Errorf("write record of %d bytes: %w (%d)", len(data), ErrTooLong, maxLength)
	}
	var head [headSize]byte
	binary.LittleEndian.PutUint64(head[:], uint64(len(data)))
	binary.LittleEndian.PutUint32(head[8:], Checksum(head[:8]))
	var foot [footSize]byte
	binary.LittleEndian.PutUint32(foot[:], Checksum(data))
	for _, part := range [][]byte{head[:], data, foot[:]} {
		if _, err := w.out.Write(part); err != nil {
			return fmt.Errorf("write record: %w", err)
		}
	}
	return nil
}

// Flush writes everything that was appended to the underlying file, for readers of a file that
// still grows.
func (w *Writer) Flush() error { return run(w.out.Flush, w.flushes) }

// Close flushes, ends the gzip stream and closes the file that Create created.
func (w *Writer) Close() error { return run(w.out.Flush, w.closes) }

// run calls first and then all of rest, even after an error: a file must be closed even if it can't
// be flushed.
func run(first func() error, rest []func() error) error {
	err := first()
	for _, f := range rest {
		if e := f(); err == nil {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	return nil
}
