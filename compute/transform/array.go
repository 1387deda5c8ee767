package transform

import "fmt"

// value is what a slot of a plan holds: a tensor, a *table or a list of tensors.
type value any

// tensor is an *array of any element type. Its methods are what can be done without knowing the type; two tensors that meet
// in one have the same.
type tensor interface {
	dtype() dtype
	shape() []int
	size() int

	// as is the same elements in another shape. Nothing is copied.
	as(dims []int) tensor

	// room is a tensor of this type and of that shape, in the memory of old if that is one of this type too. Its elements
	// are whatever they were.
	room(old value, dims []int) tensor

	copy(at int, from tensor, start, count int) // elements from start on to place at
	take(from tensor, places []int)             // element i is the one at places[i]
	put(from tensor, places []int)              // the inverse: places[i] is for element i
	fill(from tensor, place int)                // all elements are the one at place
	zero()
}

// array is a tensor: its elements row major. What is in it is never changed once it has been handed on.
type array[T element] struct {
	dims []int
	data []T
}

func (a *array[T]) dtype() dtype { return typeOf[T]() }
func (a *array[T]) shape() []int { return a.dims }
func (a *array[T]) size() int    { return len(a.data) }

func (a *array[T]) as(dims []int) tensor { return &array[T]{dims: dims, data: a.data} }

func (a *array[T]) room(old value, dims []int) tensor { return roomIn[T](old, dims...) }

func (a *array[T]) copy(at int, from tensor, start, count int) {
	copy(a.data[at:at+count], from.(*array[T]).data[start:start+count])
}

func (a *array[T]) take(from tensor, places []int) {
	data := from.(*array[T]).data
	for i, p := range places {
		a.data[i] = data[p]
	}
}

func (a *array[T]) put(from tensor, places []int) {
	data := from.(*array[T]).data
	for i, p := range places {
		a.data[p] = data[i]
	}
}

func (a *array[T]) fill(from tensor, place int) {
	v := from.(*array[T]).data[place]
	for i := range a.data {
		a.data[i] = v
	}
}

func (a *array[T]) zero() { clear(a.data) }

// roomIn is array.room for a type that is known.
func roomIn[T element](old value, dims ...int) *array[T] {
	a, ok := old.(*array[T])
	if !ok {
		a = &array[T]{}
	}
	n := count(dims)
	if cap(a.data) < n {
		a.data = make([]T, n)
	}
	a.dims, a.data = append(a.dims[:0], dims...), a.data[:n]
	return a
}

// vector is a list as a tensor.
func vector[T element](data ...T) *array[T] { return &array[T]{dims: []int{len(data)}, data: data} }

func scalar[T element](v T) *array[T] { return &array[T]{data: []T{v}} }

// count is the number of elements of a shape.
func count(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// maxElements bounds what a graph can make of little: Fill, Tile and others take their size from data.
const maxElements = 1 << 27

// allow is an error for a shape that is impossible, or of more elements than most.
func allow(dims []int, most int) error {
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

// integers are the elements of a tensor of int32 or int64 as ints: a shape, axes, indices.
func integers(v value) []int {
	switch a := v.(type) {
	case *array[int32]:
		return convertInts(a.data)
	case *array[int64]:
		return convertInts(a.data)
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
func integer1(v value) (int, error) {
	list := integers(v)
	if len(list) != 1 {
		return 0, fmt.Errorf("has %d elements, wants one", len(list))
	}
	return list[0], nil
}
