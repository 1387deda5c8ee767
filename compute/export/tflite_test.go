package export_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/export/tflite"
	"github.com/stoker-ml/stoker/compute/nn"
)

func someHouses(context.Context) (map[string]nn.Value, error) {
	return map[string]nn.Value{
		"size": nn.Floats(1, 40, 120, 75), "rooms": nn.Ints(1, 1, 5, 3), "heating": nn.Strings(1, "gas", "wood", "coal"),
		"town": nn.Strings(1, "Rome", "Oslo", ""), "street": nn.Strings(1, "Via", "gate", "lane"),
	}, nil
}

// One inputs.json stands for all files of a folder, so they take and give the same.
func TestTFLiteFilesOfEachKindTakeTheSameInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := houses(t)
	m.Samples = someHouses
	formats := []string{"tflite", "tflite-float16", "tflite-int8"}
	targets := export.Targets{Serving: filepath.Join(dir, "Format-Serving"), Formats: formats}
	if err := export.Write(t.Context(), targets, m); err != nil {
		t.Fatal(err)
	}
	if err := export.Check(dir, formats); err != nil {
		t.Error(err)
	}
	want := []string{"size float32", "rooms int64", "heating/id int64", "town/bucket int64", "street/bucket int64", "price float32"}
	for _, file := range []string{"model.tflite", "model-float16.tflite", "model-int8.tflite"} {
		d, err := tflite.Describe(filepath.Join(dir, "Format-TFLite", file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range append(d.Inputs, d.Outputs...) {
			got = append(got, p.Name+" "+p.Type)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want - got +\n%s", file, diff)
		}
		if !strings.Contains(d.Notes, "town is a feature of the raw examples") {
			t.Errorf("%s: its notes are %s", file, d.Notes)
		}
	}
}

func TestInt8WithoutSampleRowsSaysSo(t *testing.T) {
	t.Parallel()
	targets := export.Targets{Serving: filepath.Join(t.TempDir(), "Format-Serving"), Formats: []string{"tflite-int8"}}
	err := export.Write(t.Context(), targets, houses(t))
	if err == nil || !strings.Contains(err.Error(), "export tflite-int8: the format needs sample rows") {
		t.Errorf("error is %v", err)
	}
	m := houses(t)
	why := errors.New("disk on fire")
	m.Samples = func(context.Context) (map[string]nn.Value, error) { return nil, why }
	if err := export.Write(t.Context(), targets, m); !errors.Is(err, why) {
		t.Errorf("error is %v", err)
	}
}
