package tensorbundle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %v, want one that says %q", err, text)
	}
}

// manyTensors need several blocks of the index.
func manyTensors() []Entry {
	var tensors []Entry
	for i := range 500 {
		tensors = append(tensors, Entry{
			Key: fmt.Sprintf("layer_%d/kernel", i), Value: &tensor.Array[float32]{Dims: []int{1, 2}, Data: []float32{float32(i), -1}},
		})
	}
	return append(tensors, Entry{Key: "note", Value: tensor.Scalar("one\x00two")})
}

func TestBundleReadsWhatItWrote(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "variables")
	if err := Write(prefix, manyTensors()); err != nil {
		t.Fatal(err)
	}
	b, err := Open(prefix)
	if err != nil {
		t.Fatal(err)
	}
	if list := b.Variables(); len(list) != 501 || list[0].DType != "DT_FLOAT" || !slices.Equal(list[0].Shape, []int{1, 2}) {
		t.Errorf("%d variables, first %+v", len(list), list[0])
	}
	for i := range 500 {
		got, exact, err := b.Numbers(fmt.Sprintf("layer_%d/kernel", i))
		if err != nil || !exact || !slices.Equal(got, []float32{float32(i), -1}) {
			t.Fatalf("layer %d: %v, %v", i, got, err)
		}
	}
	notes, err := b.Strings("note")
	if err != nil || len(notes) != 1 || string(notes[0]) != "one\x00two" {
		t.Errorf("note %q, %v", notes, err)
	}
	_, _, err = b.Numbers("missing")
	wantError(t, err, `variable "missing": no such variable`)
	_, _, err = b.Numbers("note")
	wantError(t, err, `variable "note": type DT_STRING is not one of `)
	_, err = b.Strings("layer_1/kernel")
	wantError(t, err, "type is DT_FLOAT, want DT_STRING")
}

func TestEveryFlippedByteIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prefix := filepath.Join(dir, "v")
	if err := Write(prefix, []Entry{{Key: "a", Value: &tensor.Array[float32]{Dims: []int{2}, Data: []float32{1, 2}}}, {Key: "b", Value: tensor.Scalar("text")}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{prefix + ".index", dataFile(prefix, 0, 1)} {
		sound, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sound {
			if name == prefix+".index" && i >= len(sound)-tableFooterSize && i < len(sound)-8 {
				// In the footer only the magic number is checked, and the handles by what they
				// point to.
				continue
			}
			broken := slices.Clone(sound)
			broken[i] ^= 0x10
			if err := os.WriteFile(name, broken, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := readAll(prefix); err == nil {
				t.Errorf("byte %d of %s flipped, nothing noticed", i, filepath.Base(name))
			}
		}
		if err := os.WriteFile(name, sound, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := readAll(prefix); err != nil {
		t.Errorf("sound again, but: %v", err)
	}
}

// readAll reads every variable of types that are read.
func readAll(prefix string) error {
	b, err := Open(prefix)
	if err != nil {
		return err
	}
	return b.readAll()
}

func (b *Bundle) readAll() error {
	for _, v := range b.Variables() {
		_, _, err := b.Numbers(v.Key)
		if v.DType == "DT_STRING" {
			_, err = b.Strings(v.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestTruncatedDataNamesTheFile(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "v")
	if err := Write(prefix, manyTensors()); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(dataFile(prefix, 0, 1), 100); err != nil {
		t.Fatal(err)
	}
	wantError(t, readAll(prefix), "v.data-00000-of-00001, which has 100")
}

func TestBundleOfKerasIsRead(t *testing.T) {
	t.Parallel()
	b, err := Open(filepath.Join("testdata", "penguin", "variables"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.readAll(); err != nil {
		t.Fatal(err)
	}
	kernel, _, err := b.Numbers("_operations/5/_kernel/.ATTRIBUTES/VARIABLE_VALUE")
	if err != nil || len(kernel) != 32 || kernel[0] != -0.8915463 {
		t.Errorf("kernel of the hidden layer: %v, %v; TensorFlow reads 32 values, first -0.8915463", kernel, err)
	}
	step, _, err := b.Numbers("optimizer/_iterations/.ATTRIBUTES/VARIABLE_VALUE")
	if err != nil || !slices.Equal(step, []float32{100}) {
		t.Errorf("optimizer's step: %v, %v; TensorFlow reads 100", step, err)
	}
	graph, err := b.Objects()
	if err != nil || len(graph.GetNodes()) == 0 || graph.GetNodes()[0].GetChildren()[0].GetLocalName() == "" {
		t.Errorf("object graph: %v, %v", graph, err)
	}
}

func TestTensorsAreReadInTheTypeTheyWereWrittenIn(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "variables")
	var entries []Entry
	for key, value := range map[string]tensor.Tensor{
		"double": tensor.Vector(1.25, -3), "flags": tensor.Vector(true, false), "step": tensor.Scalar[int64](1 << 60), "none": tensor.Vector[int32](),
		"words": &tensor.Array[string]{Dims: []int{1, 3}, Data: []string{"one", "", "thr\x00ee"}},
	} {
		entries = append(entries, Entry{Key: key, Value: value})
	}
	if err := Write(prefix, entries); err != nil {
		t.Fatal(err)
	}
	b, err := Open(prefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if got, err := b.Tensor(e.Key); err != nil || fmt.Sprint(got) != fmt.Sprint(e.Value) || got.DType() != e.Value.DType() {
			t.Errorf("%s is %v, %v; want %v", e.Key, got, err, e.Value)
		}
	}
	_, err = b.Tensor("missing")
	wantError(t, err, "no such variable")
}
