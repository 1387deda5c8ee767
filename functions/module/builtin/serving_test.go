package builtin_test

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
)

//go:embed testdata/serve.py
var serveScript string

// served asks TensorFlow to serve a model on raw examples and to measure its predictions.
type served struct {
	Model    string `json:"model"`
	Examples string `json:"examples"` // pattern of the raw examples
	RawLabel string `json:"raw_label"`
	Labels   string `json:"labels"` // pattern of the training examples
	Label    string `json:"label"`
}

// TensorFlow's predictions for raw requests without a label are as good as the training's own: same
// loss, same accuracy. That includes rows with missing values and unknown words.
func TestWhatTensorFlowServesIsWhatWasTrained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data, label string
		transformed bool
	}{
		"penguin raw": {"penguin", "species", false}, "penguin transformed": {"penguin", "species", true},
		"taxi raw": {"taxi", "tips", false}, "taxi transformed": {"taxi", "tips", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, c.data, c.transformed, map[string]any{"label": c.label})
			label := c.label
			if c.transformed {
				label += "_xf"
			}
			checkServed(t, a, served{
				Examples: abs(t, examples, c.data, "examples", "Split-eval", "*"), RawLabel: c.label, Label: label,
			})
		})
	}
}

func TestHashedAndEmbeddedFeaturesAreServedAlike(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dnn", "linear", "wide_deep"} {
		a := words(t)
		a.Module.Path = module.BuiltinPrefix + name
		checkServed(t, a, served{Examples: a.EvalFiles[0], RawLabel: "y", Label: "y"})
	}
}

// everything is words with every key that changes the network or the training.
func everything(t *testing.T) module.Assignment {
	t.Helper()
	a := words(t)
	for key, value := range map[string]any{
		"crosses": []any{[]any{"word", "id"}, []any{"open", "count", "word"}}, "cross_buckets": 300, "batch_normalization": true, "dropout": 0.3,
		"l1": 1e-4, "l2": 1e-3, "initializer": "he_normal", "optimizer": "adamw", "clip_norm": 0.5, "exclude_features": []any{"pair"},
		"learning_rate_schedule": map[string]any{"name": "CosineDecay", "decay_steps": 80, "alpha": 0.1},
	} {
		a.CustomConfig[key] = value
	}
	return a
}

func TestEveryKindOfLayerIsServedAlike(t *testing.T) {
	t.Parallel()
	a := everything(t)
	checkServed(t, a, served{Examples: a.EvalFiles[0], RawLabel: "y", Label: "y"})
	ranged := words(t)
	ranged.CustomConfig["normalize"] = map[string]any{"size": "minmax", "pair": "minmax", "count": "minmax"}
	checkServed(t, ranged, served{Examples: ranged.EvalFiles[0], RawLabel: "y", Label: "y"})
	wide := everything(t)
	wide.Module.Path = module.BuiltinPrefix + "wide_deep"
	checkServed(t, wide, served{Examples: wide.EvalFiles[0], RawLabel: "y", Label: "y"})
	linear := everything(t)
	linear.Module.Path = module.BuiltinPrefix + "linear"
	linear = without(without(linear, "dropout"), "batch_normalization")
	checkServed(t, linear, served{Examples: linear.EvalFiles[0], RawLabel: "y", Label: "y"})
}

// checkServed trains, serves and compares. Both compute in float32, and Keras sums losses in it:
// 5000 rows of 6e-8 each are 3e-4 at worst, about 1e-6 in practice.
func checkServed(t *testing.T, a module.Assignment, s served) {
	t.Helper()
	want := done(t, run(t, a.Module.Path[len(module.BuiltinPrefix):], a))
	s.Model, s.Labels = a.ServingModelDir, a.EvalFiles[0]
	var got map[string]float64
	tftest.RunLive(t, serveScript, s, &got)
	if len(got) == 0 {
		t.Error("TensorFlow measured nothing")
	}
	for name, value := range got {
		if math.Abs(value-want[name]) > 1e-5*max(1, want[name]) {
			t.Errorf("%s as served is %v, as trained %v", name, value, want[name])
		}
	}
}

const wordsSchema = `
feature { name: "id" type: INT int_domain { min: 0 max: 500 is_categorical: true } }
feature { name: "open" type: INT int_domain { is_categorical: true } }
feature { name: "size" type: FLOAT }
feature { name: "count" type: INT }
feature { name: "pair" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 2 } } }
feature { name: "word" type: BYTES }
feature { name: "y" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 1 } } }
`

// words returns data that the corpus lacks: strings without a domain, more identities than are
// one-hot encoded, identities with an open domain, values outside of it, features of two values;
// and each feature without a shape is missing in some rows.
func words(t *testing.T) module.Assignment {
	t.Helper()
	a := assignment(t, "penguin", false, map[string]any{"label": "y", "hash_buckets": 200, "embedding_dim": 3})
	dir := t.TempDir()
	a.SchemaPath = filepath.Join(dir, "schema.pbtxt")
	if err := os.WriteFile(a.SchemaPath, []byte(wordsSchema), 0o644); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	// The order matters: both use one source of randomness.
	for _, split := range []string{"train", "eval"} {
		patterns := map[string]*[]string{"train": &a.TrainFiles, "eval": &a.EvalFiles}[split]
		var records [][]byte
		for range 300 {
			records = append(records, wordsRow(rng))
		}
		if err := os.Mkdir(filepath.Join(dir, "Split-"+split), 0o755); err != nil {
			t.Fatal(err)
		}
		*patterns = []string{filepath.Join(dir, "Split-"+split, "*")}
		writeRecords(t, filepath.Join(dir, "Split-"+split, "data"), records...)
	}
	return a
}

func wordsRow(rng *rand.Rand) []byte {
	b := new(example.Builder).Float("pair", float32(rng.NormFloat64()), 7).Float("y", float32(rng.NormFloat64()))
	if rng.IntN(4) > 0 {
		b.Int64("id", rng.Int64N(600)-20).Int64("open", rng.Int64N(130)).Int64("count", 1000+rng.Int64N(50))
	}
	if rng.IntN(4) > 0 {
		b.Float("size", float32(100+rng.NormFloat64())).String("word", fmt.Sprintf("word %d", rng.IntN(300)))
	}
	return b.Build()
}
