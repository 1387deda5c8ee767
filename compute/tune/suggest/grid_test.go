package suggest_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// gridVectors are what KerasTuner's GridSearch tried.
func gridVectors(t *testing.T) (order []map[string]any, float []float64) {
	t.Helper()
	text, err := os.ReadFile("testdata/grid.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		GridOrder       []map[string]any `json:"grid_order"`
		GridFloatNostep []float64        `json:"grid_float_nostep"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all.GridOrder, all.GridFloatNostep
}

// families is the space of the vector: k is a child of m, and there is a default in the middle of
// lr.
var families = space.Space{
	{Name: "m", Kind: space.Choice, Choices: []any{"a", "b"}},
	{Name: "k", Kind: space.Int, Min: 1, Max: 2, Conditions: []space.Condition{{Parent: "m", Values: []any{"b"}}}},
	{Name: "z", Kind: space.Boolean},
	{Name: "lr", Kind: space.Float, Min: 0.1, Max: 1, Step: 0.45, Default: 0.55},
}

func TestGridGoesInKerasTunersOrder(t *testing.T) {
	t.Parallel()
	order, _ := gridVectors(t)
	l := begin(t, config(tune.Algorithm{Name: tune.Grid}, families...))
	l.search(func(*tune.Trial) float64 { return 1 })
	if len(l.study.Trials) != len(order) {
		t.Fatalf("%d trials, expected %d", len(l.study.Trials), len(order))
	}
	for i, trial := range l.study.Trials {
		if want := keyOf(order[i]); trial.Values.Key() != want {
			t.Errorf("trial %d: got %s, expected %s", i, trial.Values.Key(), want)
		}
	}
}

func keyOf(values map[string]any) string {
	var all space.Values
	for name, value := range values {
		all = append(all, space.Value{Name: name, Of: value})
	}
	return all.Key()
}

// KerasTuner's values are the elements of a set, so they come in any order, except for the default.
func TestGridOfAFloatWithoutStepsHasElevenValues(t *testing.T) {
	t.Parallel()
	_, want := gridVectors(t)
	slices.Sort(want)
	l := begin(t, config(tune.Algorithm{Name: tune.Grid}, unit("x")))
	l.search(func(*tune.Trial) float64 { return 1 })
	var got []float64
	for _, trial := range l.study.Trials {
		got = append(got, float(trial.Values, "x"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
}

// KerasTuner's grid search crashes if it is resumed (KeyError). Here three workers end in another
// order than they began, one trial fails, and all points are tried once.
func TestGridNeedsNothingButTheLog(t *testing.T) {
	t.Parallel()
	order, _ := gridVectors(t)
	c := config(tune.Algorithm{Name: tune.Grid}, families...)
	c.Parallel = 3
	l := begin(t, c)
	running := []*tune.Trial{}
	tried := map[string]int{}
	for n := 0; ; n++ {
		trial, verdict := l.start("worker" + string(rune('a'+n)))
		if trial != nil {
			tried[trial.Values.Key()]++
			running = append(running, trial)
		}
		if verdict == tune.Over {
			break
		}
		if verdict == tune.Wait || len(running) == 3 {
			last := running[len(running)-1]
			running = running[:len(running)-1]
			l.end(last, map[bool]float64{true: math.NaN(), false: 1}[n == 7])
		}
	}
	if len(tried) != len(order) || len(l.study.Trials) != len(order) {
		t.Errorf("%d points in %d trials, expected %d", len(tried), len(l.study.Trials), len(order))
	}
}

// A running trial may yet find a parameter: a free participant waits for it, and then its points
// are tried in their order.
func TestGridTakesParametersThatAreFoundLater(t *testing.T) {
	t.Parallel()
	l := begin(t, config(tune.Algorithm{Name: tune.Grid}, families[0]))
	l.study.Config.Parallel = 2
	first, _ := l.start("one")
	second, _ := l.start("two")
	if _, verdict := l.start("three"); verdict != tune.Wait {
		t.Fatalf("verdict %v while trials run", verdict)
	}
	l.apply(tune.Entry{Space: space.Space{families[1], families[2]}})
	l.end(first, 1)
	l.end(second, 1)
	var got []string
	for {
		trial, verdict := l.start("one")
		if verdict == tune.Over {
			break
		}
		got = append(got, string(must(json.Marshal(trial.Values))))
		l.end(trial, 1)
	}
	want := []string{`{"m":"a","z":true}`, `{"m":"b","z":true,"k":1}`, `{"m":"b","z":false,"k":2}`, `{"m":"b","z":true,"k":2}`}
	for i := range want {
		if i >= len(got) || keyOfText(got[i]) != keyOfText(want[i]) {
			t.Fatalf("got %v, expected %v", got, want)
		}
	}
}

func keyOfText(text string) string {
	var values space.Values
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return err.Error()
	}
	return values.Key()
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}
