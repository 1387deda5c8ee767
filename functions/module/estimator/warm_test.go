package estimator

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/module"
)

// A training that starts from a model, here with a tiny learning rate, ends with the same loss:
// every weight was loaded, and FTRL kept those of the wide part.
func TestAWarmStartTakesEveryWeight(t *testing.T) {
	t.Parallel()
	first := assignment(t, 60)
	before, err := serve(t.Context(), t, first, small(nil), &stopAt{})
	if err != nil {
		t.Fatal(err)
	}
	a := assignment(t, 1)
	a.BaseModel = first.ServingModelDir
	warmly := func(_ *Spec, e *DNNLinearCombinedClassifier) {
		e.Config.WarmStartFrom = a.BaseModel
		e.Config.Seed = new(int64(99)) // other weights, if they were not loaded
	}
	after, err := serve(t.Context(), t, a, small(warmly), &stopAt{})
	if err != nil {
		t.Fatal(err)
	}
	// One step of the usual rates changes the loss in the third digit; a new model has a loss of
	// 0.69.
	if math.Abs(after["loss"]-before["loss"]) > 0.01 {
		t.Errorf("loss was %v, and is %v after one step from there", before["loss"], after["loss"])
	}
	var table warmstart.Table
	text, err := os.ReadFile(filepath.Join(a.ModelRunDir, "warm_start.json"))
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Wide and its bias; two layers of the deep part.
	if want := len(taxiBuckets) + 1 + 4; table.Taken() != want {
		t.Errorf("%d params were taken, expected %d:\n%s", table.Taken(), want, table)
	}
}

// allKinds has columns of every kind, of raw features.
func allKinds(from string, classes ...string) Estimator {
	visits, city := Identity{Key: "visits", NumBuckets: 4}, Vocabulary{Key: "city"}
	age := Bucketized{Numeric{"age"}, []float32{20, 40, 60}}
	return DNNLinearCombinedClassifier{
		LinearFeatureColumns: []LinearColumn{visits, city, age, Numeric{"age"}},
		DNNFeatureColumns:    []DenseColumn{Indicator{visits}, Embedding{Hash{"city", 9}, 4}, age, Indicator{city}},
		DNNOptimizer:         quick(), DNNHiddenUnits: []int{8}, LabelVocabulary: classes,
		Config: RunConfig{WarmStartFrom: from},
	}
}

// Every row of every column is found. If the two classes change places, the single logit, which is
// that of the second one, is negated.
func TestAWarmStartFindsTheRowsOfEveryColumn(t *testing.T) {
	t.Parallel()
	first := shopping(t)
	before, err := serve(t.Context(), t, first, selling("again", allKinds("", "no", "yes")), &stopAt{})
	if err != nil {
		t.Fatal(err)
	}
	for name, classes := range map[string][]string{"same classes": {"no", "yes"}, "changed places": {"yes", "no"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := shopping(t)
			a.TrainSteps, a.Seed = new(1), 99
			after, err := serve(t.Context(), t, a, selling("again", allKinds(first.ServingModelDir, classes...)), &stopAt{})
			if err != nil {
				t.Fatal(err)
			}
			// Adam's first step is as long as its rate.
			if after["accuracy"] < before["accuracy"]-0.03 || before["accuracy"] < 0.9 {
				text, _ := os.ReadFile(filepath.Join(a.ModelRunDir, "warm_start.txt"))
				t.Errorf("accuracy was %v, and is %v after one step from there\n%s", before["accuracy"], after["accuracy"], text)
			}
		})
	}
}

func TestABaseModelThatIsNoneIsBadInput(t *testing.T) {
	t.Parallel()
	a := assignment(t, 1)
	nothing := func(_ *Spec, e *DNNLinearCombinedClassifier) { e.Config.WarmStartFrom = t.TempDir() }
	_, err := serve(t.Context(), t, a, small(nothing), &stopAt{})
	bad, ok := errors.AsType[*module.Error](err)
	if !ok || bad.Kind != module.KindInput || !strings.HasPrefix(bad.Message, "run config: find weights in ") {
		t.Errorf("error is %v", err)
	}
}
