package inspect_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
)

// records writes a file of records.
func records(t testing.TB, path string, all ...[]byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := tfrecord.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range all {
		if err := w.Append(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRowsAreReadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b example.Builder
	one := b.Float("x", float32(math.NaN()), float32(math.Inf(1)), 0.1).Bytes("image", []byte{0xff, 0xd8}).String("name\x1b[31m", "a\x1b[2Jb").Int64("none").Build()
	records(t, filepath.Join(dir, "data"), one, nil)
	r := look(t, dir, inspect.Options{Rows: 2})
	split := r.Examples.Splits[0]
	if split.Payload != "tf.Example" || split.Compression != "none" || split.Records != 2 || split.Name != "" {
		t.Errorf("split: %+v", split)
	}
	text, err := json.Marshal(split.Rows)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"image":["base64:/9g="],"name\u001b[31m":["base64:YRtbMkpi"],"none":[],"x":["NaN","Infinity",0.1]},{}]`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	out := printed(r)
	for _, cell := range []string{"[NaN, Infinity, 0.1]", `name\x1b[31m`, "(absent)", "1 of 2"} {
		if !strings.Contains(out, cell) {
			t.Errorf("no %s in\n%s", cell, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("a file's control characters reach the terminal")
	}
}

func TestASequenceExampleIsDistinguishedFromAnExample(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	number := func(n int64) *examplepb.Feature {
		return &examplepb.Feature{Kind: &examplepb.Feature_Int64List{Int64List: &examplepb.Int64List{Value: []int64{n, n}}}}
	}
	data, err := proto.Marshal(&examplepb.SequenceExample{
		Context: &examplepb.Features{Feature: map[string]*examplepb.Feature{"id": number(1)}},
		FeatureLists: &examplepb.FeatureLists{FeatureList: map[string]*examplepb.FeatureList{
			"clicks": {Feature: []*examplepb.Feature{number(2), number(3)}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	records(t, filepath.Join(dir, "Split-train", "data.gz"), data)
	r := look(t, dir, inspect.Options{Rows: 1})
	split := r.Examples.Splits[0]
	text, err := json.Marshal(split.Rows[0])
	if err != nil {
		t.Fatal(err)
	}
	if split.Payload != "tf.SequenceExample" || string(text) != `{"clicks":[[2,2],[3,3]],"id":[1,1]}` {
		t.Errorf("%s: %s", split.Payload, text)
	}
	if out := printed(r); !strings.Contains(out, "int64, sequence") || !strings.Contains(out, "[[2, 2]; [3, 3]]") {
		t.Errorf("printed:\n%s", out)
	}
}

func TestOtherRecordsAreCountedAndNotTakenForExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	records(t, filepath.Join(dir, "Split-train", "data.gz"), []byte("hello"), []byte("world"))
	split := look(t, dir, inspect.Options{Rows: 1}).Examples.Splits[0]
	if split.Payload != "unknown" || split.Records != 2 || len(split.Features) != 0 {
		t.Errorf("split: %+v", split)
	}
}

// Estimators left their model in export/<exporter>/<number>, within Format-Serving or, in older
// versions, in the artifact's own directory.
func TestAnEstimatorsModelIsFound(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"Format-Serving/export/chicago-taxi/1546300800", "export/chicago-taxi/1546300800"} {
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(artifacts["penguin-saved-model"])); err != nil {
			t.Fatal(err)
		}
		r := look(t, dir, inspect.Options{})
		if r.Kind != inspect.KindModel || len(r.Model.Formats) != 1 || r.Model.Formats[0].SavedModel == nil {
			t.Fatalf("%s: kind %s, %+v", folder, r.Kind, r.Model)
		}
		if m := r.Model.Formats[0].SavedModel; m.Weights != 203 || len(m.Signatures) != 2 {
			t.Errorf("%s: %d weights, %d signatures", folder, m.Weights, len(m.Signatures))
		}
	}
}

// An unreadable format doesn't hide the others.
func TestAFormatThatIsDamagedIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "Format-Serving"), os.DirFS(artifacts["penguin-saved-model"])); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "Format-TFLite"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Format-TFLite", "model.tflite"), []byte("1234TFL3junk"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := look(t, dir, inspect.Options{})
	if f := r.Model.Formats; len(f) != 2 || f[0].SavedModel == nil || f[1].Error == "" || f[1].Kind != inspect.KindTFLite {
		t.Errorf("formats: %+v", r.Model.Formats)
	}
	if out := printed(r); !strings.Contains(out, "not readable") {
		t.Errorf("printed:\n%s", out)
	}
}

// The values were given to TensorFlow Metadata's own messages.
func TestStatisticsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	want := []inspect.Statistics{{Split: "train", Records: 1000, Features: []inspect.FeatureStatistics{
		{Name: "fare", Type: "float", Missing: 3, Mean: 11.5, StdDev: 2.25, Min: -1.0, Max: 99.5},
		{Name: "trip.hour", Type: "int", Mean: "NaN", StdDev: 0.0, Min: 0.0, Max: 23.0},
		{Name: "company", Type: "string", Missing: 400, Unique: 40, Top: "Taxi Affiliation Services"},
		{Name: "blob", Type: "bytes", Missing: 7, Unique: 9},
	}}}
	if diff := cmp.Diff(want, look(t, "testdata/statistics", inspect.Options{}).Statistics); diff != "" {
		t.Error(diff)
	}
}
