package tune_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// A log of entries is folded to a study: two trials ran, the second one is the best.
func ExampleStudy() {
	config := tune.Config{
		Space:      space.Space{{Name: "units", Kind: space.Int, Min: 8, Max: 64}},
		Objectives: []tune.Objective{{Name: "val_accuracy", Direction: tune.Max}},
		Algorithm:  tune.Algorithm{Name: tune.Random},
		MaxTrials:  2,
	}
	worker := tune.Owner{Job: "5f3a", Attempt: "attempt-1"}
	start := func(id string, units int64) tune.Entry {
		values := space.Values{{Name: "units", Of: units}}
		return tune.Entry{Started: []tune.Started{{Trial: id, Suggestion: &tune.Suggestion{Values: values}, Owner: worker}}}
	}
	end := func(id string, accuracy float64) tune.Entry {
		metrics := map[string]float64{"val_accuracy": accuracy}
		return tune.Entry{Ended: &tune.Ended{Trial: id, Owner: worker, Status: tune.Completed, Metrics: metrics}}
	}

	var study tune.Study
	log := []tune.Entry{{Begun: &tune.Begun{Config: config}}, start("0000", 16), end("0000", 0.81), start("0001", 32), end("0001", 0.93)}
	for _, entry := range log {
		if err := study.Apply(entry); err != nil {
			fmt.Println(err)
		}
	}
	best := study.Leader()
	score, _ := study.Score(best)
	fmt.Println("trial", best.ID, best.Values.Map(), score)
	fmt.Println("the study ends:", study.Due(time.Now()).Why)
	// Output:
	// trial 0001 map[units:32] 0.93
	// the study ends: max_trials
}

// Each entry carries the hash of the one before it. An entry whose writer had read another log is
// skipped by every reader.
func ExampleStudy_Enter() {
	begun := tune.Entry{Begun: &tune.Begun{Config: tune.Config{
		Space:      space.Space{{Name: "units", Kind: space.Int, Min: 8, Max: 64}},
		Objectives: []tune.Objective{{Name: "val_loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.Random},
		MaxTrials:  10,
	}}}
	stop := tune.Entry{Finished: &tune.Finished{Why: tune.Stopped}}

	var study tune.Study
	enter := func(e tune.Entry) error {
		body, err := e.Bytes()
		if err != nil {
			return err
		}
		return study.Enter(body, time.Time{})
	}
	fmt.Println(enter(begun))
	stop.Previous = tune.HashOf([]byte("an entry that the bus has lost"))
	fmt.Println(errors.Is(enter(stop), tune.ErrUnchained))
	stop.Previous = study.Head()
	fmt.Println(enter(stop))
	fmt.Println(study.Finished.Why, "after", study.Skipped, "skipped entry")
	// Output:
	// <nil>
	// true
	// <nil>
	// stopped after 1 skipped entry
}

func ExampleDirectionOf() {
	for _, metric := range []string{"val_loss", "val_auc_1", "f1_score", "profit"} {
		direction, known := tune.DirectionOf(metric)
		fmt.Println(metric, direction, known)
	}
	// Output:
	// val_loss min true
	// val_auc_1 max true
	// f1_score max true
	// profit  false
}

// The first front holds the points that no other is better than in every score.
func ExampleFronts() {
	lossAndLatency := [][]float64{{0.30, 10}, {0.20, 20}, {0.35, 12}, {0.25, 25}}
	fmt.Println(tune.Fronts(lossAndLatency))
	// Output: [[0 1] [2 3]]
}
