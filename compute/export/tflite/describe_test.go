package tflite

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// small returns a file of one of each: float32 and int64 inputs, a layer, a table, notes.
func small(t testing.TB) []byte {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	ids := b.Clamp("id", b.Input("town", nn.Int64, 1), 4)
	x := b.Concat("x", b.Input("size", nn.Float32, 2), b.Embedding("towns", ids, 4, 3))
	b.Output("y", b.Dense("layer", x, 2, nn.OpRelu))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	f, err := lower(g, Options{Notes: []byte(`{"inputs":[]}`)})
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAFileIsDescribed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "model.tflite")
	if err := os.WriteFile(path, small(t), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Describe(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Description{
		Text: "Written by Stoker. What to feed is said in metadata inputs.json.",
		Inputs: []TensorInfo{
			{Name: "town", Type: "int64", Shape: []int32{-1, 1}}, {Name: "size", Type: "float32", Shape: []int32{-1, 2}},
		},
		Outputs:    []TensorInfo{{Name: "y", Type: "float32", Shape: []int32{-1, 2}}},
		Signatures: []string{"serving_default"},
		Ops: map[string]int{"GREATER_EQUAL": 1, "LESS": 1, "LOGICAL_AND": 1, "SELECT_V2": 1, "GATHER": 1, "RESHAPE": 1,
			"CONCATENATION": 1, "FULLY_CONNECTED": 1},
		Tensors:   16,
		DataBytes: 4*(12+10+2) + 2*8 + 2*4,
		Notes:     `{"inputs":[]}`,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(TensorInfo{})); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

// Constants begin at multiples of 16: runtimes use them in place, with wide loads.
func TestConstantsAreAligned(t *testing.T) {
	t.Parallel()
	data := small(t)
	r := newReader(bytes.NewReader(data), int64(len(data)))
	r.table(r.follow(0)).vector(modelBuffers, 4).tables(func(i int, b table) bool {
		if at := b.field(bufferData); at != 0 && b.span(at, 1).at%dataAlignment != 0 {
			t.Errorf("buffer %d begins at %d", i, b.span(at, 1).at)
		}
		return true
	})
	if r.err != nil {
		t.Error(r.err)
	}
}

func TestWhatIsNoModelIsAnError(t *testing.T) {
	t.Parallel()
	whole := small(t)
	r := newReader(bytes.NewReader(whole), int64(len(whole)))
	model := r.table(r.follow(0))
	changed := func(at int64, number uint32) []byte {
		data := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(data[at:], number)
		return data
	}
	var graph, op table
	model.vector(modelSubgraphs, 4).tables(func(_ int, t table) bool { graph = t; return false })
	graph.vector(subgraphOperators, 4).tables(func(i int, t table) bool { op = t; return i < 2 })
	outputs, text := graph.vector(subgraphOutputs, 4), r.follow(model.field(modelDescription))
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"an empty file", "ends before offset 8", nil},
		{"another format", "is not marked TFL3", []byte("PK\x03\x04 and so on")},
		{"half a file", "ends before offset", append(bytes.Clone(whole[:8]), whole[len(whole)-4:]...)},
		{"another version", "has version 4 of the schema, expected 3", changed(model.field(modelVersion), 4)},
		{"a text longer than the file", "a list of 4294967295 elements begins at offset", changed(text, 1<<32-1)},
		{"an operator of no kind", "operator 2 is of kind 99, there are 8 kinds", changed(op.field(operatorOpCode), 99)},
		{"a negative kind", "operator 2 is of kind -1, there are 8 kinds", changed(op.field(operatorOpCode), 1<<32-1)},
		{"an output that is no tensor", "tensor 16 is an input or output, there are 16 tensors", changed(outputs.at, 16)},
		{"no outputs", "it has no outputs", changed(outputs.at-4, 0)},
	} {
		_, err := describe(bytes.NewReader(c.data), int64(len(c.data)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want one with %q", c.name, err, c.want)
		}
	}
}

// A vector may claim any length, and many may share their elements: no memory is allocated for
// that.
func TestPartsThatOverlapAreRefused(t *testing.T) {
	t.Parallel()
	r := newReader(bytes.NewReader(make([]byte, 100)), 100)
	r.spend(100)
	if r.err != nil {
		t.Fatal(r.err)
	}
	if r.spend(1); r.err == nil {
		t.Error("more was read than the file holds")
	}
}

// The names of operators and types are those that TensorFlow's own copy of the schema has.
func TestNamesAreTheSchemas(t *testing.T) {
	t.Parallel()
	var got struct{ Ops, Types []string }
	tftest.Run(t, `
import importlib.util, os
def check(_):
    path = os.path.join(os.path.dirname(tf.__file__), "lite", "python", "schema_py_generated.py")
    spec = importlib.util.spec_from_file_location("schema", path)
    schema = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(schema)
    def names(enum):
        values = {v: k for k, v in vars(enum).items() if k[0].isupper()}
        return [values[i] for i in range(max(values) + 1)]
    return {"Ops": names(schema.BuiltinOperator), "Types": [n.lower() for n in names(schema.TensorType)]}
`, nil, &got)
	if !slices.Equal(got.Ops, builtinNames) {
		t.Errorf("operators: %s", cmp.Diff(got.Ops, builtinNames))
	}
	if !slices.Equal(got.Types, typeNames) {
		t.Errorf("types: %s", cmp.Diff(got.Types, typeNames))
	}
	if builtinNames[customCode] != "CUSTOM" {
		t.Errorf("code %d is %s", customCode, builtinNames[customCode])
	}
}

// A vocabulary of a million words makes long notes: they are no reason to refuse the file.
func TestLongNotesAreLeftOut(t *testing.T) {
	t.Parallel()
	f := file{notes: make([]byte, 40<<20)}
	f.outputs = []port{{"y", f.add(tensor{name: "y", shape: []int32{-1, 1}})}}
	data, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	d, err := describe(bytes.NewReader(data), int64(len(data)))
	if err != nil || d.Notes != "" || d.DataBytes != 0 {
		t.Errorf("%d bytes of notes, %d of data, %v", len(d.Notes), d.DataBytes, err)
	}
}

// A file can't be larger than its offsets reach. The constants of this one share their bytes, which
// is all the memory there is.
func TestAFileThatWouldBeTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	f := file{}
	megabyte := make([]byte, 1<<20)
	for range maxBytes/len(megabyte) + 1 {
		f.add(tensor{data: megabyte})
	}
	want := "constants of 1074790400 bytes, at most 1073741824 can be written"
	if _, err := f.encode(); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add(small(f))
	f.Add([]byte("\x08\x00\x00\x00TFL3"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := describe(bytes.NewReader(data), int64(len(data)))
		if err == nil && len(d.Outputs) == 0 {
			t.Error("no error, and no outputs")
		}
	})
}
