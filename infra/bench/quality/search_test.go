package quality

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
)

// A run records the best values in their order, and the same seed gives the same ones.
func TestASearchKeepsHowFarItCame(t *testing.T) {
	t.Parallel()
	random := tune.Algorithm{Name: tune.Random}
	run, err := Search(branin(), random, 1, 50)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Search(branin(), random, 1, 50)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Search(branin(), random, 2, 50)
	if err != nil {
		t.Fatal(err)
	}
	if run.After(50) != again.After(50) || run.After(50) == other.After(50) {
		t.Errorf("best of seed 1: %v and %v, of seed 2: %v", run.After(50), again.After(50), other.After(50))
	}
	for trials := 2; trials <= 50; trials++ {
		if run.After(trials) > run.After(trials-1) {
			t.Errorf("best after %d trials is %v, and was %v before", trials, run.After(trials), run.After(trials-1))
		}
	}
	if !math.IsNaN(run.After(0)) {
		t.Errorf("best of no trial is %v", run.After(0))
	}
}

func TestTheBestAfterATrialCountsThatTrial(t *testing.T) {
	t.Parallel()
	run := Run{Better: []Better{{1, 5}, {3, 2}}}
	if run.After(1) != 5 || run.After(2) != 5 || run.After(3) != 2 || run.After(100) != 2 {
		t.Errorf("best after 1, 2, 3 and 100 trials: %v, %v, %v, %v", run.After(1), run.After(2), run.After(3), run.After(100))
	}
}

func TestAFunctionIsServed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Serve(branin(), strings.NewReader(`{"x": 3.141592653589793, "y": 2.275}`+"\n"+`{"y": 0, "x": 0}`+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], `{"direction":"min","space":[{"class_name":"Float"`) ||
		lines[1] != "0.39788735772973816" || !strings.HasPrefix(lines[2], "55.6021") {
		t.Errorf("answers are %q", lines)
	}
	if err := Serve(branin(), strings.NewReader("x\n"), io.Discard); err == nil || !strings.Contains(err.Error(), "serve branin: x:") {
		t.Errorf("error of a bad line is %v", err)
	}
}

func TestPeersWereRecorded(t *testing.T) {
	t.Parallel()
	all, err := Recorded(OfFunctions)
	if err != nil {
		t.Fatal(err)
	}
	for name, recording := range all {
		for _, run := range recording.Runs {
			f, err := Find(Known(), run.Function)
			if err == nil && f.Direction == tune.Min && run.After(run.Trials) < f.Best-1e-9 {
				t.Errorf("%s: seed %d found %v of %s, less than there is", name, run.Seed, run.After(run.Trials), run.Function)
			}
			if run.Trials < 100 || len(run.Better) == 0 {
				t.Errorf("%s: seed %d of %s ended after %d trials", name, run.Seed, run.Function, run.Trials)
			}
		}
	}
	if got := QuartilesOf(After(all[OptunaTPE].Runs, "branin", 100)); got.Median > 0.5 || got.N < 10 {
		t.Errorf("Optuna's TPE after 100 trials of Branin: %+v", got)
	}
	if _, err := read(strings.NewReader("{}\n{\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error of a bad line is %v", err)
	}
}
