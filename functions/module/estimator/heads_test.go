package estimator

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/functions/module"
)

// shop has raw examples without a transform graph: the amount that a customer pays depends on age
// and city, and some cells are missing.
const shop = `
feature { name: "age" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "city" type: BYTES domain: "cities" }
feature { name: "visits" type: INT }
feature { name: "paid" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "size" type: BYTES presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "again" type: BYTES presence { min_fraction: 1 } shape { dim { size: 1 } } }
string_domain { name: "cities" value: "Lima" value: "Oslo" }
`

// shopping writes 2000 customers and the schema.
func shopping(t *testing.T) module.Assignment {
	t.Helper()
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	schema := filepath.Join(dir, "schema.pbtxt")
	if err := os.WriteFile(schema, []byte(shop), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "rows.tfrecord")
	w, err := tfrecord.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		age, city, visits := rng.Float32()*80, []string{"Lima", "Oslo", "Rome", ""}[rng.IntN(4)], rng.Int64N(4)
		paid := age/40 + map[string]float32{"Lima": 1, "Oslo": 2, "Rome": 3}[city] + float32(visits)/2
		var b example.Builder
		b.Float("age", age).Float("paid", paid)
		b.String("size", []string{"S", "M", "L"}[min(int(paid/2), 2)])
		b.String("again", map[bool]string{true: "yes", false: "no"}[paid > 3])
		if city != "" {
			b.String("city", city)
		}
		if visits > 0 {
			b.Int64("visits", visits)
		}
		if err := w.Append(b.Build()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a := assignment(t, 400)
	a.TrainFiles, a.EvalFiles, a.EvalSteps = []string{file}, []string{file}, nil
	a.SchemaPath, a.TransformGraphPath, a.Transformed, a.EvalModelDir = schema, "", false, ""
	return a
}

// selling trains e on raw examples for that label.
func selling(label string, e Estimator) Trainer {
	return func(args *module.Args, schema *example.Schema) (Spec, error) {
		features, err := schema.Spec()
		if err != nil {
			return Spec{}, err
		}
		serving := ServingInput{Features: features.Without("paid", "size", "again")}
		in := Input{Files: args.TrainFiles, Features: features, Label: label, BatchSize: 50}
		return Spec{
			Estimator: e, Train: TrainSpec{Input: in, MaxSteps: args.TrainSteps},
			Eval: EvalSpec{Input: in, Exporters: []Exporter{FinalExporter{Name: "final", ServingInput: serving}}},
		}, nil
	}
}

// Every canned Estimator learns the shop. Untrained models have the figures in the comments.
func TestEveryEstimatorLearns(t *testing.T) {
	t.Parallel()
	age, city, visits := Bucketized{Numeric{"age"}, []float32{20, 40, 60}}, Vocabulary{Key: "city"}, Identity{Key: "visits", NumBuckets: 4}
	wide, deep := []LinearColumn{age, city, visits}, []DenseColumn{age, Embedding{city, 4}, Indicator{visits}}
	narrow := func(labels []string) Estimator {
		return DNNClassifier{FeatureColumns: deep, Optimizer: quick(), HiddenUnits: []int{8}, LabelVocabulary: labels}
	}
	both := func(labels []string) Estimator {
		return DNNLinearCombinedClassifier{
			LinearFeatureColumns: wide, DNNFeatureColumns: deep, DNNOptimizer: quick(), DNNHiddenUnits: []int{8}, LabelVocabulary: labels,
		}
	}
	number := DNNLinearCombinedRegressor{
		LinearFeatureColumns: wide, DNNFeatureColumns: deep, DNNOptimizer: quick(), DNNHiddenUnits: []int{8},
	}
	yes, sizes := []string{"no", "yes"}, []string{"S", "M", "L"}
	for name, c := range map[string]struct {
		label  string
		e      Estimator
		metric string
		good   func(float64) bool
	}{
		// 0.52
		"linear": {"again", LinearClassifier{FeatureColumns: wide, LabelVocabulary: yes}, "accuracy", atLeast(0.9)},
		// 0.5
		"linear, 3 classes": {"size", LinearClassifier{FeatureColumns: wide, LabelVocabulary: sizes}, "accuracy", atLeast(0.8)},
		// 1.3
		"linear, a number":    {"paid", LinearRegressor{FeatureColumns: wide}, "rmse", atMost(0.5)},
		"deep":                {"again", narrow(yes), "accuracy", atLeast(0.9)},
		"deep, 3 classes":     {"size", narrow(sizes), "accuracy", atLeast(0.8)},
		"deep, a number":      {"paid", DNNRegressor{FeatureColumns: deep, Optimizer: quick(), HiddenUnits: []int{8}}, "rmse", atMost(0.5)},
		"combined":            {"again", both(yes), "accuracy", atLeast(0.9)},
		"combined, 3 classes": {"size", both(sizes), "accuracy", atLeast(0.8)},
		"combined, a number":  {"paid", number, "rmse", atMost(0.5)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := shopping(t)
			a.Predictions = &module.Predictions{Path: filepath.Join(t.TempDir(), "predictions.jsonl"), Rows: 500}
			metrics, err := serve(t.Context(), t, a, selling(c.label, c.e), &stopAt{})
			if err != nil {
				t.Fatal(err)
			}
			if x, ok := metrics[c.metric]; !ok || !c.good(x) {
				t.Errorf("%s is %v of %v", c.metric, x, metrics)
			}
			compareServed(t, a)
		})
	}
}

func atLeast(least float64) func(float64) bool { return func(x float64) bool { return x >= least } }

func atMost(most float64) func(float64) bool { return func(x float64) bool { return x <= most } }

// quick returns an optimizer that does not need thousands of steps.
func quick() optim.Optimizer {
	return optim.NewSingle(&optim.Adam{LearningRate: 0.03, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7})
}

// compareServed compares the predictions of the model in its file for the raw rows, missing cells
// included, with those of the model in memory.
func compareServed(t *testing.T, a module.Assignment) {
	t.Helper()
	want := predicted(t, a.Predictions.Path)
	if len(want) == 0 {
		t.Fatal("the model in memory said nothing")
	}
	model, err := savedmodel.Open(a.ServingModelDir)
	if err != nil {
		t.Fatal(err)
	}
	rows := rawRows(t, a.EvalFiles[0])[:a.Predictions.Rows]
	examples, err := tensor.New([]int{len(rows)}, rows)
	if err != nil {
		t.Fatal(err)
	}
	got, err := model.Run("serving_default", map[string]tensor.Tensor{"examples": examples})
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range want {
		var numbers []float64
		if floats, ok := tensor.Values[float32](got[name]); ok {
			for _, x := range floats {
				numbers = append(numbers, float64(x))
			}
		} else if ids, ok := tensor.Values[int64](got[name]); ok {
			for _, x := range ids {
				numbers = append(numbers, float64(x))
			}
		}
		near(t, name, numbers, values, 1e-5)
	}
}

func rawRows(t *testing.T, path string) (rows []string) {
	t.Helper()
	r, err := tfrecord.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, string(row))
	}
}
