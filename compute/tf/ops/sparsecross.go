package ops

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/fingerprint"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// crossing is one column of a cross: the crossed form of each row's values.
type crossing[T any] [][]T

// buildSparseCross hashes every combination of the values that a row has in the columns, sparse
// ones before dense ones. The inputs are all indices, all values, all shapes, then the dense
// columns.
func buildSparseCross(n *Node) (Kernel, error) {
	parts, number := n.Integer("N", 0), n.Integer("num_buckets", 0)
	if !n.Boolean("hashed_output", false) {
		return nil, fmt.Errorf("only hashed crosses are executed: SparseCrossV2 makes texts")
	}
	if number < 0 {
		return nil, fmt.Errorf("%d buckets", number)
	}
	n.Out = []tensor.DType{tensor.Int64, tensor.Int64, tensor.Int64}
	join := hashCross(uint64(n.Integer("hash_key", 0)), number)
	return func(c *Call) error { return crossed(c, parts, fingerprintAt, join) }, n.wantCross(parts, len(n.In))
}

// buildSparseCrossV2 joins the values of every combination as text, with the last input between
// them.
func buildSparseCrossV2(n *Node) (Kernel, error) {
	parts, last := n.Integer("N", 0), len(n.In)-1
	if last < 0 {
		return nil, fmt.Errorf("has no inputs")
	}
	n.Out = []tensor.DType{tensor.Int64, tensor.String, tensor.Int64}
	kernel := func(c *Call) error {
		separator := arg[string](c, last)
		if len(separator.Data) != 1 {
			return fmt.Errorf("%d separators", len(separator.Data))
		}
		join := func(combination []string) string {
			c.chargeText(joinedSize(combination, separator.Data[0]))
			return strings.Join(combination, separator.Data[0])
		}
		columns := c.inner(c.In[:last], c.Out)
		return Do(func(columns *Call) error { return crossed(columns, parts, textAt, join) }, columns)
	}
	if err := n.wantAt(last, tensor.String); err != nil {
		return nil, err
	}
	return kernel, n.wantCross(parts, last)
}

// wantCross checks the columns, which are the first inputs.
func (n *Node) wantCross(parts, inputs int) error {
	if parts < 0 || inputs < 3*parts {
		return fmt.Errorf("has %d inputs for %d sparse columns", inputs, parts)
	}
	for i, t := range n.In[:inputs] {
		isValue := i >= parts && i < 2*parts || i >= 3*parts
		if !isValue && t != tensor.Int64 || isValue && t != tensor.Int64 && t != tensor.String {
			return fmt.Errorf("input %d is %v: %w", i, t, errType)
		}
	}
	return nil
}

// hashCross joins fingerprints, and takes them modulo the number of buckets, 0: as many as
// possible.
func hashCross(key uint64, buckets int) func([]uint64) int64 {
	modulus := uint64(buckets)
	if buckets == 0 {
		modulus = math.MaxInt64
	}
	return func(combination []uint64) int64 {
		h := key
		for _, v := range combination {
			h = fingerprint.Join(h, v)
		}
		return int64(h % modulus)
	}
}

// textAt returns an integer in decimal, or a string itself.
func textAt(t tensor.Tensor, i int) string {
	if a, ok := t.(*tensor.Array[int64]); ok {
		return strconv.FormatInt(a.Data[i], 10)
	}
	return t.(*tensor.Array[string]).Data[i]
}

// crossed makes the outputs: at returns the crossed form of a value, join the result for a
// combination.
func crossed[T any, R tensor.Element](c *Call, parts int, at func(tensor.Tensor, int) T, join func([]T) R) error {
	columns, rows, err := crossColumns(c, parts, at)
	if err != nil {
		return err
	}
	return cross(c, columns, rows, join)
}

func crossColumns[T any](c *Call, parts int, at func(tensor.Tensor, int) T) (columns []crossing[T], rows int, err error) {
	rows = -1
	sized := func(have int) error {
		if rows >= 0 && have != rows {
			return fmt.Errorf("columns of %d and %d rows can't be crossed", rows, have)
		}
		rows = have
		return nil
	}
	for i := range parts {
		one := c.inner([]Value{c.In[i], c.In[parts+i], c.In[2*parts+i]}, nil)
		s, err := sparseArg(one, 0)
		c.scratch += one.scratch
		if err == nil && len(s.Dims) != 2 {
			err = fmt.Errorf("column of shape %v", s.Dims)
		}
		if err == nil {
			err = c.allow(s.Dims[:1])
		}
		if err == nil {
			err = sized(s.Dims[0])
		}
		if err != nil {
			return nil, 0, err
		}
		c.use(24*int64(rows) + 48*int64(s.Values.Size()))
		column := make(crossing[T], rows)
		for k := range s.Values.Size() {
			c.tick(1)
			row := s.Index(k)[0]
			if row < 0 || row >= rows {
				return nil, 0, fmt.Errorf("row %d of %d", row, rows)
			}
			column[row] = append(column[row], at(s.Values, k))
		}
		columns = append(columns, column)
	}
	for i := 3 * parts; i < len(c.In); i++ {
		t := c.tensor(i)
		if len(t.Shape()) != 2 {
			return nil, 0, fmt.Errorf("dense column of shape %v", t.Shape())
		}
		if err := sized(t.Shape()[0]); err != nil {
			return nil, 0, err
		}
		c.use(24*int64(rows) + 48*int64(t.Size()))
		column := make(crossing[T], rows)
		for k := range t.Size() {
			c.tick(1)
			row := k / t.Shape()[1]
			column[row] = append(column[row], at(t, k))
		}
		columns = append(columns, column)
	}
	return columns, max(rows, 0), nil
}

// fingerprintAt returns an integer itself, or the fingerprint of a string.
func fingerprintAt(t tensor.Tensor, i int) uint64 {
	if a, ok := t.(*tensor.Array[int64]); ok {
		return uint64(a.Data[i])
	}
	return farmHash(t.(*tensor.Array[string]).Data[i])
}

// cross iterates over the combinations of each row, the last column fastest.
func cross[T any, R tensor.Element](c *Call, columns []crossing[T], rows int, join func([]T) R) error {
	var indices []int64
	var values []R
	widest := 0
	combination := make([]T, len(columns))
	for row := range rows {
		total := 1
		for _, column := range columns {
			if total *= len(column[row]); total > c.Most-len(values) {
				return fmt.Errorf("up to row %d there are more than %d combinations", row, c.Most)
			}
		}
		c.use(2 * int64(total) * (16 + tensor.BytesOf[R]())) // both grow
		for k := range total {
			c.tick(len(columns))
			rest := k
			for i := len(columns) - 1; i >= 0; i-- {
				of := columns[i][row]
				combination[i] = of[rest%len(of)]
				rest /= len(of)
			}
			indices, values = append(indices, int64(row), int64(k)), append(values, join(combination))
		}
		widest = max(widest, total)
	}
	copy(newOutput[int64](c, 0, len(values), 2).Data, indices)
	copy(newOutput[R](c, 1, len(values)).Data, values)
	copy(newOutput[int64](c, 2, 2).Data, []int64{int64(rows), int64(widest)})
	return nil
}
