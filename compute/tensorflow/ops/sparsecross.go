package ops

import (
	"fmt"
	"math"
)

// crossing is one column of a cross: the fingerprints of each row's values.
type crossing [][]uint64

// buildSparseCross hashes every combination of the values that a row has in the columns, sparse ones before dense ones. The
// inputs are all indices, all values, all shapes, then the dense columns.
func buildSparseCross(n *Node) (Kernel, error) {
	parts, number := n.Integer("N", 0), n.Integer("num_buckets", 0)
	if !n.Boolean("hashed_output", false) {
		return nil, fmt.Errorf("only hashed crosses are executed")
	}
	if parts < 0 || len(n.In) < 3*parts || number < 0 {
		return nil, fmt.Errorf("has %d inputs for %d sparse columns, %d buckets", len(n.In), parts, number)
	}
	for i, t := range n.In {
		isValue := i >= parts && i < 2*parts || i >= 3*parts
		if !isValue && t != Int64 || isValue && t != Int64 && t != String {
			return nil, fmt.Errorf("input %d is %v: %w", i, t, errType)
		}
	}
	modulus := uint64(number)
	if number == 0 {
		modulus = math.MaxInt64
	}
	key := uint64(n.Integer("hash_key", 0))
	n.Out = []DType{Int64, Int64, Int64}
	return func(c *Call) error {
		columns, rows, err := crossColumns(c, parts)
		if err != nil {
			return err
		}
		return cross(c, columns, rows, func(combination []uint64) int64 {
			h := key
			for _, v := range combination {
				h = joinFingerprints(h, v)
			}
			return int64(h % modulus)
		})
	}, nil
}

func crossColumns(c *Call, parts int) (columns []crossing, rows int, err error) {
	rows = -1
	sized := func(have int) error {
		if rows >= 0 && have != rows {
			return fmt.Errorf("columns of %d and %d rows can't be crossed", rows, have)
		}
		rows = have
		return nil
	}
	for i := range parts {
		one := Call{In: []Value{c.In[i], c.In[parts+i], c.In[2*parts+i]}}
		s, err := sparseArg(&one, 0)
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
		column := make(crossing, rows)
		for k := range s.Values.Size() {
			row := s.Index(k)[0]
			if row < 0 || row >= rows {
				return nil, 0, fmt.Errorf("row %d of %d", row, rows)
			}
			column[row] = append(column[row], fingerprintAt(s.Values, k))
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
		column := make(crossing, rows)
		for k := range t.Size() {
			row := k / t.Shape()[1]
			column[row] = append(column[row], fingerprintAt(t, k))
		}
		columns = append(columns, column)
	}
	return columns, max(rows, 0), nil
}

// fingerprintAt is an integer itself, or the fingerprint of a string.
func fingerprintAt(t Tensor, i int) uint64 {
	if a, ok := t.(*Array[int64]); ok {
		return uint64(a.Data[i])
	}
	return fingerprint(t.(*Array[string]).Data[i])
}

// cross goes through the combinations of each row, the last column fastest.
func cross(c *Call, columns []crossing, rows int, hash func([]uint64) int64) error {
	var indices, values []int64
	widest := 0
	combination := make([]uint64, len(columns))
	for row := range rows {
		total := 1
		for _, column := range columns {
			if total *= len(column[row]); total > c.Most-len(values) {
				return fmt.Errorf("up to row %d there are more than %d combinations", row, c.Most)
			}
		}
		for k := range total {
			rest := k
			for i := len(columns) - 1; i >= 0; i-- {
				of := columns[i][row]
				combination[i] = of[rest%len(of)]
				rest /= len(of)
			}
			indices, values = append(indices, int64(row), int64(k)), append(values, hash(combination))
		}
		widest = max(widest, total)
	}
	copy(room[int64](c, 0, len(values), 2).Data, indices)
	copy(room[int64](c, 1, len(values)).Data, values)
	copy(room[int64](c, 2, 2).Data, []int64{int64(rows), int64(widest)})
	return nil
}
