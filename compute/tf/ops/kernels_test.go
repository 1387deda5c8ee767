package ops

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

func TestShapesThatDoNotGoTogetherAreAnError(t *testing.T) {
	t.Parallel()
	c := &Call{In: []Value{tensor.Vector[float32](1, 2), tensor.Vector[float32](1, 2, 3)}, Out: make([]Value, 1), Most: tensor.MaxElements}
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
	ten := tensor.Vector(counting64(10)...)
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
		for _, p := range tensor.Offsets(start, dims, steps, nil) {
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
	set, err := buildListSet(&Node{In: []tensor.DType{tensor.Variant, tensor.Int32, tensor.Float32}})
	if err != nil {
		t.Fatal(err)
	}
	old := &list{elements: make([]tensor.Tensor, 1)}
	c := &Call{In: []Value{old, tensor.Scalar[int32](0), tensor.Scalar[float32](7)}, Out: make([]Value, 1), Most: tensor.MaxElements}
	if err := set(c); err != nil {
		t.Fatal(err)
	}
	if old.elements[0] != nil || c.Out[0].(*list).elements[0] == nil {
		t.Errorf("old list %v, new list %v", old.elements, c.Out[0].(*list).elements)
	}
}

// A number in a graph must not make the values that are computed at its opening large.
func TestALargeFillWaitsForARun(t *testing.T) {
	t.Parallel()
	fill, err := buildFill(&Node{In: []tensor.DType{tensor.Int32, tensor.Float32}})
	if err != nil {
		t.Fatal(err)
	}
	c := &Call{In: []Value{tensor.Vector[int32](1<<15, 1<<15), tensor.Scalar[float32](0)}, Out: make([]Value, 1), Most: 1 << 16}
	if err := fill(c); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("error %v for a tensor of 4 GiB", err)
	}
}

// textKernel runs a kernel on a string.
func textKernel(t *testing.T, budget *Budget, k Kernel, s string) (string, error) {
	t.Helper()
	c := &Call{In: []Value{tensor.Vector(s)}, Out: make([]Value, 1), Most: tensor.MaxElements, Budget: budget}
	if err := Do(k, c); err != nil {
		return "", err
	}
	return c.Out[0].(*tensor.Array[string]).Data[0], nil
}

// caseKernels returns those of StringLower and StringUpper.
func caseKernels(t *testing.T, encoding string) (lower, upper Kernel) {
	t.Helper()
	def := &nodepb.NodeDef{Attr: map[string]*attrpb.AttrValue{"encoding": {Value: &attrpb.AttrValue_S{S: []byte(encoding)}}}}
	lower, err := buildLower(&Node{In: []tensor.DType{tensor.String}, Def: def})
	if err != nil {
		t.Fatal(err)
	}
	upper, err = buildUpper(&Node{In: []tensor.DType{tensor.String}, Def: def})
	if err != nil {
		t.Fatal(err)
	}
	return lower, upper
}

func TestCaseOfText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ encoding, in, lower, upper string }{
		{"", "aZ\x00é[`{@", "az\x00é[`{@", "AZ\x00é[`{@"},
		{"utf-8", "", "", ""},
		{"utf-8", "Straße ÄÖÜ", "straße äöü", "STRASSE ÄÖÜ"},
		{"utf-8", "ab\x00CD", "ab", "AB"},
		{"utf-8", "a\xff\x80B", "a\ufffd\ufffdb", "A\ufffd\ufffdB"},
		{"utf-8", "ΟΔΟΣ", "οδος", "ΟΔΟΣ"},
		{"utf-8", "ΟΔΟΣ. ΣΑΣ'Α ΑΣ'", "οδος. σασ'α ας'", "ΟΔΟΣ. ΣΑΣ'Α ΑΣ'"},
		{"utf-8", "Σ ΣΣ 1Σ", "σ σς 1σ", "Σ ΣΣ 1Σ"},
		{"utf-8", "ΐŉİ", "ΐŉi\u0307", "\u0399\u0308\u0301\u02bcNİ"},
	} {
		for _, large := range []int{0, 1, pieceSize - 3, pieceSize - 2, pieceSize - 1, pieceSize, 2*pieceSize - 1} {
			before := strings.Repeat("-", large)
			lower, upper := caseKernels(t, c.encoding)
			if got, err := textKernel(t, nil, lower, before+c.in); err != nil || got != before+c.lower {
				t.Errorf("%q after %d bytes in lower case: %q, %v", c.in, large, strings.TrimLeft(got, "-"), err)
			}
			if got, err := textKernel(t, nil, upper, before+c.in); err != nil || got != before+c.upper {
				t.Errorf("%q after %d bytes in upper case: %q, %v", c.in, large, strings.TrimLeft(got, "-"), err)
			}
		}
	}
	lower, _ := caseKernels(t, "utf-8")
	for _, c := range []struct{ in, want string }{
		{"Α" + strings.Repeat("Σ", pieceSize) + "'", "α" + strings.Repeat("σ", pieceSize-1) + "ς'"},
		{"Α" + strings.Repeat("'", pieceSize) + "Σ", "α" + strings.Repeat("'", pieceSize) + "ς"},
		{"ΑΣ" + strings.Repeat("'", pieceSize) + "Α", "ασ" + strings.Repeat("'", pieceSize) + "α"},
		{strings.Repeat("\x80", 2*pieceSize), strings.Repeat("\ufffd", 2*pieceSize)},
	} {
		if got, err := textKernel(t, nil, lower, c.in); err != nil || got != c.want {
			t.Errorf("%.10q with %d bytes isn't right in lower case: %.20q, %d bytes, %v", c.in, len(c.in), got, len(got), err)
		}
	}
}

// A long string is charged before it is made, and an ended context interrupts it. The test is not
// parallel: it counts what the process allocates.
func TestCaseOfLongTextStaysWithinItsLimits(t *testing.T) {
	for _, encoding := range []string{"", "utf-8"} {
		for name, letter := range map[string]string{"a": "aA", "grows": "ΐ", "sigma": "Σ"} {
			if encoding == "" && name != "a" {
				continue
			}
			lower, upper := caseKernels(t, encoding)
			s := strings.Repeat(letter, 4<<20)
			for k, kernel := range []Kernel{lower, upper} {
				t.Run(fmt.Sprint(encoding, name, k), func(t *testing.T) {
					budget := NewBudget(t.Context(), 1<<20, 1)
					made, err := allocates(func() error { _, err := textKernel(t, budget, kernel, s); return err })
					if !errors.Is(err, ErrLimit) || made > 4<<20 {
						t.Errorf("%d bytes were allocated with a budget of 1 MiB: %v", made, err)
					}
					if budget.Held() > 128 {
						t.Errorf("%d bytes are held", budget.Held())
					}
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					made, err = allocates(func() error { _, err := textKernel(t, NewBudget(ctx, 1<<30, 1), kernel, s); return err })
					if !errors.Is(err, context.Canceled) || made > uint64(len(s))+4<<20 {
						t.Errorf("%d bytes were allocated after the end of the context: %v", made, err)
					}
					budget = NewBudget(t.Context(), 1<<30, 1)
					got, err := textKernel(t, budget, kernel, s)
					if err != nil || budget.Held() < int64(len(got)) || budget.Held() > 3*int64(len(s))+128 {
						t.Errorf("%d bytes are held of a result of %d bytes: %v", budget.Held(), len(got), err)
					}
				})
			}
		}
	}
}

// allocates returns how many bytes a function allocates.
func allocates(f func() error) (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

func TestPaddingIsChargedBefore(t *testing.T) {
	t.Parallel()
	k, err := buildAsString(&Node{In: []tensor.DType{tensor.String}, Def: &nodepb.NodeDef{Attr: map[string]*attrpb.AttrValue{"fill": {Value: &attrpb.AttrValue_S{S: []byte("+")}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := textKernel(t, NewBudget(t.Context(), 3<<20, 1), k, strings.Repeat("x", 1<<20)); !errors.Is(err, ErrLimit) {
		t.Errorf("error %v", err)
	}
	if got, err := textKernel(t, NewBudget(t.Context(), 1<<20, 1), k, "x"); err != nil || got != "+x" {
		t.Errorf("%q, %v", got, err)
	}
}
