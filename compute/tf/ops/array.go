package ops

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Value is what a node gives or takes: a tensor.Tensor, a *Table, a *Variable or a list of tensors.
type Value any

// integer1 is the one element of a tensor of int32 or int64.
func integer1(v Value) (int, error) {
	if t, ok := v.(tensor.Tensor); ok && t.Size() != 1 {
		return 0, fmt.Errorf("has %d elements, wants one", t.Size())
	}
	list := tensor.Integers(v)
	if len(list) != 1 {
		return 0, errors.New("is no integer")
	}
	return list[0], nil
}
