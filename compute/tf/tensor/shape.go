package tensor

import (
	"fmt"

	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
)

// MaxElements bounds the tensors that a graph can make from little data: Fill, Tile and others take
// their size from data.
const MaxElements = 1 << 27

// MaxRank is the number of dimensions that a tensor may have:
// tensorflow/core/framework/tensor_shape.h.
const MaxRank = 254

// CheckShape returns an error for a shape that is impossible or has more elements than most.
func CheckShape(dims []int, most int) error {
	if len(dims) > MaxRank {
		return fmt.Errorf("a tensor of %d dimensions, %d are allowed", len(dims), MaxRank)
	}
	n := 1
	for _, d := range dims {
		if d < 0 {
			return fmt.Errorf("shape %v has a negative dimension", dims)
		}
		if d > 0 && n > most/d {
			return fmt.Errorf("shape %v has more than %d elements", dims, most)
		}
		n *= d
	}
	return nil
}

// ShapeOf returns the dimensions of p; -1 is one that is known only when the graph runs.
func ShapeOf(p *shapepb.TensorShapeProto) []int {
	dims := make([]int, len(p.GetDim()))
	for i, d := range p.GetDim() {
		dims[i] = int(d.GetSize())
	}
	return dims
}

// ShapeProto returns dims as TensorFlow encodes a shape.
func ShapeProto(dims ...int) *shapepb.TensorShapeProto {
	p := &shapepb.TensorShapeProto{}
	for _, d := range dims {
		p.Dim = append(p.Dim, &shapepb.TensorShapeProto_Dim{Size: int64(d)})
	}
	return p
}
