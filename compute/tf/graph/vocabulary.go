package graph

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// textColumns determines which part of a line is the key, and which the value.
type textColumns struct {
	key, value         int // wholeLine, lineNumber, or which column
	delimiter          string
	offset             int // lines that are left out at the start
	keyType, valueType tensor.DType
}

const (
	wholeLine  = -2
	lineNumber = -1
)

// maxLine limits the bytes of one token of a vocabulary.
const maxLine = 16 << 20

// readTextTable reads a file with one key in each line. As in TensorFlow, blanks are kept, a CR
// before the newline isn't, the last line needs no newline, and an empty line or an empty file is
// an error.
func readTextTable(b *ops.Budget, path string, columns textColumns) (keys, values tensor.Tensor, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	from, to := newColumn(columns.keyType), newColumn(columns.valueType)
	for number := 0; lines.Scan(); number++ {
		if number < columns.offset {
			continue
		}
		if err := chargeLine(b, number, len(lines.Bytes())); err != nil {
			return nil, nil, fmt.Errorf("vocabulary %s: line %d: %w", filepath.Base(path), number+1, err)
		}
		if len(lines.Bytes()) == 0 {
			return nil, nil, fmt.Errorf("vocabulary %s: line %d is empty", filepath.Base(path), number+1)
		}
		line := lines.Text()
		err := errors.Join(
			from.add(columns.pick(columns.key, line, number-columns.offset)),
			to.add(columns.pick(columns.value, line, number-columns.offset)))
		if err != nil {
			return nil, nil, fmt.Errorf("vocabulary %s: line %d: %w", filepath.Base(path), number+1, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("vocabulary %s: %w", filepath.Base(path), err)
	}
	keys = from.tensor()
	if keys.Size() == 0 {
		return nil, nil, fmt.Errorf("vocabulary %s: is empty", filepath.Base(path))
	}
	return keys, to.tensor(), nil
}

// entryBytes is the memory of a line of a vocabulary in addition to its own bytes: in lists that
// grow.
const entryBytes = 64

// chargeLine charges a line that is about to be kept.
func chargeLine(b *ops.Budget, number, length int) error {
	if number%1024 == 0 {
		if err := b.Poll(); err != nil {
			return err
		}
	}
	return b.Charge(entryBytes + int64(length))
}

func (c textColumns) pick(which int, line string, number int) (string, error) {
	switch {
	case which == wholeLine:
		return line, nil
	case which == lineNumber:
		return strconv.Itoa(number), nil
	}
	parts := strings.Split(line, c.delimiter)
	if which < 0 || which >= len(parts) {
		return "", fmt.Errorf("has no column %d", which)
	}
	return parts[which], nil
}

// column collects the keys or values of a file.
type column struct {
	dtype    tensor.DType
	strings  []string
	integers []int64
	floats   []float32
}

func newColumn(t tensor.DType) *column { return &column{dtype: t} }

func (c *column) add(text string, err error) error {
	if err != nil {
		return err
	}
	switch c.dtype {
	case tensor.String:
		c.strings = append(c.strings, text)
	case tensor.Int64:
		v, err := strconv.ParseInt(text, 10, 64)
		c.integers = append(c.integers, v)
		return err
	case tensor.Float32:
		v, err := strconv.ParseFloat(text, 32)
		c.floats = append(c.floats, float32(v))
		return err
	default:
		return fmt.Errorf("type %v isn't read from files", c.dtype)
	}
	return nil
}

func (c *column) tensor() tensor.Tensor {
	switch c.dtype {
	case tensor.Int64:
		return tensor.Vector(c.integers...)
	case tensor.Float32:
		return tensor.Vector(c.floats...)
	}
	return tensor.Vector(c.strings...)
}

// readRecordTable reads a file of records: record i is the key of i.
func readRecordTable(b *ops.Budget, path string) (keys, values tensor.Tensor, err error) {
	r, err := tfrecord.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	texts, numbers := newColumn(tensor.String), newColumn(tensor.Int64)
	for {
		data, err := r.Next()
		if err == io.EOF {
			return texts.tensor(), numbers.tensor(), nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("vocabulary %s: %w", filepath.Base(path), err)
		}
		if err := chargeLine(b, len(texts.strings), len(data)); err != nil {
			return nil, nil, fmt.Errorf("vocabulary %s: record %d: %w", filepath.Base(path), len(texts.strings), err)
		}
		texts.strings, numbers.integers = append(texts.strings, string(data)), append(numbers.integers, int64(len(numbers.integers)))
	}
}
