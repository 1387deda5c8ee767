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

// ReadNumExamples reads the number of records of a split from its statistics:
// Split-<name>/FeatureStats.pb of TFX's ExampleStatistics artifact. TFX reads it there too, for
// num_examples of FnArgs.
func ReadNumExamples(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("read statistics: %w", err)
	}
	defer f.Close()
	return ParseNumExamples(shortName(path), f)
}

// ParseNumExamples reads a serialized DatasetFeatureStatisticsList of TensorFlow Metadata
// (statistics.proto), and returns the num_examples of its first dataset, as TFX does. Errors
// contain the name, and are ErrInput unless r can't be read. It skips the statistics of features
// without holding them in memory.
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

// numExamples reads one DatasetFeatureStatistics. As everywhere in protocol buffers, the last value
// of a field counts.
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
