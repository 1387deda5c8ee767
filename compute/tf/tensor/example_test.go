package tensor_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// A tensor is an array with a shape. Its elements are read back by their type.
func ExampleNew() {
	t, err := tensor.New([]int{2, 3}, []float32{1, 2, 3, 4, 5, 6})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.DType(), t.Shape(), t.Size())
	column, err := tensor.Slice(t, []int{0, 1}, []int{2, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	values, ok := tensor.Values[float32](column)
	fmt.Println(column.Shape(), values, ok)

	_, err = tensor.New([]int{2, 3}, []float32{1})
	fmt.Println(err)
	// Output:
	// DT_FLOAT [2 3] 6
	// [2 1] [2 5] true
	// 1 values for shape [2 3]
}

// The bytes of a checkpoint are little endian and row major.
func ExampleFromBytes() {
	t, err := tensor.FromBytes(tensor.Int32, []int{2}, []byte{1, 0, 0, 0, 0, 1, 0, 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	values, _ := tensor.Values[int32](t)
	fmt.Println(values)
	// Output: [1 256]
}

func ExampleReordered() {
	names := tensor.Vector("a", "b", "c")
	reversed, _ := tensor.Values[string](tensor.Reordered(names, []int{2, 1, 0}))
	fmt.Println(reversed)
	// Output: [c b a]
}
