package tensorflow

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

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
func readTextTable(path string, columns textColumns) (*ops.Table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	keys, values := newColumn(columns.keyType), newColumn(columns.valueType)
	for number := 0; lines.Scan(); number++ {
		if number < columns.offset {
			continue
		}
		if lines.Text() == "" {
			return nil, fmt.Errorf("vocabulary %s: line %d is empty", filepath.Base(path), number+1)
		}
		err := errors.Join(
			keys.add(columns.pick(columns.key, lines.Text(), number-columns.offset)),
			values.add(columns.pick(columns.value, lines.Text(), number-columns.offset)))
		if err != nil {
			return nil, fmt.Errorf("vocabulary %s: line %d: %w", filepath.Base(path), number+1, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("vocabulary %s: %w", filepath.Base(path), err)
	}
	t, err := ops.NewTable(keys.tensor(), values.tensor())
	if err == nil && t.Size == 0 {
		err = errors.New("is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("vocabulary %s: %w", filepath.Base(path), err)
	}
	return t, nil
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

// datasetOps are the ops of the one pipeline that tf.Transform reads a vocabulary of records with: record i is the key of i.
var datasetOps = []string{"FlatMapDataset", "MapDataset", "RangeDataset", "TFRecordDataset", "TensorSliceDataset", "ZipDataset"}

// recordTable reads a vocabulary that is a file of compressed records. The pipeline that TensorFlow reads it with isn't
// executed: it has to be the one that tf.Transform writes.
func (m *Model) recordTable(node *nodepb.NodeDef, args map[string]int32) (*ops.Table, error) {
	if len(node.GetInput()) < 2 {
		return nil, fmt.Errorf("node %s has %d inputs", node.GetName(), len(node.GetInput()))
	}
	id, ok := args[node.GetInput()[1]]
	if !ok || id < 0 || int(id) >= len(m.objects) {
		return nil, fmt.Errorf("node %s: no data set", node.GetName())
	}
	create, ok := m.child(id, "_create_resource")
	if !ok {
		return nil, errors.New("nothing says how its data set is made")
	}
	def, concrete, err := m.traced(create)
	if err != nil {
		return nil, err
	}
	if err := m.checkDataset(def.GetNodeDef(), 0); err != nil {
		return nil, err
	}
	if len(concrete.GetBoundInputs()) != 1 {
		return nil, fmt.Errorf("its data set is made of %d things, wants a file", len(concrete.GetBoundInputs()))
	}
	_, v, err := m.capture(concrete.GetBoundInputs()[0])
	if err != nil {
		return nil, err
	}
	file, ok := v.(asset)
	if !ok {
		return nil, errors.New("its data set isn't made of a file")
	}
	return readRecordTable(file.path)
}

// checkDataset refuses data set ops that are not in the pipeline of tf.Transform.
func (m *Model) checkDataset(nodes []*nodepb.NodeDef, depth int) error {
	for _, n := range nodes {
		if strings.Contains(n.GetOp(), "Dataset") && !slices.Contains(datasetOps, n.GetOp()) || depth > maxCalls {
			return fmt.Errorf("node %s: op %s isn't known in a table's data set", n.GetName(), n.GetOp())
		}
		if f := n.GetAttr()["f"].GetFunc(); f != nil {
			if err := m.checkDataset(m.library[f.GetName()].GetNodeDef(), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func readRecordTable(path string) (*ops.Table, error) {
	r, err := record.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	keys, values := newColumn(ops.String), newColumn(ops.Int64)
	for {
		data, err := r.Next()
		if err == io.EOF {
			return ops.NewTable(keys.tensor(), values.tensor())
		}
		if err != nil {
			return nil, fmt.Errorf("vocabulary %s: %w", filepath.Base(path), err)
		}
		keys.strings, values.integers = append(keys.strings, string(data)), append(values.integers, int64(len(values.integers)))
	}
}
