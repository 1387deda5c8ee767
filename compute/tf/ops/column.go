package ops

import (
	"math"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// ColumnValues returns a column's values as a tensor of that shape, in the memory of old if that is
// a tensor of strings. Numbers aren't copied. Subnormal floats become 0, because TensorFlow
// computes with 0 instead of them. TensorFlow does so within a graph too, which this package does
// not, but there the difference is below 1.2e-38.
func ColumnValues(old Value, c *example.Column, dims []int) Value {
	switch c.Feature.Kind {
	case example.Float:
		return &tensor.Array[float32]{Dims: dims, Data: flushed(c.Floats)}
	case example.Int64:
		return &tensor.Array[int64]{Dims: dims, Data: c.Ints}
	}
	a, all, start := tensor.Reuse[string](old, dims...), string(c.Data), int32(0)
	for i, end := range c.Ends {
		a.Data[i] = all[start:end]
		start = end
	}
	return a
}

func flushed(floats []float32) []float32 {
	for i := range floats {
		if isTiny(floats[i]) {
			return flush(floats)
		}
	}
	return floats
}

// isTiny reports whether a float32 is subnormal.
func isTiny(v float32) bool { return math.Float32bits(v)<<1-1 < 1<<24-1 }

func flush(floats []float32) []float32 {
	flushed := make([]float32, len(floats))
	for i, v := range floats {
		if !isTiny(v) {
			flushed[i] = v
		}
	}
	return flushed
}

// ColumnIndices returns indices and dense shape of a column as a sparse tensor, whose values are
// one after another in each row.
func ColumnIndices(old Value, rows int, c *example.Column) (indices, shape Value) {
	made, widest := tensor.Reuse[int64](old, c.Len(), 2), 0
	for r := range rows {
		start, end := c.Row(r)
		for i := start; i < end; i++ {
			made.Data[2*i], made.Data[2*i+1] = int64(r), int64(i-start)
		}
		widest = max(widest, end-start)
	}
	return made, tensor.Vector(int64(rows), int64(widest))
}

// ColumnSplits returns the row splits of a column as a ragged tensor, of int32 or int64.
func ColumnSplits(old Value, t tensor.DType, c *example.Column) Value {
	if t == tensor.Int32 {
		return &tensor.Array[int32]{Dims: []int{len(c.Offsets)}, Data: c.Offsets}
	}
	a := tensor.Reuse[int64](old, len(c.Offsets))
	for i, v := range c.Offsets {
		a.Data[i] = int64(v)
	}
	return a
}
