package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// houses returns a model over a number and three strings, each filled in another way where a row
// lacks it.
func houses(t *testing.T) export.Model {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	size := b.DropNaN("size/there", b.Input("size", nn.Float32, 1))
	rooms := b.Cast("rooms/number", b.Input("rooms", nn.Int64, 1))
	heating := b.OneHot("heating/one_hot", b.Vocabulary("heating/id", b.Input("heating", nn.String, 1), []string{"gas", "wood"}), 3)
	town := b.Embedding("town", b.Hash("town/bucket", b.Input("town", nn.String, 1), 10), 10, 2)
	street := b.Embedding("street", b.Hash("street/bucket", b.Input("street", nn.String, 1), 10), 10, 2)
	b.Output("price", b.Dense("out", b.Concat("x", size, rooms, heating, town, street), 1, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return export.Model{Model: savedmodel.Model{
		Graph: g,
		Spec: example.Spec{
			{Name: "heating", Kind: example.Bytes, Shape: []int{1}, Default: &example.Default{Bytes: []byte("wood")}},
			{Name: "rooms", Kind: example.Int64, Shape: []int{1}}, {Name: "size", Kind: example.Float},
			{Name: "street", Kind: example.Bytes, Shape: []int{1}}, {Name: "town", Kind: example.Bytes},
		},
		Defaults: map[string]example.Default{"size": {Float: float32(math.NaN())}},
	}}
}

func TestFormatsAreWrittenNextToTheSavedModelWithTheirInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serving := filepath.Join(dir, "Format-Serving")
	if err := export.Write(t.Context(), export.Targets{Serving: serving, Formats: []string{"onnx"}}, houses(t)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(savedmodel.Check(serving), export.Check(dir, []string{"onnx"})); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "Format-ONNX", "inputs.json"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "inputs.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("inputs.json: want - got +\n%s", diff)
	}
	d, err := onnx.Describe(filepath.Join(dir, "Format-ONNX", "model.onnx"))
	if err != nil || !strings.Contains(d.Inputs[4].Doc, "street is a feature of the raw examples") {
		t.Errorf("the file's own documentation: %+v, %v", d.Inputs, err)
	}
}

func TestFeaturesOfATransformGraphAreSaidToBeSo(t *testing.T) {
	t.Parallel()
	m := houses(t)
	m.TransformGraph, m.Spec, m.Defaults = "somewhere", nil, nil
	dir := t.TempDir()
	err := export.Write(t.Context(), export.Targets{Serving: filepath.Join(dir, "Format-Serving"), Formats: []string{"onnx"}}, m)
	// There is no such transform graph.
	if err == nil || !strings.Contains(err.Error(), "write SavedModel") {
		t.Fatalf("error is %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "Format-ONNX", "inputs.json"))
	if err != nil || strings.Count(string(text), "the SavedModel's transform_features signature computes it") != 5 {
		t.Errorf("inputs.json: %s, %v", text, err)
	}
}

// JSON would replace bytes that are not UTF-8.
func TestADefaultThatIsNotUTF8IsSaidInBase64(t *testing.T) {
	t.Parallel()
	m := houses(t)
	m.Spec[0].Default = &example.Default{Bytes: []byte("a\xff")}
	dir := t.TempDir()
	if err := export.Write(t.Context(), export.Targets{Serving: filepath.Join(dir, "Format-Serving"), Formats: []string{"onnx"}}, m); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "Format-ONNX", "inputs.json"))
	var compact bytes.Buffer
	if err = errors.Join(err, json.Compact(&compact, text)); err != nil || !strings.Contains(compact.String(), `"default":{"raw":"Yf8="}`) {
		t.Errorf("inputs.json: %s, %v", text, err)
	}
}

func TestAnUnknownFormatIsNamed(t *testing.T) {
	t.Parallel()
	targets := export.Targets{Serving: filepath.Join(t.TempDir(), "Format-Serving"), Formats: []string{"onnx", "pmml"}}
	err := export.Write(t.Context(), targets, houses(t))
	if err == nil || !strings.Contains(err.Error(), `no such format: "pmml", expected some of `) {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(targets.Serving); err == nil {
		t.Error("a model was written")
	}
}

func TestACanceledExportReturnsTheCause(t *testing.T) {
	t.Parallel()
	why := errors.New("preempted")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(why)
	targets := export.Targets{Serving: filepath.Join(t.TempDir(), "Format-Serving"), Formats: []string{"onnx"}}
	if err := export.Write(ctx, targets, houses(t)); !errors.Is(err, why) {
		t.Errorf("error is %v", err)
	}
}
