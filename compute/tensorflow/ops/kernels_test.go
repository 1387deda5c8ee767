package ops

import (
	"slices"
	"strings"
	"testing"
)

func TestShapesThatDoNotGoTogetherAreAnError(t *testing.T) {
	t.Parallel()
	c := &Call{In: []Value{Vector[float32](1, 2), Vector[float32](1, 2, 3)}, Out: make([]Value, 1), Most: MaxElements}
	if err := pairwise(add[float32])(c); err == nil || !strings.Contains(err.Error(), "[2] and [3]") {
		t.Errorf("error %v doesn't name the shapes", err)
	}
}

func TestShapeOfReshape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, want []int }{ // observed in TensorFlow
		{[]int{6}, []int{-1, 2}, []int{3, 2}},
		{[]int{0, 4}, []int{-1, 4}, []int{0, 4}},
		{[]int{0, 4}, []int{-1, 0}, []int{4, 0}},
		{[]int{0}, []int{-1, 0}, []int{1, 0}},
		{[]int{1}, []int{}, []int{}},
		{[]int{6}, []int{-1, 4}, nil},
		{[]int{6}, []int{-1, -1}, nil},
		{[]int{6}, []int{-2, 3}, nil},
	} {
		got, err := inferShape(tt.from, tt.to)
		if (err != nil) != (tt.want == nil) || !slices.Equal(got, tt.want) {
			t.Errorf("%v as %v is %v, %v; want %v", tt.from, tt.to, got, err, tt.want)
		}
	}
}

func TestSlicesAreAsInPython(t *testing.T) {
	t.Parallel()
	ten := Vector(counting64(10)...)
	for _, tt := range []struct {
		name             string
		s                slicer
		begin, end, step int64
		want             []int64
		dims             int
		isError          bool
	}{
		{name: "[2:5]", begin: 2, end: 5, step: 1, want: []int64{2, 3, 4}, dims: 1},
		{name: "[:3]", s: slicer{begin: 1}, begin: 7, end: 3, step: 1, want: []int64{0, 1, 2}, dims: 1},
		{name: "[-2:]", s: slicer{end: 1}, begin: -2, step: 1, want: []int64{8, 9}, dims: 1},
		{name: "[::-4]", s: slicer{begin: 1, end: 1}, step: -4, want: []int64{9, 5, 1}, dims: 1},
		{name: "[8:2:-3]", begin: 8, end: 2, step: -3, want: []int64{8, 5}, dims: 1},
		{name: "[5:2]", begin: 5, end: 2, step: 1, dims: 1},
		{name: "[-100:100]", begin: -100, end: 100, step: 5, want: []int64{0, 5}, dims: 1},
		{name: "[-1]", s: slicer{shrink: 1}, begin: -1, end: 0, step: 1, want: []int64{9}},
		{name: "[10]", s: slicer{shrink: 1}, begin: 10, end: 11, step: 1, isError: true},
		{name: "[::0]", step: 0, isError: true},
	} {
		start, dims, steps, err := tt.s.view(ten.Dims, []int{int(tt.begin)}, []int{int(tt.end)}, []int{int(tt.step)})
		if (err != nil) != tt.isError {
			t.Errorf("%s: error %v", tt.name, err)
		}
		if err != nil {
			continue
		}
		var got []int64
		for _, p := range places(start, dims, steps) {
			got = append(got, ten.Data[p])
		}
		if !slices.Equal(got, tt.want) || len(dims) != tt.dims {
			t.Errorf("%s is %v of %d dimensions, want %v of %d", tt.name, got, len(dims), tt.want, tt.dims)
		}
	}
}

func counting64(n int) []int64 {
	var list []int64
	for i := range n {
		list = append(list, int64(i))
	}
	return list
}

// A loop that keeps the list of its last pass would see what the next one sets.
func TestSettingLeavesTheOldListAsItWas(t *testing.T) {
	t.Parallel()
	set, err := buildListSet(&Node{In: []DType{Variant, Int32, Float32}})
	if err != nil {
		t.Fatal(err)
	}
	old := &list{elements: make([]Tensor, 1)}
	c := &Call{In: []Value{old, Scalar[int32](0), Scalar[float32](7)}, Out: make([]Value, 1), Most: MaxElements}
	if err := set(c); err != nil {
		t.Fatal(err)
	}
	if old.elements[0] != nil || c.Out[0].(*list).elements[0] == nil {
		t.Errorf("old list %v, new list %v", old.elements, c.Out[0].(*list).elements)
	}
}

// What is computed when a graph is opened must not grow out of numbers that it holds.
func TestALargeFillWaitsForARun(t *testing.T) {
	t.Parallel()
	fill, err := buildFill(&Node{In: []DType{Int32, Float32}})
	if err != nil {
		t.Fatal(err)
	}
	c := &Call{In: []Value{Vector[int32](1<<15, 1<<15), Scalar[float32](0)}, Out: make([]Value, 1), Most: 1 << 16}
	if err := fill(c); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("error %v for a tensor of 4 GiB", err)
	}
}
