package builtin_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// kerasModel is the Model artifact of TFX's Trainer on penguin's data.
const kerasModel = "../../../compute/tf/warmstart/testdata/penguin/model"

// still makes an assignment leave weights unchanged: one step that is too small to matter in
// float32.
func still(a *module.Assignment) {
	one := 1
	a.TrainSteps, a.CustomConfig["optimizer"], a.CustomConfig["learning_rate"] = &one, "sgd", 1e-30
}

// TensorFlow's own answers of that model determine its loss on the evaluation split: features in
// another order, or a weight at another position, would give another. The tolerance is that of sums
// of products in float32, in another order.
func TestAWarmStartHasTheLossOfTensorFlowsModel(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", true, penguin())
	still(&a)
	a.BaseModel = abs(t, kerasModel)
	metrics := done(t, run(t, "dnn", a))
	want := kerasLoss(t)
	if math.Abs(metrics["loss"]-want) > 1e-6*want {
		t.Errorf("loss is %v, TensorFlow's is %v", metrics["loss"], want)
	}
	table, err := os.ReadFile(filepath.Join(a.ModelRunDir, "warm_start.txt"))
	if err != nil || !strings.Contains(string(table), "dense_1/kernel  [4 8]  dense_4/kernel  [4 8]  by order; 4 rows by what they stand for\n") {
		t.Errorf("warm_start.txt: %v\n%s", err, table)
	}
	var kept struct{ Params []struct{ Taken bool } }
	text, err := os.ReadFile(filepath.Join(a.ModelRunDir, "warm_start.json"))
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil || len(kept.Params) != 4 || !kept.Params[3].Taken {
		t.Errorf("warm_start.json: %v\n%s", err, text)
	}
}

// kerasLoss returns the mean of -log softmax(logits)[label] over the evaluation split, from the
// answers of TensorFlow.
func kerasLoss(t *testing.T) float64 {
	t.Helper()
	file, err := os.Open(filepath.Join(examples, "penguin", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sum, rows := 0.0, 0.0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row struct {
			Tag     string
			Serving struct{ Outputs [][]float64 } `json:"serving_default"`
			Labels  struct {
				Species [][]int `json:"species_xf"`
			} `json:"transform_features"`
		}
		if !strings.Contains(lines.Text(), `"tag": "eval"`) {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		logits, total := row.Serving.Outputs[0], 0.0
		for _, z := range logits {
			total += math.Exp(z)
		}
		sum, rows = sum+math.Log(total)-logits[row.Labels.Species[0][0]], rows+1
	}
	if rows != 100 {
		t.Fatalf("%v rows of the evaluation split, expected 100", rows)
	}
	return sum / rows
}

// A model of our own is loaded to the bit, with raw and with transformed features.
func TestAWarmStartGoesOnFromOurOwnModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data, label string
		transformed bool
	}{
		"penguin raw": {"penguin", "species", false}, "penguin transformed": {"penguin", "species", true},
		"taxi raw": {"taxi", "tips", false}, "taxi transformed": {"taxi", "tips_xf", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := func() map[string]any { return map[string]any{"label": c.label, "hash_buckets": 200} }
			first := assignment(t, c.data, c.transformed, config())
			want := done(t, run(t, "dnn", first))
			again := assignment(t, c.data, c.transformed, config())
			still(&again)
			again.Seed, again.BaseModel = 7, first.ServingModelDir
			got := done(t, run(t, "dnn", again))
			if got["loss"] != want["loss"] {
				t.Errorf("loss is %v, of the base model %v", got["loss"], want["loss"])
			}
		})
	}
}

func TestABaseModelOfAnotherShapeIsBadInput(t *testing.T) {
	t.Parallel()
	config := penguin()
	config["hidden_units"] = []any{16, 16}
	config["warm_start"] = map[string]any{"except": "bias"}
	a := assignment(t, "penguin", true, config)
	a.BaseModel = abs(t, kerasModel)
	wantInput(t, a, "dense_1/kernel  [4 16]   dense_4/kernel  [4 8]  not taken: shape [4 8] against [4 16]")
	a.BaseModel = t.TempDir()
	wantInput(t, a, "base_model: find weights in "+a.BaseModel)
	config["warm_start"] = map[string]any{"exept": "bias"}
	_, err := os.Stat(a.ModelRunDir)
	wantError(t, a, `custom_config: warm_start: json: unknown field "exept"`)
	if err == nil {
		t.Errorf("%s was made", a.ModelRunDir)
	}
}

// wantInput fails unless the run ends with an error that contains text and is of kind input.
func wantInput(t *testing.T, a module.Assignment, text string) {
	t.Helper()
	if failure, ok := errors.AsType[*module.Error](wantError(t, a, text)); !ok || failure.Kind != module.KindInput {
		t.Errorf("%s: is not the input's fault", text)
	}
}

func wantError(t *testing.T, a module.Assignment, text string) error {
	t.Helper()
	err := builtin.Run(t.Context(), "dnn", a, func(module.Message) {})
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %v, want one that says %q", err, text)
	}
	return err
}

// The transform graph of a run has a vocabulary in another order, with one more token: each token
// keeps its weights, including the buckets for other words, and the new one is initialized.
func TestTokensKeepTheirWeightsWhenTheirVocabularyGrows(t *testing.T) {
	t.Parallel()
	config := func() map[string]any { return map[string]any{"label": "tips_xf"} }
	first := assignment(t, "taxi", true, config())
	run(t, "dnn", first)
	again := assignment(t, "taxi", true, config())
	still(&again)
	again.Seed, again.BaseModel, again.TransformGraphPath = 7, first.ServingModelDir, grown(t)
	run(t, "dnn", again)
	table, err := os.ReadFile(filepath.Join(again.ModelRunDir, "warm_start.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `rows by what they stand for, 1 new (company_xf: "New Company")`; !strings.Contains(string(table), want) {
		t.Errorf("table lacks %s:\n%s", want, table)
	}
	old, now := firstKernel(t, first.ServingModelDir), firstKernel(t, again.ServingModelDir)
	if len(now) != len(old)+1 || now[`company_xf: "New Company"`] == nil || old[`company_xf: bucket 9 for others`] == nil {
		t.Errorf("%d rows after %d", len(now), len(old))
	}
	for row, weights := range old {
		if !slices.Equal(weights, now[row]) {
			t.Errorf("%s: %v, was %v", row, now[row], weights)
		}
	}
}

// firstKernel returns the rows of a model's first kernel, by the value that each stands for.
func firstKernel(t *testing.T, model string) map[string][]float32 {
	t.Helper()
	s, err := warmstart.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(s.Tensors, func(t warmstart.Weight) bool { return t.Name == "dense_1/kernel" })
	values, _, err := s.Values(s.Tensors[at])
	if err != nil {
		t.Fatal(err)
	}
	width, rows := s.Tensors[at].Shape[1], map[string][]float32{}
	for i, row := range s.Rows(s.Tensors[at]) {
		rows[row] = values[i*width : (i+1)*width]
	}
	return rows
}

// grown returns taxi's transform graph after one more company was seen, more often than all others.
func grown(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "transform_graph")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(graphs, "taxi", "transform_graph"))); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "transform_fn", "assets", "*_1_vocabulary"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	edit(t, names[0], func(text string) string { return "New Company\n" + text })
	edit(t, filepath.Join(dir, "transformed_metadata", "schema.pbtxt"), func(text string) string {
		return strings.Replace(text, "max: 54", "max: 55", 1)
	})
	return dir
}

func edit(t *testing.T, name string, by func(string) string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(by(string(text))), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
