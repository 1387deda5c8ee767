package tfevents

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// maxEvent is the largest size of an event that is decoded, in bytes: the largest contain graphs.
const maxEvent = 256 << 20

// ErrNoEventFile is in the chain of the error for a file that does not begin as event files do.
var ErrNoEventFile = errors.New("no event file")

// Reader reads the events of one file in turn. It is for one goroutine at a time.
type Reader struct {
	name    string
	records *tfrecord.Reader
	file    io.Closer
	number  int
}

// OpenFile opens an event file.
func OpenFile(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open events: %w", err)
	}
	r := NewReader(path, f)
	r.file = f
	return r, nil
}

// NewReader reads events from in, which it does not close. Errors contain the name.
func NewReader(name string, in io.Reader) *Reader {
	return &Reader{name: name, records: tfrecord.NewReader(name, in), file: io.NopCloser(nil)}
}

// Close closes the file that OpenFile opened.
func (r *Reader) Close() error { return r.file.Close() }

// Next returns the next event, io.EOF at the end. A file whose last event is truncated, because it
// is still being written or its writer died, ends with an error that has tfrecord.ErrTruncated in
// its chain.
func (r *Reader) Next() (Event, error) {
	data, err := r.records.Next()
	if err != nil {
		return Event{}, r.begun(err)
	}
	r.number++
	if len(data) > maxEvent {
		return Event{}, fmt.Errorf("event %d of %s: %d bytes: expected at most %d", r.number, r.name, len(data), maxEvent)
	}
	event, err := decodeEvent(data)
	if err == nil && r.number == 1 && !isVersion(event.Version) {
		err = fmt.Errorf("%w: expected the version brain.Event:2 first, got %q", ErrNoEventFile, event.Version)
	}
	if err != nil {
		return Event{}, fmt.Errorf("event %d of %s: %w", r.number, r.name, err)
	}
	return event, nil
}

// begun returns the error for a file that is not an event file, if its very first record can't be
// read.
func (r *Reader) begun(err error) error {
	if r.number == 0 && tfrecord.Corrupt(err) && !errors.Is(err, tfrecord.ErrTruncated) {
		return fmt.Errorf("%w: %w", ErrNoEventFile, err)
	}
	return err
}
