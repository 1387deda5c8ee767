package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A grid search in one process. Each trial is an assignment of the module, and the best values are
// left as KerasTuner leaves them.
func ExampleLocal() {
	dir, err := os.MkdirTemp("", "search-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	wanted, err := json.Marshal(tune.Config{
		Space:      space.Space{{Name: "units", Kind: space.Int, Min: 8, Max: 24, Step: 8}},
		Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}},
		Algorithm:  tune.Algorithm{Name: tune.Grid},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	base := module.Assignment{Version: module.ProtocolVersion, Call: module.CallTune, TrainFiles: []string{"/data/Split-train/*"},
		BestHyperparametersDir: filepath.Join(dir, "best"), TunerResultsDir: filepath.Join(dir, "results")}
	for _, made := range []string{base.BestHyperparametersDir, base.TunerResultsDir} {
		if err := os.Mkdir(made, 0o700); err != nil {
			panic(err)
		}
	}

	study, err := search.Local{
		Wanted: wanted, Base: base, Dir: filepath.Join(dir, "trials"),
		OnStudy: func(tune.Study) {}, OnMessage: func(module.Message) {},
		Run: func(_ context.Context, a module.Assignment, _ func(module.Message)) (runner.Outcome, error) {
			var tried struct {
				Units int `json:"units"`
			}
			err := a.Tuned(&tried)
			return runner.Outcome{Metrics: map[string]float64{"accuracy": 1 / float64(tried.Units)}}, err
		},
	}.Make(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	best, err := search.ReadBest(base.BestHyperparametersDir)
	fmt.Println(len(study.Trials), "trials,", study.Finished.Why, best["units"], err)
	// Output: 3 trials, exhausted 8 <nil>
}

// A participant of a study appends what Plan returns: here the first trial, then its end together
// with the next trial.
func ExamplePlan() {
	var study tune.Study
	err := study.Apply(tune.Entry{Begun: &tune.Begun{Config: tune.Config{
		Space:      space.Space{{Name: "units", Kind: space.Int, Min: 8, Max: 24, Step: 8}},
		Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}},
		Algorithm:  tune.Algorithm{Name: tune.Grid},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	me := tune.Owner{Job: "5f3a", Attempt: "attempt-1"}
	var ended *tune.Ended
	for range 2 {
		entry, err := search.Plan(study, me, ended, time.Now())
		if err != nil {
			fmt.Println(err)
			return
		}
		started := entry.Started[0]
		fmt.Println("ended:", entry.Ended != nil, "started:", started.Trial, started.Suggestion.Values.Map())
		if err := study.Apply(entry); err != nil {
			fmt.Println(err)
			return
		}
		completed := search.Completed(study, started.Trial, search.Curves{}, map[string]float64{"accuracy": 0.9}, 0)
		completed.Owner = me
		ended = &completed
	}
	// Output:
	// ended: false started: 0000 map[units:8]
	// ended: true started: 0001 map[units:16]
}
