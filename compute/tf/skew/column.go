package skew

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// column are the values of every row.
type column []values

// columnOf takes a tensor apart whose first dimension is the rows.
func columnOf(t tensor.Tensor) (column, error) {
	shape := t.Shape()
	rows, width := shape[0], 1
	for _, d := range shape[1:] {
		width *= d
	}
	made := make(column, rows)
	for i := range made {
		from, to := i*width, (i+1)*width
		if floats, ok := tensor.Values[float32](t); ok {
			for _, x := range floats[from:to] {
				made[i].floats = append(made[i].floats, float64(x))
			}
		} else if floats, ok := tensor.Values[float64](t); ok {
			made[i].floats = floats[from:to]
		} else if ints, ok := tensor.Values[int64](t); ok {
			made[i].ints = ints[from:to]
		} else if ints, ok := tensor.Values[int32](t); ok {
			for _, x := range ints[from:to] {
				made[i].ints = append(made[i].ints, int64(x))
			}
		} else if texts, ok := tensor.Values[string](t); ok {
			made[i].texts = texts[from:to]
		} else {
			return nil, fmt.Errorf("is of type %v, which isn't compared", t.DType())
		}
	}
	return made, nil
}

// sparseColumn puts the values of a sparse tensor into their rows.
func sparseColumn(indices, content tensor.Tensor, rows int) (column, error) {
	all, err := columnOf(content)
	if err != nil {
		return nil, err
	}
	places, ok := tensor.Values[int64](indices)
	if !ok || len(indices.Shape()) != 2 || len(all) != indices.Shape()[0] {
		return nil, fmt.Errorf("is no sparse tensor")
	}
	made, rank := make(column, rows), indices.Shape()[1]
	for i, v := range all {
		r := int(places[i*rank])
		if r < 0 || r >= rows {
			return nil, fmt.Errorf("has a value in row %d of %d", r, rows)
		}
		made[r].floats, made[r].ints = append(made[r].floats, v.floats...), append(made[r].ints, v.ints...)
		made[r].texts = append(made[r].texts, v.texts...)
	}
	return made, nil
}
