package onnx_test

import (
	_ "embed"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/run.py
var runScript string

// modelCase is a graph with rows to run it on.
type modelCase struct {
	name  string
	graph *nn.Graph
	rows  map[string]nn.Value
}

// answer is the output of run.py for one.
type answer struct {
	Outputs  map[string][]tftest.Number
	Shapes   map[string][]int
	Empty    map[string][]int
	Declared map[string][]string
	Docs     map[string]string
	Metadata map[string]string
}

// sent is a value in the form that run.py reads.
type sent struct {
	Kind     string   `json:"kind"`
	Width    int      `json:"width"`
	Elements []string `json:"elements"`
}

func send(v nn.Value) sent {
	s := sent{Kind: v.Kind.String(), Width: v.Width, Elements: []string{}}
	for _, x := range v.Floats {
		s.Elements = append(s.Elements, strconv.FormatFloat(float64(x), 'g', -1, 32))
	}
	for _, x := range v.Ints {
		s.Elements = append(s.Elements, strconv.FormatInt(x, 10))
	}
	for _, x := range v.Strings {
		s.Elements = append(s.Elements, string(x))
	}
	return s
}

// tolerance is absolute up to 1 and relative above: both sides compute in float32, but add up
// products in another order, and ONNX Runtime takes tanh and sigmoid from rational approximations
// good to some 1e-7.
const tolerance = 1e-5

// runInONNXRuntime writes each graph, has the onnx package check the file, and compares what ONNX
// Runtime answers with what nn does.
func runInONNXRuntime(t *testing.T, cases []modelCase) []answer {
	t.Helper()
	type request struct {
		Path   string          `json:"path"`
		Inputs map[string]sent `json:"inputs"`
	}
	var requests []request
	for i, c := range cases {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.onnx", i))
		if err := onnx.Write(path, c.graph, nil); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		r := request{path, map[string]sent{}}
		for _, in := range c.graph.Inputs {
			r.Inputs[in.Name] = send(c.rows[in.Name])
		}
		requests = append(requests, r)
	}
	var answers []answer
	tftest.Run(t, runScript, requests, &answers)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) { compare(t, c, answers[i]) })
	}
	return answers
}

func compare(t *testing.T, c modelCase, got answer) {
	t.Helper()
	want, err := nn.Eval(c.graph, c.rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range c.graph.Outputs {
		w := numbers(want[out.Name])
		if diff := cmp.Diff([]int{len(w) / out.Width, out.Width}, got.Shapes[out.Name]); diff != "" {
			t.Errorf("shape of %s: want - got +\n%s", out.Name, diff)
		}
		if diff := cmp.Diff([]int{0, out.Width}, got.Empty[out.Name]); diff != "" {
			t.Errorf("shape of %s for no rows: want - got +\n%s", out.Name, diff)
		}
		if diff := cmp.Diff([]string{"batch", strconv.Itoa(out.Width)}, got.Declared[out.Name]); diff != "" {
			t.Errorf("declared shape of %s: want - got +\n%s", out.Name, diff)
		}
		near(t, out.Name, w, got.Outputs[out.Name])
	}
}

func near(t *testing.T, what string, want []float64, got []tftest.Number) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d values, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		g := float64(got[i])
		if !(g == w || math.Abs(g-w) <= tolerance*max(1, math.Abs(w)) || math.IsNaN(g) && math.IsNaN(w)) {
			t.Errorf("%s[%d] = %v, want %v", what, i, g, w)
		}
	}
}

func numbers(v nn.Value) []float64 {
	var all []float64
	for _, x := range v.Floats {
		all = append(all, float64(x))
	}
	for _, x := range v.Ints {
		all = append(all, float64(x))
	}
	return all
}
