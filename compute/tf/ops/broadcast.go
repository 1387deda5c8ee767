package ops

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// broadcast returns the shape of an op on two tensors: a dimension of size 1 is repeated, a missing
// one counts as 1.
func broadcast(a, b []int) ([]int, error) {
	if slices.Equal(a, b) || len(b) == 0 {
		return a, nil
	}
	if len(a) == 0 {
		return b, nil
	}
	dims := make([]int, max(len(a), len(b)))
	for i := 1; i <= len(dims); i++ {
		x, y := fromEnd(a, i), fromEnd(b, i)
		if x != y && x != 1 && y != 1 {
			return nil, fmt.Errorf("shapes %v and %v don't go together", a, b)
		}
		if x == 1 {
			x = y
		}
		dims[len(dims)-i] = x
	}
	return dims, nil
}

func fromEnd(dims []int, i int) int {
	if i > len(dims) {
		return 1
	}
	return dims[len(dims)-i]
}

// spread returns the elements of a, repeated to fill dims, which it broadcasts to. The mask is for
// the index: 0 if a has one element for all positions, -1 otherwise.
func spread[T tensor.Element](c *Call, a *tensor.Array[T], dims []int) (data []T, mask int) {
	if len(a.Data) == 1 {
		return a.Data, 0
	}
	if len(a.Data) == tensor.Count(dims) {
		return a.Data, -1
	}
	c.use(shapeBytes(dims, tensor.BytesOf[T]()))
	all := &tensor.Array[T]{Dims: dims, Data: make([]T, tensor.Count(dims))}
	c.take(all, a, c.places(0, dims, repeatSteps(a.Dims, dims)))
	return all.Data, -1
}

// repeatSteps returns the steps of a view of a tensor that is broadcast: 0 along repeated
// dimensions.
func repeatSteps(from, to []int) []int {
	steps := make([]int, len(to))
	own := tensor.Strides(from)
	for i := range from {
		if from[i] != 1 {
			steps[len(to)-len(from)+i] = own[i]
		}
	}
	return steps
}
