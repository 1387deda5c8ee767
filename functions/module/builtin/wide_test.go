package builtin_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// taxi returns a training on TFX's taxi data, which has five features with classes.
func taxi(t *testing.T) module.Assignment {
	t.Helper()
	data, err := filepath.Abs("../../../local/examples/taxi/data")
	if err != nil {
		t.Fatal(err)
	}
	a := assignment(t, "penguin", true, map[string]any{"label": "tips", "batch_size": 40, "hidden_units": []any{16, 8}})
	a.TrainFiles = []string{filepath.Join(data, "transformed_examples", "Split-train", "*")}
	a.EvalFiles = []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")}
	a.TransformGraphPath, a.SchemaPath, a.TrainSteps = filepath.Join(data, "transform_graph"), "", new(300)
	return a
}

func TestWideAndDeepLearnsFromClassesAndNumbers(t *testing.T) {
	t.Parallel()
	a := taxi(t)
	a.Module.Path = "builtin:wide_deep"
	// Observed: 0.941, and 0.887 accuracy, where always "no" is right in 0.771.
	metrics := done(t, run(t, "wide_deep", a))
	if metrics["auc"] < 0.93 || metrics["accuracy"] < 0.85 {
		t.Errorf("metrics are %v", metrics)
	}
	graph, err := os.ReadFile(filepath.Join(a.ServingModelDir, "saved_model.pb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, weights := range []string{
		"linear/features/company_xf/weights", "linear/features/payment_type_xf/weights", "linear/features/pickup_latitude_xf/weights",
		"linear/features/dropoff_longitude_xf/weights", "dense_2/kernel", "logits/bias",
	} {
		if !strings.Contains(string(graph), weights) {
			t.Errorf("the model has no %s", weights)
		}
	}
}

// The optimizer of each part resumes from its state.
func TestWideAndDeepGoesOnFromACheckpoint(t *testing.T) {
	t.Parallel()
	whole, cut := taxi(t), taxi(t)
	done(t, run(t, "wide_deep", whole))
	ctx, stop := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	err := builtin.Run(ctx, "wide_deep", cut, func(m module.Message) {
		if m.Step >= 100 {
			stop(stopped)
		}
	})
	if !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	done(t, run(t, "wide_deep", cut))
	for _, file := range []string{"saved_model.pb", "variables/variables.data-00000-of-00001"} {
		want, err1 := os.ReadFile(filepath.Join(whole.ServingModelDir, file))
		got, err2 := os.ReadFile(filepath.Join(cut.ServingModelDir, file))
		if err1 != nil || err2 != nil || !cmp.Equal(want, got) {
			t.Errorf("%s differs: %v, %v", file, err1, err2)
		}
	}
}

// A constant schedule gives the rate itself, and each part has its own.
func TestEachPartHasItsSchedule(t *testing.T) {
	t.Parallel()
	model := func(more map[string]any) string {
		a := taxi(t)
		a.TrainSteps = new(20)
		for key, value := range more {
			a.CustomConfig[key] = value
		}
		done(t, run(t, "wide_deep", a))
		return variables(t, a)
	}
	constant := map[string]any{"name": "Constant", "initial_learning_rate": 0.2}
	decay := map[string]any{"name": "ExponentialDecay", "decay_steps": 10, "decay_rate": 0.1}
	plain, wide := model(nil), model(map[string]any{"linear_learning_rate": 0.2})
	if wide == plain || model(map[string]any{"linear_learning_rate_schedule": constant}) != wide {
		t.Error("a constant schedule of the linear part is not its rate")
	}
	if deep := model(map[string]any{"learning_rate": 0.2}); deep == plain || model(map[string]any{"learning_rate_schedule": constant}) != deep {
		t.Error("a constant schedule of the deep part is not its rate")
	}
	if model(map[string]any{"linear_learning_rate_schedule": decay}) == plain {
		t.Error("a schedule of the linear part changes nothing")
	}
}

func TestAWidePartKeepsABaseModelsWeights(t *testing.T) {
	t.Parallel()
	first := taxi(t)
	before := done(t, run(t, "wide_deep", first))
	a := taxi(t)
	a.BaseModel, a.TrainSteps, a.Seed = first.ServingModelDir, new(1), 99
	// One step of Adam raises the loss by 0.001; it is 0.008 higher if FTRL forgets the wide part's
	// weights.
	after := done(t, run(t, "wide_deep", a))
	if math.Abs(after["loss"]-before["loss"]) > 0.004 {
		t.Errorf("loss was %v, and is %v after one step from there", before["loss"], after["loss"])
	}
}

func TestWhatWideAndDeepIsNotFor(t *testing.T) {
	t.Parallel()
	err := fail(t, "wide_deep", assignment(t, "penguin", true, penguin()))
	if !strings.Contains(err.Error(), "of which the wide part of builtin:wide_deep learns: builtin:dnn is the same") {
		t.Errorf("numbers alone: %v", err)
	}
	for _, c := range []struct {
		want, name string
		config     map[string]any
	}{
		{"custom_config: linear_optimizer, linear_learning_rate and linear_learning_rate_schedule are builtin:wide_deep's",
			"dnn", map[string]any{"label": "x", "linear_optimizer": "sgd"}},
		{`custom_config: linear_optimizer: unknown optimizer "lbfgs"`,
			"wide_deep", map[string]any{"label": "x", "linear_optimizer": "lbfgs"}},
		{"custom_config: linear_learning_rate: learning rate -1",
			"wide_deep", map[string]any{"label": "x", "linear_learning_rate": -1}},
		{"custom_config: linear_learning_rate: expected a number above 0, got 0",
			"wide_deep", map[string]any{"label": "x", "linear_learning_rate": 0}},
		{"custom_config: learning_rate: learning rate -1",
			"wide_deep", map[string]any{"label": "x", "learning_rate": -1, "learning_rate_schedule": map[string]any{"name": "Constant"}}},
		{`custom_config: linear_learning_rate_schedule: unknown learning rate schedule "Cosine"`,
			"wide_deep", map[string]any{"label": "x", "linear_learning_rate_schedule": map[string]any{"name": "Cosine"}}},
		{"custom_config: linear_optimizer, linear_learning_rate and linear_learning_rate_schedule are builtin:wide_deep's: builtin:linear has one optimizer",
			"linear", map[string]any{"label": "x", "linear_learning_rate_schedule": map[string]any{"name": "Constant"}}},
	} {
		if err := builtin.CheckConfig(c.name, c.config); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.name, c.config, err, c.want)
		}
	}
}
