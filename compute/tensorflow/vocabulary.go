package tensorflow

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/record"
	"github.com/stoker-ml/stoker/compute/tensorflow/ops"
)

// textColumns says what of a line is key and what value.
type textColumns struct {
	key, value         int // wholeLine, lineNumber, or which column
	delimiter          string
	offset             int // lines that are left out at the start
	keyType, valueType ops.DType
}

const (
	wholeLine  = -2
	lineNumber = -1
)

// maxLine bounds one token of a vocabulary.
const maxLine = 16 << 20

// readTextTable reads a file of a line a key. As in TensorFlow, blanks are kept, a CR before the newline isn't, the last
// line needs no newline, and an empty line or none at all is an error.
func readTextTable(path string, columns textColumns) (keys, values ops.Tensor, err error) {
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
		if lines.Text() == "" {
			return nil, nil, fmt.Errorf("vocabulary %s: line %d is empty", filepath.Base(path), number+1)
		}
		err := errors.Join(
			from.add(columns.pick(columns.key, lines.Text(), number-columns.offset)),
			to.add(columns.pick(columns.value, lines.Text(), number-columns.offset)))
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
	dtype    ops.DType
	strings  []string
	integers []int64
	floats   []float32
}

func newColumn(t ops.DType) *column { return &column{dtype: t} }

func (c *column) add(text string, err error) error {
	if err != nil {
		return err
	}
	switch c.dtype {
	case ops.String:
		c.strings = append(c.strings, text)
	case ops.Int64:
		v, err := strconv.ParseInt(text, 10, 64)
		c.integers = append(c.integers, v)
		return err
	case ops.Float32:
		v, err := strconv.ParseFloat(text, 32)
		c.floats = append(c.floats, float32(v))
		return err
	default:
		return fmt.Errorf("type %v isn't read from files", c.dtype)
	}
	return nil
}

func (c *column) tensor() ops.Tensor {
	switch c.dtype {
	case ops.Int64:
		return ops.Vector(c.integers...)
	case ops.Float32:
		return ops.Vector(c.floats...)
	}
	return ops.Vector(c.strings...)
}

// readRecordTable reads a file of records: record i is the key of i.
func readRecordTable(path string) (keys, values ops.Tensor, err error) {
	r, err := record.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	texts, numbers := newColumn(ops.String), newColumn(ops.Int64)
	for {
		data, err := r.Next()
		if err == io.EOF {
			return texts.tensor(), numbers.tensor(), nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("vocabulary %s: %w", filepath.Base(path), err)
		}
		texts.strings, numbers.integers = append(texts.strings, string(data)), append(numbers.integers, int64(len(numbers.integers)))
	}
}
