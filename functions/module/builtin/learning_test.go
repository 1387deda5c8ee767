package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

const fruitSchema = `
string_domain { name: "fruits" value: "apple" value: "pear" value: "plum" }
feature { name: "fruit" type: BYTES domain: "fruits" presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "size" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "price" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "count" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "broken" type: FLOAT }
`

// counts is the weight of each fruit's rows.
var counts = map[string]any{"apple": 0.5, "pear": 2.0, "plum": 3.0}

// fruits returns an assignment with rows of three classes, whose feature count is their weight;
// broken holds numbers that can't be used for training.
func fruits(t *testing.T, config map[string]any) module.Assignment {
	t.Helper()
	a := assignment(t, "penguin", false, map[string]any{"label": "fruit", "exclude_features": []any{"broken"}})
	for key, value := range config {
		a.CustomConfig[key] = value
	}
	dir := t.TempDir()
	a.SchemaPath = filepath.Join(dir, "schema.pbtxt")
	if err := os.WriteFile(a.SchemaPath, []byte(fruitSchema), 0o644); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 5))
	// The order matters: both use one source of randomness.
	for _, split := range []string{"train", "eval"} {
		patterns := map[string]*[]string{"train": &a.TrainFiles, "eval": &a.EvalFiles}[split]
		var records [][]byte
		for range 100 {
			fruit := []string{"apple", "apple", "pear", "plum"}[rng.IntN(4)]
			records = append(records, new(example.Builder).String("fruit", fruit).Float("count", float32(counts[fruit].(float64))).
				Float("size", float32(rng.NormFloat64())+float32(len(fruit))).Float("price", float32(rng.NormFloat64())).
				Float("broken", float32(math.Inf(1))).Build())
		}
		if err := os.Mkdir(filepath.Join(dir, "Split-"+split), 0o755); err != nil {
			t.Fatal(err)
		}
		*patterns = []string{filepath.Join(dir, "Split-"+split, "*")}
		writeRecords(t, filepath.Join(dir, "Split-"+split, "data"), records...)
	}
	return a
}

func variables(t *testing.T, a module.Assignment) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(a.ServingModelDir, "variables", "variables.data-00000-of-00001"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Weights of classes and of rows are equivalent: if they are the same, so are the models, to the
// bit. Evaluation uses only the weights of rows, as Keras does.
func TestClassesAndExamplesAreWeighedAlike(t *testing.T) {
	t.Parallel()
	byRow := fruits(t, map[string]any{"weight_column": "count"})
	byClass := fruits(t, map[string]any{"class_weights": counts, "exclude_features": []any{"broken", "count"}})
	byNumber := fruits(t, map[string]any{"class_weights": map[string]any{"0": 0.5, "1": 2, "plum": 3.0}, "features": []any{"price", "size"}})
	delete(byNumber.CustomConfig, "exclude_features")
	plain := fruits(t, map[string]any{"exclude_features": []any{"broken", "count"}})
	rows, classes, numbers, none := done(t, run(t, "dnn", byRow)), done(t, run(t, "dnn", byClass)), done(t, run(t, "dnn", byNumber)), done(t, run(t, "dnn", plain))
	if want := variables(t, byRow); want != variables(t, byClass) || want != variables(t, byNumber) {
		t.Error("models of the same weights differ")
	}
	if variables(t, byRow) == variables(t, plain) || none["accuracy"] == 0 {
		t.Error("weights changed nothing")
	}
	if !cmp.Equal(classes, numbers) || rows["weighted_example_count"] < 100 || classes["weighted_example_count"] != 0 || rows["example_count"] != 100 {
		t.Errorf("metrics by rows %v, by classes %v", rows, classes)
	}
}

// Doubling the weights of all classes does not change the model for Adam, except for rounding;
// balanced weights are 1 for classes of the same size.
func TestBalancedWeightsAreThoseOfTheTrainSplit(t *testing.T) {
	t.Parallel()
	balanced := fruits(t, map[string]any{"class_weights": "balanced", "exclude_features": []any{"broken", "count"}})
	plain := fruits(t, map[string]any{"exclude_features": []any{"broken", "count"}})
	run(t, "dnn", balanced)
	run(t, "dnn", plain)
	if variables(t, balanced) == variables(t, plain) {
		t.Error("balanced weights changed nothing")
	}
}

func TestARequestNeedsNoWeightAndNothingThatIsLeftOut(t *testing.T) {
	t.Parallel()
	a := fruits(t, map[string]any{"weight_column": "count"})
	run(t, "dnn", a)
	model, err := savedmodel.Open(a.ServingModelDir)
	if err != nil {
		t.Fatal(err)
	}
	request := string(new(example.Builder).Float("size", 4).Float("price", 1).Build())
	examples, err := tensor.New([]int{1}, []string{request})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Run("serving_default", map[string]tensor.Tensor{"examples": examples}); err != nil {
		t.Error(err)
	}
}

// The transform graph also takes the weight, which, like the label, is not in a request.
func TestARequestToATransformedModelNeedsNoWeight(t *testing.T) {
	t.Parallel()
	// 0, 1 or 2
	a := assignment(t, "penguin", true, map[string]any{"label": "body_mass_g", "weight_column": "species"})
	dir := t.TempDir()
	a.Predictions = &module.Predictions{Path: filepath.Join(dir, "predictions"), Rows: 10, LabelsPath: filepath.Join(dir, "labels")}
	metrics := done(t, run(t, "dnn", a))
	labels, err := os.ReadFile(a.Predictions.LabelsPath)
	if want := `["body_mass_g_xf","body_mass_g","species_xf","species"]`; err != nil || string(labels) != want || metrics["weighted_example_count"] == 0 {
		t.Errorf("metrics are %v; what requests lack is %s, want %s: %v", metrics, labels, want, err)
	}
	model, err := savedmodel.Open(a.ServingModelDir)
	if err != nil {
		t.Fatal(err)
	}
	request := string(new(example.Builder).Float("flipper_length_mm", 0.3).Float("culmen_depth_mm", 0.5).Float("culmen_length_mm", 0.2).Build())
	examples, err := tensor.New([]int{1}, []string{request})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Run("serving_default", map[string]tensor.Tensor{"examples": examples}); err != nil {
		t.Error(err)
	}
}

// Excluded features may hold anything; used as an input, they are an error.
func TestWhatIsLeftOutIsNotLookedAt(t *testing.T) {
	t.Parallel()
	a := fruits(t, map[string]any{"exclude_features": []any{"size"}})
	err := fail(t, "dnn", a)
	if want := `bad record 0 in Split-train/data: feature "broken": value +Inf`; !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// The draws of dropout, moving averages, the schedule and the optimizer resume from their state.
func TestEveryKindOfLayerGoesOnFromACheckpoint(t *testing.T) {
	t.Parallel()
	whole, cut := everything(t), everything(t)
	cut.CustomConfig["checkpoint_every"] = 30
	done(t, run(t, "dnn", whole))
	ctx, stop := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	err := builtin.Run(ctx, "dnn", cut, func(m module.Message) {
		if m.Type == module.MessageCheckpoint || m.Step >= 40 {
			stop(stopped)
		}
	})
	if !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	done(t, run(t, "dnn", cut))
	if variables(t, whole) != variables(t, cut) {
		t.Error("the models differ")
	}
}

func TestAWarmStartTakesEveryKindOfLayer(t *testing.T) {
	t.Parallel()
	first, again := everything(t), everything(t)
	want := done(t, run(t, "dnn", first))
	for _, key := range []string{"learning_rate_schedule", "l1", "l2", "dropout"} {
		again = without(again, key)
	}
	still(&again)
	again.Seed, again.BaseModel = 7, first.ServingModelDir
	// One batch moves the averages by 1 %.
	if got := done(t, run(t, "dnn", again)); math.Abs(got["loss"]-want["loss"]) > 0.02*want["loss"] {
		t.Errorf("loss is %v, of the base model %v", got["loss"], want["loss"])
	}
}

func TestWhatCantBeLearntSoIsNamed(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]map[string]any{
		"dropout: expected a number from 0 to below 1, got 1":                                          {"dropout": 1},
		"l2: expected a number from 0 to 1e+06, got -1":                                                {"l2": -1},
		`initializer: unknown initializer "xavier"`:                                                    {"initializer": "xavier"},
		`loss: expected one of categorical_crossentropy, `:                                             {"loss": "hinge"},
		"loss: huber is no loss of task classification":                                                {"loss": "huber"},
		`huber_delta: applies only to the loss huber, got loss ""`:                                     {"huber_delta": 2},
		"label_smoothing: expected a number from 0 to below 1, got 1.5":                                {"label_smoothing": 1.5},
		`class_weights: expected "balanced", or an object`:                                             {"class_weights": "even"},
		`class_weights: class pear: expected a number from 0 to 1e+09`:                                 {"class_weights": map[string]any{"pear": "much"}},
		`class_weights: the label has no class "fig", expected one of 0 to 2, or of apple, pear, plum`: {"class_weights": map[string]any{"fig": 1}},
		"clip_value, clip_norm, global_clip_norm: expected at most one of them":                        {"clip_value": 1, "clip_norm": 1},
		"global_clip_norm: expected a number above 0, got -1":                                          {"global_clip_norm": -1},
		"learning_rate_schedule: expected a name and Keras's arguments":                                {"learning_rate_schedule": map[string]any{"decay_steps": 1}},
		`learning_rate_schedule: unknown learning rate schedule "Cosine"`:                              {"learning_rate_schedule": map[string]any{"name": "Cosine"}},
		`learning_rate_schedule: learning rate schedule CosineDecay: unknown field "steps", expected some of initial_learning_rate, decay_steps, alpha, warmup_target, warmup_steps`: {"learning_rate_schedule": map[string]any{"name": "CosineDecay", "steps": 1}},
		"features and exclude_features: expected at most one of them":                                                     {"features": []any{"size"}},
		`exclude_features: there is no feature "sise" to learn from, expected some of broken, count, `:                    {"exclude_features": []any{"sise"}},
		`exclude_features: "fruit" is the label`:                                                                          {"exclude_features": []any{"fruit"}},
		`weight_column: there is no feature "weight" to learn from`:                                                       {"weight_column": "weight"},
		`weight_column: "fruit" is the label`:                                                                             {"weight_column": "fruit"},
		`crosses: expected lists of two or more features, got ["size"]`:                                                   {"crosses": []any{[]any{"size"}}},
		`crosses: feature "size" is a number with fractions, expected words or whole numbers`:                             {"crosses": []any{[]any{"size", "price"}}},
		`crosses: "count" is the weight_column, and no input of the model`:                                                {"weight_column": "count", "crosses": []any{[]any{"count", "size"}}},
		`crosses: expected a list of lists of strings like ["a"], got ["size"]`:                                           {"crosses": []any{"size"}},
		`crosses: duplicate of ["count" "broken"]`:                                                                        {"crosses": []any{[]any{"count", "broken"}, []any{"count", "broken"}}},
		`learning_rate_schedule: expected an object, got "CosineDecay"`:                                                   {"learning_rate_schedule": "CosineDecay"},
		"features: expected one or more, got none":                                                                        {"features": []any{}},
		"exclude_features: there is no other feature to learn from":                                                       {"exclude_features": []any{"broken", "count", "price", "size"}},
		"class_weights: 0 for all classes":                                                                                {"class_weights": map[string]any{"0": 0, "pear": 0, "2": 0}},
		`class_weights: "0" and "apple" are the same class`:                                                               {"class_weights": map[string]any{"0": 1, "apple": 2}},
		`class_weights: expected "balanced", or an object of a number for each class, like {"0": 1, "1": 5}, got [1 2 3]`: {"class_weights": []any{1, 2, 3}},
		"huber_delta: expected a number from 1e-30 to 1e+15, got 1e+300":                                                  {"loss": "huber", "huber_delta": 1e300},
		"huber_delta: expected a number from 1e-30 to 1e+15, got 1e-60":                                                   {"loss": "huber", "huber_delta": 1e-60},
		`normalize: expected zscore, minmax, or an object of these by feature, like {"age": "minmax"}; got "min_max"`:     {"normalize": "min_max"},
		`normalize: expected zscore, minmax, or an object of these by feature, like {"age": "minmax"}; got [zscore]`:      {"normalize": []any{"zscore"}},
		`normalize: feature "size": expected zscore or minmax, got 3`:                                                     {"normalize": map[string]any{"size": 3}},
		`normalize: there is no feature "sise" to learn from`:                                                             {"normalize": map[string]any{"sise": "minmax"}},
		`normalize: "fruit" is the label`:                                                                                 {"normalize": map[string]any{"fruit": "minmax"}},
		"cross_buckets: there are no crosses":                                                                             {"cross_buckets": 5},
	} {
		if err := fail(t, "dnn", fruits(t, config)); !strings.Contains(err.Error(), "custom_config: "+want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	for _, key := range []string{"dropout", "batch_normalization"} {
		value := map[string]any{"dropout": 0.5, "batch_normalization": true}[key]
		if err := fail(t, "linear", fruits(t, map[string]any{key: value})); !strings.Contains(err.Error(), key+": builtin:linear has no hidden layers") {
			t.Errorf("%s of a linear model: %v", key, err)
		}
	}
	numbers := map[string]any{"label": "price", "task": "regression"}
	for key, value := range map[string]any{"class_weights": "balanced", "label_smoothing": 0.1} {
		a := fruits(t, numbers)
		a.CustomConfig[key] = value
		if err := fail(t, "dnn", a); !strings.Contains(err.Error(), "custom_config: "+key+": a numeric label has no classes") {
			t.Errorf("%s of a number: %v", key, err)
		}
	}
}

func TestAWeightThatCantBeIsBadInput(t *testing.T) {
	t.Parallel()
	for want, weights := range map[string][]float32{
		`bad record 2 in Split-train/more: feature "count": weight -1, expected a number from 0 to 1e+09`: {1, 0, -1},
		`feature "count", the weight, is 0 in all of the train splits`:                                    {0, 0},
	} {
		a := fruits(t, map[string]any{"weight_column": "count"})
		dir := filepath.Join(t.TempDir(), "Split-train")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		var records [][]byte
		for _, w := range weights {
			records = append(records, new(example.Builder).String("fruit", "pear").Float("count", w).Float("size", 1).Float("price", 2).Build())
		}
		writeRecords(t, filepath.Join(dir, "more"), records...)
		a.TrainFiles = []string{filepath.Join(dir, "*")}
		err := fail(t, "dnn", a)
		if bad, ok := errors.AsType[*module.Error](err); !ok || bad.Kind != module.KindInput || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

// Each loss learns a number: the median if errors count by their size.
func TestEveryLossOfANumberLearns(t *testing.T) {
	t.Parallel()
	for _, loss := range []string{"mse", "mae", "huber", "mean_absolute_error"} {
		t.Run(loss, func(t *testing.T) {
			t.Parallel()
			config := map[string]any{"label": "size", "task": "regression", "loss": loss}
			if loss == "huber" {
				config["huber_delta"] = 0.5
			}
			a := fruits(t, config)
			before, after := fruits(t, config), done(t, run(t, "dnn", a))
			before.TrainSteps = new(1)
			if first := done(t, run(t, "dnn", before)); !(after["loss"] < 0.6*first["loss"]) || math.IsNaN(after["mae"]) {
				t.Errorf("metrics are %v, after one step %v", after, first)
			}
		})
	}
}

// Without this, a key that no code reads would pass unnoticed. A key that is not part of the
// execution's identity changes nothing.
func TestEveryKeyChangesTheModel(t *testing.T) {
	t.Parallel()
	config := func(more map[string]any) map[string]any {
		all := map[string]any{"exclude_features": []any{"broken", "count"}, "learning_rate": 0.05}
		for key, value := range more {
			all[key] = value
		}
		return all
	}
	plain := fruits(t, config(nil))
	run(t, "dnn", plain)
	for key, value := range map[string]any{
		"dropout": 0.5, "batch_normalization": true, "l1": 0.01, "l2": 0.01, "initializer": "he_normal", "clip_value": 0.01, "clip_norm": 0.01,
		"global_clip_norm": 0.01, "label_smoothing": 0.1, "learning_rate_schedule": map[string]any{"name": "InverseTimeDecay", "decay_steps": 10, "decay_rate": 1},
		"optimizer": "rmsprop", "normalize": "minmax", "threads": 2, "checkpoint_every": 7, "checkpoint_seconds": 0.001,
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			a := fruits(t, config(map[string]any{key: value}))
			run(t, "dnn", a)
			decides := len(module.Deciding("builtin:dnn", map[string]any{key: value})) > 0
			if same := variables(t, a) == variables(t, plain); same == decides {
				t.Errorf("the model is the same: %v, and of another execution: %v", same, decides)
			}
		})
	}
}

// A search varies dropout and penalties, but not those of other modules.
func TestDropoutAndPenaltiesAreTuned(t *testing.T) {
	t.Parallel()
	values := func(value float64) module.Assignment {
		a := fruits(t, nil)
		a.Hyperparameters = map[string]any{"values": map[string]any{"dropout": value, "l2": value, "l1": value / 10}}
		return a
	}
	tuned, configured := values(0.25), fruits(t, map[string]any{"dropout": 0.25, "l2": 0.25, "l1": 0.025})
	run(t, "dnn", tuned)
	run(t, "dnn", configured)
	if variables(t, tuned) != variables(t, configured) {
		t.Error("hyperparameters and custom_config of the same values gave different models")
	}
	if err := fail(t, "dnn", values(1)); !strings.Contains(err.Error(), "dropout: expected a number from 0 to below 1, got 1") {
		t.Error(fmt.Errorf("dropout of 1: %w", err))
	}
}
