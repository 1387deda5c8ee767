package builtin_test

import (
	"archive/zip"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
)

//go:embed testdata/old_graph.py
var oldGraphScript string

// A model is trained on raw rows with a graph of TensorFlow 1 (force_tf_compat_v1), with tables,
// buckets and sparse features. TensorFlow, with both of its loaders, and Go give the same
// predictions from its files as the model in memory. Tolerance: 1e-5 of numbers up to 1, as all sum
// in float32, each in its own order.
func TestAModelBehindAGraphOfTensorFlow1IsServed(t *testing.T) {
	t.Parallel()
	a, rows := withOldGraph(t)
	a.EvalModelDir = filepath.Join(t.TempDir(), "Format-TFMA")
	a.Predictions = &module.Predictions{Path: filepath.Join(t.TempDir(), "predictions"), Rows: 200}
	done(t, run(t, "dnn", a))
	var got struct {
		Differences map[string]float64
		Answers     int
		Spread      float64
	}
	tftest.RunLive(t, oldGraphScript, map[string]any{
		"model": a.ServingModelDir, "eval": a.EvalModelDir, "predictions": a.Predictions.Path,
		"examples": filepath.Join(filepath.Dir(a.EvalFiles[0]), "data"), "label": "n",
	}, &got)
	got.Differences["Go"] = apartInGo(t, a, rows)
	if len(got.Differences) != 6 || got.Answers != 4*200 || got.Spread < 0.01 {
		t.Errorf("%+v", got)
	}
	for way, difference := range got.Differences {
		if !(difference <= 1e-5) {
			t.Errorf("%s: off by %v", way, difference)
		}
	}
}

// apartInGo returns how far the predictions of Go's own reader are from those of the model in
// memory.
func apartInGo(t *testing.T, a module.Assignment, rows []string) float64 {
	t.Helper()
	model, err := savedmodel.Open(a.ServingModelDir)
	if err != nil {
		t.Fatal(err)
	}
	examples, err := tensor.New([]int{len(rows)}, rows)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := model.Run("serving_default", map[string]tensor.Tensor{"examples": examples})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := tensor.Values[float32](answer["predictions"])
	file, err := os.Open(a.Predictions.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var apart float64
	for lines, i := json.NewDecoder(file), 0; i < len(rows); i++ {
		var want struct{ Predictions []float64 }
		if err := lines.Decode(&want); err != nil {
			t.Fatal(err)
		}
		apart = max(apart, math.Abs(float64(got[i])-want.Predictions[0]))
	}
	return apart
}

// withOldGraph returns an assignment with raw rows as old_everything of compute/tf/transform takes
// them, and the rows to evaluate on.
func withOldGraph(t *testing.T) (a module.Assignment, evalRows []string) {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join("..", "..", "..", "compute", "tf", "transform", "testdata", "graphs", "old_everything.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, archive); err != nil {
		t.Fatal(err)
	}
	// Sparse features aren't inputs of models.
	withoutFeature(t, filepath.Join(dir, "transformed_metadata", "schema.pbtxt"), "ss")
	a = assignment(t, "penguin", false, map[string]any{"label": "n"})
	a.TransformGraphPath, a.SchemaPath = dir, filepath.Join(dir, "metadata", "schema.pbtxt")
	for split, patterns := range map[string]*[]string{"train": &a.TrainFiles, "eval": &a.EvalFiles} {
		rng := rand.New(rand.NewPCG(5, uint64(len(split))))
		var records [][]byte
		for range 200 {
			records = append(records, oldRow(rng))
			if split == "eval" {
				evalRows = append(evalRows, string(records[len(records)-1]))
			}
		}
		folder := filepath.Join(dir, "Split-"+split)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		*patterns = []string{filepath.Join(folder, "*")}
		writeRecords(t, filepath.Join(folder, "data"), records...)
	}
	return a, evalRows
}

// withoutFeature removes a feature from a schema.
func withoutFeature(t *testing.T, schema, name string) {
	t.Helper()
	text, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	feature := regexp.MustCompile(`(?ms)^feature \{\n  name: "` + name + `"$.*?^\}\n`)
	if err := os.WriteFile(schema, feature.ReplaceAll(text, nil), 0o644); err != nil {
		t.Fatal(err)
	}
}

// oldRow returns a row with words of the vocabularies, others for s, which has buckets for them,
// and sometimes without the optional values.
func oldRow(rng *rand.Rand) []byte {
	words := []string{"a", "b", "Taxi", "taxi 9", "12", fmt.Sprint(rng.IntN(99))}
	b := new(example.Builder).Float("x", float32(rng.NormFloat64())).Int64("n", rng.Int64N(20)).String("s", words[rng.IntN(6)])
	if rng.IntN(4) > 0 {
		b.Float("xo", float32(rng.NormFloat64())).String("ss", words[rng.IntN(5)])
	}
	return b.Build()
}
