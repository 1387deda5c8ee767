package tflite_test

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/run.py
var runScript string

// call is one run of a model, in every runtime.
type call struct {
	Model  []byte           `json:"model"`
	Inputs map[string]array `json:"inputs"`
}

// array is a tensor on its way to Python or back: bytes, since JSON has neither NaN nor all of an
// int64.
type array struct {
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
	Data  []byte `json:"data"`
}

// answer is what one runtime gave, by output.
type answer map[string]array

// runAll runs the calls and returns for each what every runtime answered.
func runAll(t *testing.T, calls []call) []map[string]answer {
	t.Helper()
	var answers []map[string]answer
	tftest.Run(t, runScript, calls, &answers)
	return answers
}

// runAllLive is runAll of models that differ from processor to processor, by what rounding makes of
// their weights or scales.
func runAllLive(t *testing.T, calls []call) []map[string]answer {
	t.Helper()
	var answers []map[string]answer
	tftest.RunLive(t, runScript, calls, &answers)
	return answers
}

// written returns the file of a model.
func written(t *testing.T, g *nn.Graph, o tflite.Options) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.tflite")
	if err := tflite.Write(path, g, o); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func arrays(rows map[string]nn.Value) map[string]array {
	all := map[string]array{}
	for name, v := range rows {
		all[name] = arrayOf(v)
	}
	return all
}

func arrayOf(v nn.Value) array {
	if v.Kind == nn.String {
		a := array{Type: "string", Shape: []int{len(v.Strings) / v.Width, v.Width}}
		for _, x := range v.Strings {
			a.Data = append(append(a.Data, x...), 0)
		}
		return a
	}
	if v.Kind == nn.Int64 {
		a := array{Type: "int64", Shape: []int{len(v.Ints) / v.Width, v.Width}}
		for _, x := range v.Ints {
			a.Data = binary.LittleEndian.AppendUint64(a.Data, uint64(x))
		}
		return a
	}
	a := array{Type: "float32", Shape: []int{len(v.Floats) / v.Width, v.Width}}
	for _, x := range v.Floats {
		a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(x))
	}
	return a
}

func (a array) floats() []float32 {
	values := make([]float32, len(a.Data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:]))
	}
	return values
}

func (a array) int64s() []int64 {
	values := make([]int64, len(a.Data)/8)
	for i := range values {
		values[i] = int64(binary.LittleEndian.Uint64(a.Data[8*i:]))
	}
	return values
}

// apart returns how far a is from b: absolute for numbers within 1, relative beyond. Equal
// infinities, and NaN and NaN, are not apart; the largest float32 counts as infinity, since the
// reference kernels cut results off there.
func apart(a, b float32) float64 {
	x, y := float64(a), float64(b)
	if math.Abs(x) == math.MaxFloat32 {
		x = math.Copysign(math.Inf(1), x)
	}
	if x == y || math.IsNaN(x) && math.IsNaN(y) {
		return 0
	}
	d := math.Abs(x-y) / max(1, math.Abs(y))
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}

// checkClose checks that every runtime answers want, within the tolerance.
func checkClose(t *testing.T, got map[string]answer, want map[string]nn.Value, tolerance float64) {
	t.Helper()
	if len(got) == 0 {
		t.Error("no runtime answered")
	}
	for runtime, outputs := range got {
		if len(outputs) != len(want) {
			t.Errorf("%s: outputs %v, want %d", runtime, outputs, len(want))
		}
		for name, w := range want {
			checkOutput(t, runtime+", output "+name, outputs[name], w, tolerance)
		}
	}
}

func checkOutput(t *testing.T, what string, got array, want nn.Value, tolerance float64) {
	t.Helper()
	a := arrayOf(want)
	if got.Type != a.Type || !slices.Equal(got.Shape, a.Shape) {
		t.Errorf("%s: %s %v, want %s %v", what, got.Type, got.Shape, a.Type, a.Shape)
		return
	}
	if want.Kind == nn.String {
		if !bytes.Equal(got.Data, a.Data) {
			t.Errorf("%s: %q, want %q", what, got.Data, a.Data)
		}
		return
	}
	if want.Kind == nn.Int64 {
		for i, x := range got.int64s() {
			if x != want.Ints[i] {
				t.Errorf("%s, element %d: %d, want %d", what, i, x, want.Ints[i])
				return
			}
		}
		return
	}
	for i, x := range got.floats() {
		if apart(x, want.Floats[i]) > tolerance {
			t.Errorf("%s, element %d: %v, want %v", what, i, x, want.Floats[i])
			return
		}
	}
}
