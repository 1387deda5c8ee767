package tensor

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"unsafe"

	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
)

// Tensor is a dense, row-major tensor of any element type: always an *Array. A scalar has no
// dimensions, a dimension of 0 makes a tensor without elements. Once a tensor has been handed to
// another function its elements and shape must not change, so that goroutines may share it without
// locks; only the function that made the tensor may call the methods that write.
//
// Two tensors of one call to CopyFrom, Gather, Scatter or Fill have the same element type; these
// methods panic otherwise.
type Tensor interface {
	DType() DType
	Shape() []int // must not be changed
	Size() int    // the number of elements

	// As returns the same elements in another shape of the same size. It copies no elements.
	As(dims []int) Tensor

	// Reuse returns a tensor of this element type and the given shape, in the memory of old if old
	// is an *Array of the same type. Its elements have any value.
	Reuse(old any, dims []int) Tensor

	// CopyFrom sets count elements, from at on, to those of from, from start on.
	CopyFrom(at int, from Tensor, start, count int)

	// Gather sets element at+i to element offsets[i] of from.
	Gather(at int, from Tensor, offsets []int)

	// Scatter is the inverse of Gather: it sets element offsets[i] to element start+i of from.
	Scatter(from Tensor, start int, offsets []int)

	// Fill sets all elements to the one of from at offset.
	Fill(from Tensor, offset int)

	// Zero sets all elements to 0, false or "".
	Zero()

	// ElementBytes is the size of an element in memory, without the bytes of a string.
	ElementBytes() int64
}

// Array is a tensor with elements of type T.
type Array[T Element] struct {
	Dims []int // sizes of the dimensions; none for a scalar
	Data []T   // row major; its length is the product of Dims
}

// New returns a tensor of that shape, which keeps data. It returns an error if data doesn't fill
// the shape.
func New[T Element](shape []int, data []T) (*Array[T], error) {
	if len(data) != Count(shape) || slices.Min(append(slices.Clone(shape), 0)) < 0 {
		return nil, fmt.Errorf("%d values for shape %v", len(data), shape)
	}
	return &Array[T]{Dims: slices.Clone(shape), Data: data}, nil
}

// Vector returns data as a tensor of one dimension.
func Vector[T Element](data ...T) *Array[T] { return &Array[T]{Dims: []int{len(data)}, Data: data} }

// Scalar returns v as a tensor without dimensions.
func Scalar[T Element](v T) *Array[T] { return &Array[T]{Data: []T{v}} }

// Reuse returns an array of that shape, in the memory of old if old is an *Array of the same type.
// Its elements have any value.
func Reuse[T Element](old any, dims ...int) *Array[T] {
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

// Values returns the elements of t, row major, and whether they are of type T.
func Values[T Element](t Tensor) ([]T, bool) {
	a, ok := t.(*Array[T])
	if !ok {
		return nil, false
	}
	return a.Data, true
}

// DType returns the element type.
func (a *Array[T]) DType() DType { return TypeOf[T]() }

// Shape returns Dims.
func (a *Array[T]) Shape() []int { return a.Dims }

// Size returns the number of elements.
func (a *Array[T]) Size() int { return len(a.Data) }

// As implements Tensor.
func (a *Array[T]) As(dims []int) Tensor { return &Array[T]{Dims: dims, Data: a.Data} }

// Reuse implements Tensor.
func (a *Array[T]) Reuse(old any, dims []int) Tensor { return Reuse[T](old, dims...) }

// CopyFrom implements Tensor.
func (a *Array[T]) CopyFrom(at int, from Tensor, start, count int) {
	copy(a.Data[at:at+count], from.(*Array[T]).Data[start:start+count])
}

// Gather implements Tensor.
func (a *Array[T]) Gather(at int, from Tensor, offsets []int) {
	data, to := from.(*Array[T]).Data, a.Data[at:]
	for i, p := range offsets {
		to[i] = data[p]
	}
}

// Scatter implements Tensor.
func (a *Array[T]) Scatter(from Tensor, start int, offsets []int) {
	data := from.(*Array[T]).Data[start:]
	for i, p := range offsets {
		a.Data[p] = data[i]
	}
}

// Fill implements Tensor.
func (a *Array[T]) Fill(from Tensor, offset int) {
	v := from.(*Array[T]).Data[offset]
	for i := range a.Data {
		a.Data[i] = v
	}
}

// Zero implements Tensor.
func (a *Array[T]) Zero() { clear(a.Data) }

// ElementBytes implements Tensor.
func (a *Array[T]) ElementBytes() int64 { return BytesOf[T]() }

// BytesOf returns the size of an element of type T in memory, without the bytes of a string.
func BytesOf[T Element]() int64 {
	var zero T
	return int64(unsafe.Sizeof(zero))
}

// Copy returns a copy of t in memory of its own.
func Copy(t Tensor) Tensor {
	c := t.Reuse(nil, t.Shape())
	c.CopyFrom(0, t, 0, t.Size())
	return c
}

// Slice returns a copy of the box of t that begins at start, or an error if the box isn't within t.
func Slice(t Tensor, start, size []int) (Tensor, error) {
	shape, steps, first := t.Shape(), Strides(t.Shape()), 0
	if len(start) != len(shape) || len(size) != len(shape) {
		return nil, fmt.Errorf("a part at %v of size %v isn't one of shape %v", start, size, shape)
	}
	for i, d := range shape {
		if start[i] < 0 || size[i] < 0 || start[i] > d || size[i] > d-start[i] {
			return nil, fmt.Errorf("a part at %v of size %v isn't in shape %v", start, size, shape)
		}
		first += start[i] * steps[i]
	}
	part := t.Reuse(nil, size)
	part.Gather(0, t, Offsets(first, size, steps, nil))
	return part, nil
}

// Reordered returns a vector whose element i is element order[i] of t.
func Reordered(t Tensor, order []int) Tensor {
	moved := t.Reuse(nil, t.Shape())
	moved.Gather(0, t, order)
	return moved
}

// Count returns the number of elements of a shape.
func Count(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// Strides returns the distance between neighbors along each dimension, in elements.
func Strides(dims []int) []int {
	steps := make([]int, len(dims))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		steps[i] = step
		step *= dims[i]
	}
	return steps
}

// Offsets returns the offsets of the elements of a view in row-major order: a view of shape dims
// with a step along each dimension, whose first element is at start. If tick isn't nil, it is
// called with the number of offsets that come next.
func Offsets(start int, dims, steps []int, tick func(elements int)) []int {
	list := make([]int, Count(dims))
	if len(list) == 0 {
		return list
	}
	list[0] = start
	for filled, d := 1, len(dims)-1; d >= 0; d-- {
		for k := 1; k < dims[d]; k++ { // repeat what is filled, k steps further
			if tick != nil {
				tick(filled)
			}
			for i := range filled {
				list[k*filled+i] = list[i] + k*steps[d]
			}
		}
		filled *= dims[d]
	}
	return list
}

// Integers returns the elements of an int32 or int64 tensor as ints, such as a shape, axes or
// indices; nil of any other value.
func Integers(v any) []int {
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

// Bytes returns the elements of t as bytes, little endian and row major, in pieces that are valid
// until the next one. It yields nothing for strings.
func Bytes(t Tensor) iter.Seq[[]byte] {
	switch a := t.(type) {
	case *Array[float32]:
		return encode(a.Data)
	case *Array[float64]:
		return encode(a.Data)
	case *Array[int8]:
		return encode(a.Data)
	case *Array[int16]:
		return encode(a.Data)
	case *Array[int32]:
		return encode(a.Data)
	case *Array[int64]:
		return encode(a.Data)
	case *Array[uint8]:
		return encode(a.Data)
	case *Array[uint16]:
		return encode(a.Data)
	case *Array[uint32]:
		return encode(a.Data)
	case *Array[uint64]:
		return encode(a.Data)
	case *Array[bool]:
		return encode(a.Data)
	}
	return func(func([]byte) bool) {}
}

func encode[T Element](data []T) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var piece []byte
		for part := range slices.Chunk(data, 4096) {
			// No error for elements of fixed size.
			piece, _ = binary.Append(piece[:0], binary.LittleEndian, part)
			if !yield(piece) {
				return
			}
		}
	}
}

// MaxElements limits the tensors that a graph can make from little data: Fill, Tile and others take
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
