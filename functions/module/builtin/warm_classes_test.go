package builtin_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

// payment returns an assignment whose label is a string: how a taxi was paid.
func payment(t *testing.T) module.Assignment {
	t.Helper()
	return assignment(t, "taxi", false, map[string]any{"label": "payment_type", "hash_buckets": 100})
}

// withSchema makes an assignment read another schema.
func withSchema(t *testing.T, a *module.Assignment, by func(string) string) {
	t.Helper()
	text, err := os.ReadFile(a.SchemaPath)
	if err != nil {
		t.Fatal(err)
	}
	a.SchemaPath = filepath.Join(t.TempDir(), "schema.pbtxt")
	now := by(string(text))
	if now == string(text) {
		t.Fatal("the schema is what it was")
	}
	if err := os.WriteFile(a.SchemaPath, []byte(now), 0o644); err != nil {
		t.Fatal(err)
	}
}

// startedFrom returns the loss of a model with the weights of another, and the table of the weights
// that were loaded.
func startedFrom(t *testing.T, name string, a, base module.Assignment) (loss float64, table string) {
	t.Helper()
	still(&a)
	a.Seed, a.BaseModel = 7, base.ServingModelDir
	loss = done(t, run(t, name, a))["loss"]
	text, err := os.ReadFile(filepath.Join(a.ModelRunDir, "warm_start.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return loss, string(text)
}

const paid = `  value: "Cash"
  value: "Credit Card"
`

// The same words in another order are the same classes: the loss is that of the base model. Softmax
// adds its terms in another order, which float32 rounds to 6e-8 of the sum.
func TestClassesKeepTheirWeightsWhenTheirWordsStandInAnotherOrder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dnn", "linear", "wide_deep"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := payment(t)
			want := done(t, run(t, name, first))["loss"]
			again := payment(t)
			withSchema(t, &again, func(text string) string {
				return strings.Replace(strings.Replace(text, paid, "", 1), `  value: "Unknown"`, paid+`  value: "Unknown"`, 1)
			})
			if name == "wide_deep" {
				again.CustomConfig["linear_optimizer"], again.CustomConfig["linear_learning_rate"] = "sgd", 1e-30
			}
			got, table := startedFrom(t, name, again, first)
			if math.Abs(got-want) > 1e-6*want {
				t.Errorf("loss is %v, of the base model %v\n%s", got, want, table)
			}
			if !strings.Contains(table, "7 classes by label") {
				t.Errorf("the table has no classes\n%s", table)
			}
		})
	}
}

// A new class starts with initial weights, and the weights of a removed class are dropped.
func TestNewClassesStartFromNothing(t *testing.T) {
	t.Parallel()
	first := payment(t)
	run(t, "dnn", first)
	again := payment(t)
	withSchema(t, &again, func(text string) string {
		return strings.Replace(text, `  value: "Cash"`, "  value: \"Barter\"\n  value: \"Cash\"", 1)
	})
	_, table := startedFrom(t, "dnn", again, first)
	if !strings.Contains(table, "7 classes by label, 1 new (Barter)") {
		t.Errorf("table\n%s", table)
	}
}

// Integer classes are identified by their value, however many there are.
func TestIntegerClassesMayGrow(t *testing.T) {
	t.Parallel()
	first := assignment(t, "penguin", false, penguin())
	run(t, "dnn", first)
	config := penguin()
	config["num_classes"] = 5
	_, table := startedFrom(t, "dnn", assignment(t, "penguin", false, config), first)
	if !strings.Contains(table, "3 classes by label, 2 new (3, ...)") {
		t.Errorf("table\n%s", table)
	}
}

// TensorFlow's model does not name its classes: they are matched by position, with a note.
func TestUnknownClassesAreNoted(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", true, penguin())
	a.BaseModel = abs(t, kerasModel)
	run(t, "dnn", a)
	table, err := os.ReadFile(filepath.Join(a.ModelRunDir, "warm_start.txt"))
	if err != nil || strings.Count(string(table), "classes as they stand: what the old ones were isn't known") != 2 {
		t.Errorf("warm_start.txt: %v\n%s", err, table)
	}
}

// A label that a transform graph mapped to the index of its vocabulary is identified by its token.
func TestClassesOfAVocabularyThatGrewAreItsTokens(t *testing.T) {
	t.Parallel()
	config := func() map[string]any { return map[string]any{"label": "company_xf"} }
	first := assignment(t, "taxi", true, config())
	run(t, "dnn", first)
	again := assignment(t, "taxi", true, config())
	again.TransformGraphPath = grown(t)
	_, table := startedFrom(t, "dnn", again, first)
	if !strings.Contains(table, "classes by label, 1 new (New Company)\n") {
		t.Errorf("table\n%s", table)
	}
}
