package transform

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// golden is what TensorFlow made of the rows, in batches, with a graph of testdata/functions.py.
type golden struct {
	Features    []string // the raw features that the graph takes
	Transformed [][]byte // the first rows as Transform writes them, none if one of them is an error
	Batches     []struct {
		Rows    []int
		Error   string
		Outputs map[string][]goldenTensor
	}
}

// goldenTensor is a tensor as generate.py wrote it.
type goldenTensor struct {
	Type  string `json:"dtype"`
	Shape []int
	Data  json.RawMessage // the bytes in base64; of strings a list of those
}

// maxDistance is how many float32s may be between ours and TensorFlow's. Addition, division and the
// like have only one result; exp, log and similar functions are polynomials there, of which each
// step is rounded.
const maxDistance = 4

// magnitudes are the largest numbers that some outputs are differences of. An error in those
// doesn't get smaller by subtracting.
var magnitudes = map[string]float32{
	"pca/v":                      100, // a sum of products of which one is up to 100
	"covariance/v":               100,
	"scale_by_min_max_per_key/x": 2, // 4 sigmoid(x) - 2
	"transcendental/elu":         1, // exp(x) - 1
	"more_functions/selu":        2, // 1.76 exp(x) - 1.76
}

// graphs is the directory of the graphs.
var graphs = filepath.Join("testdata", "graphs")

// unpack puts the artifact of a graph into a folder.
func unpack(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	archive, err := zip.OpenReader(filepath.Join(graphs, name+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := os.CopyFS(dir, archive); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openGolden(t testing.TB, name string) (*Graph, golden) {
	t.Helper()
	g, err := Open(unpack(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return g, readGolden(t, graphs, name)
}

func readGolden(t testing.TB, dir, name string) golden {
	t.Helper()
	var want golden
	if err := json.Unmarshal(unpacked(t, dir, name, "golden.json"), &want); err != nil {
		t.Fatal(err)
	}
	return want
}

// unpacked returns one file of a graph's archive.
func unpacked(t testing.TB, dir, name, file string) []byte {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join(dir, name+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	data, err := fs.ReadFile(archive, file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// goldenRows returns the serialized examples that every graph was run on.
func goldenRows(t testing.TB) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(graphs, "rows.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]byte
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func goldenNames(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.zip"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d graphs in testdata: %v", len(files), err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".zip"))
	}
	return names
}

func TestGraphsAnswerAsInTensorFlow(t *testing.T) {
	t.Parallel()
	rows := goldenRows(t)
	for _, name := range goldenNames(t, graphs) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, want := openGolden(t, name)
			compareGolden(t, name, g, rows, want)
		})
	}
}

// compareGolden runs the graph on the batches that TensorFlow had. If that has an error, an error
// is expected.
func compareGolden(t *testing.T, name string, g *Graph, rows [][]byte, want golden) {
	t.Helper()
	for _, batch := range want.Batches {
		var records [][]byte
		for _, r := range batch.Rows {
			records = append(records, rows[r])
		}
		raw, err := example.Parse(g.Raw(), records...)
		if err != nil {
			t.Fatal(err)
		}
		f := g.program.Frame()
		err = g.run(t.Context(), f, raw)
		switch {
		case batch.Error != "" && err == nil:
			t.Errorf("rows %v: no error, TensorFlow has: %s", batch.Rows, batch.Error)
		case batch.Error == "" && err != nil:
			t.Errorf("rows %v: %v", batch.Rows, err)
		case err == nil:
			compareOutputs(t, name, g, f, batch.Rows, batch.Outputs)
		}
		f.Release()
	}
}

// Run returns the same as reading Transform's own transformed examples.
func TestBatchIsAsTransformedExamplesAreRead(t *testing.T) {
	t.Parallel()
	rows := goldenRows(t)
	for _, name := range goldenNames(t, graphs) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, golden := openGolden(t, name)
			if golden.Transformed == nil && name != "to_number" {
				t.Fatal("no transformed examples")
			}
			want, err := example.Parse(g.Spec(), golden.Transformed...)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := example.Parse(g.Raw(), rows[:len(golden.Transformed)]...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Run(raw, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time in memory that was used
				for i := range want.Columns {
					compareColumn(t, &got.Columns[i], &want.Columns[i])
				}
				if got, err = g.Run(raw, got); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func compareColumn(t *testing.T, got, want *example.Column) {
	t.Helper()
	near := func(a, b float32) bool { return distance(a, b) <= maxDistance }
	if !slices.Equal(got.Offsets, want.Offsets) || !slices.EqualFunc(got.Floats, want.Floats, near) || !slices.Equal(got.Ints, want.Ints) ||
		!slices.Equal(got.Data, want.Data) || !slices.Equal(got.Ends, want.Ends) {
		t.Errorf("column %s is %v, want %v", want.Feature.Name, *got, *want)
	}
}

func compareOutputs(t *testing.T, name string, g *Graph, f *graph.Frame, rows []int, want map[string][]goldenTensor) {
	t.Helper()
	at := 0
	for _, out := range g.outputs {
		tensors := want[out.Name]
		if len(tensors) != out.Tensors() {
			t.Fatalf("feature %s has %d tensors, want %d", out.Name, out.Tensors(), len(tensors))
		}
		for i, w := range tensors {
			got := f.Result(at)
			at++
			if diff := w.compare(got, magnitudes[name+"/"+out.Name]); diff != "" {
				t.Errorf("feature %s, tensor %d, rows %v: %s", out.Name, i, rows, diff)
			}
		}
	}
}

// compare wants integers and strings equal, floats within 4 units in the last place: their own, or
// that of a magnitude.
func (w goldenTensor) compare(got tensor.Tensor, magnitude float32) string {
	if !slices.Equal(got.Shape(), w.Shape) {
		return fmt.Sprintf("shape %v, want %v", got.Shape(), w.Shape)
	}
	switch a := got.(type) {
	case *tensor.Array[string]:
		var list [][]byte
		if err := json.Unmarshal(w.Data, &list); err != nil {
			return err.Error()
		}
		for i, v := range list {
			if a.Data[i] != string(v) {
				return fmt.Sprintf("[%d] = %q, want %q", i, a.Data[i], v)
			}
		}
		return ""
	case *tensor.Array[float32]:
		want := make([]float32, len(a.Data))
		if err := w.decode(want); err != nil {
			return err.Error()
		}
		for i, v := range want {
			unit := math.Nextafter32(magnitude, math.MaxFloat32) - magnitude
			if d := distance(a.Data[i], v); d > maxDistance && !(math.Abs(float64(a.Data[i]-v)) <= maxDistance*float64(unit)) {
				return fmt.Sprintf("[%d] = %v, want %v: %v units in the last place", i, a.Data[i], v, d)
			}
		}
		return ""
	case *tensor.Array[int64]:
		want := make([]int64, len(a.Data))
		if err := w.decode(want); err != nil {
			return err.Error()
		}
		for i, v := range want {
			if a.Data[i] != v {
				return fmt.Sprintf("[%d] = %v, want %v", i, a.Data[i], v)
			}
		}
		return ""
	}
	return fmt.Sprintf("type %v, want %v", got.DType(), w.Type)
}

func (w goldenTensor) decode(to any) error {
	var data []byte
	if err := json.Unmarshal(w.Data, &data); err != nil {
		return err
	}
	if want := binary.Size(to); len(data) != want {
		return fmt.Errorf("%d bytes, want %d of %v", len(data), want, w.Type)
	}
	return binary.Read(bytes.NewReader(data), binary.LittleEndian, to)
}

// distance returns how many float32s are between two, 0 for two NaNs.
func distance(a, b float32) float64 {
	if a == b || a != a && b != b || isNothing(a) && isNothing(b) {
		return 0
	}
	if a != a || b != b || math.IsInf(float64(a), 0) != math.IsInf(float64(b), 0) {
		return math.Inf(1)
	}
	return math.Abs(float64(ordinal(a)) - float64(ordinal(b)))
}

// isNothing holds for 0 and what TensorFlow takes for it.
func isNothing(f float32) bool { return math.Abs(float64(f)) < 0x1p-126 }

// ordinal numbers the float32s in their order.
func ordinal(f float32) int64 {
	if bits := math.Float32bits(f); bits>>31 == 0 {
		return int64(bits)
	} else {
		return -int64(bits &^ (1 << 31))
	}
}
