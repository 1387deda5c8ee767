package example

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
)

// ReadNumExamples reads the number of records that a split had from its statistics: Split-<name>/FeatureStats.pb of TFX's
// ExampleStatistics artifact. TFX takes it from there too, as num_examples of FnArgs.
func ReadNumExamples(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("read statistics: %w", err)
	}
	defer f.Close()
	return ParseNumExamples(shortName(path), f)
}

// ParseNumExamples reads a serialized DatasetFeatureStatisticsList of TensorFlow Metadata (statistics.proto), and of that the
// num_examples of its first dataset, as TFX does. The name stands in errors, which are ErrInput unless r can't be read. What is
// said of the features is passed over, and none of it held in memory.
func ParseNumExamples(name string, r io.Reader) (int64, error) {
	in := &walk{in: bufio.NewReaderSize(r, 64<<10), left: math.MaxInt64}
	n, err := firstNumExamples(in)
	switch {
	case in.err != nil:
		return 0, fmt.Errorf("read statistics %s: %w", name, in.err)
	case err != nil:
		return 0, inputError{fmt.Errorf("parse statistics %s, at byte %d: %w", name, math.MaxInt64-in.left, err)}
	}
	return n, nil
}

// Numbers of fields in statistics.proto.
const (
	datasetsOfList        = 1
	numExamplesOfDatasets = 2
)

func firstNumExamples(list *walk) (n int64, err error) {
	for seen := false; ; {
		number, wire, err := list.tag()
		if err == io.EOF && seen {
			return n, nil
		}
		if err == io.EOF {
			return 0, errors.New("no data set in it")
		}
		if err != nil {
			return 0, err
		}
		if number != datasetsOfList || wire != protowire.BytesType || seen {
			if err := list.skip(wire); err != nil {
				return 0, err
			}
			continue
		}
		if n, err = numExamples(list); err != nil {
			return 0, err
		}
		seen = true
	}
}

// numExamples reads one DatasetFeatureStatistics. As everywhere in protocol buffers, the last value of a field counts.
func numExamples(list *walk) (n int64, err error) {
	end, err := list.enter()
	if err != nil {
		return 0, err
	}
	for list.left > end {
		number, wire, err := list.tag()
		if err != nil {
			return 0, malformed(err)
		}
		if number != numExamplesOfDatasets || wire != protowire.VarintType {
			if err := list.skip(wire); err != nil {
				return 0, err
			}
			continue
		}
		count, err := list.varint()
		if err != nil {
			return 0, malformed(err)
		}
		if count > math.MaxInt64 {
			return 0, fmt.Errorf("num_examples is %d", count)
		}
		n = int64(count)
	}
	if list.left < end {
		return 0, errMalformed
	}
	return n, nil
}

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
