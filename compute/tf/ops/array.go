package ops

import (
	"errors"
	"fmt"
)

// Value is what a node gives or takes: a Tensor, a *Table, a *Variable or a list of tensors.
type Value any

// Tensor is an *Array of any element type. Its methods are what can be done without knowing the type; two tensors that meet
// in one have the same.
type Tensor interface {
	DType() DType
	Shape() []int // must not be changed
	Size() int    // the number of elements

	// As is the same elements in another shape. Nothing is copied.
	As(dims []int) Tensor

	// room is a tensor of this type and of that shape, in the memory of old if that is one of this type too. Its elements
	// are whatever they were.
	room(old Value, dims []int) Tensor

	copy(at int, from Tensor, start, count int) // elements from start on to place at
	take(at int, from Tensor, places []int)     // element at+i is the one at places[i]
	put(from Tensor, start int, places []int)   // the inverse: places[i] is for element start+i
	fill(from Tensor, place int)                // all elements are the one at place
	zero()
	width() int64 // bytes of an element, but for those of strings
}

// Array is a tensor: its elements row major. What is in it is never changed once it has been handed on.
type Array[T Element] struct {
	Dims []int // the sizes of its dimensions; none for a scalar
	Data []T
}

func (a *Array[T]) DType() DType { return typeOf[T]() }
func (a *Array[T]) Shape() []int { return a.Dims }
func (a *Array[T]) Size() int    { return len(a.Data) }

func (a *Array[T]) As(dims []int) Tensor { return &Array[T]{Dims: dims, Data: a.Data} }

func (a *Array[T]) room(old Value, dims []int) Tensor { return RoomIn[T](old, dims...) }

func (a *Array[T]) copy(at int, from Tensor, start, count int) {
	copy(a.Data[at:at+count], from.(*Array[T]).Data[start:start+count])
}

func (a *Array[T]) take(at int, from Tensor, places []int) {
	data, to := from.(*Array[T]).Data, a.Data[at:]
	for i, p := range places {
		to[i] = data[p]
	}
}

func (a *Array[T]) put(from Tensor, start int, places []int) {
	data := from.(*Array[T]).Data[start:]
	for i, p := range places {
		a.Data[p] = data[i]
	}
}

func (a *Array[T]) fill(from Tensor, place int) {
	v := from.(*Array[T]).Data[place]
	for i := range a.Data {
		a.Data[i] = v
	}
}

func (a *Array[T]) zero() { clear(a.Data) }

func (a *Array[T]) width() int64 { return widthOf[T]() }

// Copy is a tensor in memory of its own.
func Copy(t Tensor) Tensor {
	c := t.room(nil, t.Shape())
	c.copy(0, t, 0, t.Size())
	return c
}

// Part is the box of a tensor that begins at start.
func Part(t Tensor, start, size []int) (Tensor, error) {
	shape, steps, first := t.Shape(), rowMajor(t.Shape()), 0
	if len(start) != len(shape) || len(size) != len(shape) {
		return nil, fmt.Errorf("a part at %v of size %v isn't one of shape %v", start, size, shape)
	}
	for i, d := range shape {
		if start[i] < 0 || size[i] < 0 || start[i] > d || size[i] > d-start[i] {
			return nil, fmt.Errorf("a part at %v of size %v isn't in shape %v", start, size, shape)
		}
		first += start[i] * steps[i]
	}
	part := t.room(nil, size)
	part.take(0, t, places(first, size, steps))
	return part, nil
}

// Reordered is a tensor of one dimension whose element i is that at order[i].
func Reordered(t Tensor, order []int) Tensor {
	moved := t.room(nil, t.Shape())
	moved.take(0, t, order)
	return moved
}

// RoomIn is an array of that shape, in the memory of old if that is one of this type. Its elements are whatever they were.
func RoomIn[T Element](old Value, dims ...int) *Array[T] {
	a, ok := old.(*Array[T])
	if !ok {
		a = &Array[T]{}
	}
	n := Count(dims)
	if cap(a.Data) < n {
		a.Data = make([]T, n)
	}
	a.Dims, a.Data = append(a.Dims[:0], dims...), a.Data[:n]
	return a
}

// Vector is a list as a tensor.
func Vector[T Element](data ...T) *Array[T] { return &Array[T]{Dims: []int{len(data)}, Data: data} }

// Scalar is one element as a tensor without dimensions.
func Scalar[T Element](v T) *Array[T] { return &Array[T]{Data: []T{v}} }

// Count is the number of elements of a shape.
func Count(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// MaxElements bounds what a graph can make of little: Fill, Tile and others take their size from data.
const MaxElements = 1 << 27

// allow is an error for a shape that is impossible, or of more elements than most.
func allow(dims []int, most int) error {
	if len(dims) > maxRank {
		return fmt.Errorf("a tensor of %d dimensions, %d are allowed", len(dims), maxRank)
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

// Integers are the elements of a tensor of int32 or int64 as ints: a shape, axes, indices.
func Integers(v Value) []int {
	switch a := v.(type) {
	case *Array[int32]:
		return convertInts(a.Data)
	case *Array[int64]:
		return convertInts(a.Data)
	}
	return nil
}

func convertInts[T int32 | int64](data []T) []int {
	list := make([]int, len(data))
	for i, v := range data {
		list[i] = int(v)
	}
	return list
}

// integer1 is the one element of a tensor of int32 or int64.
func integer1(v Value) (int, error) {
	if t, ok := v.(Tensor); ok && t.Size() != 1 {
		return 0, fmt.Errorf("has %d elements, wants one", t.Size())
	}
	list := Integers(v)
	if len(list) != 1 {
		return 0, errors.New("is no integer")
	}
	return list[0], nil
}
