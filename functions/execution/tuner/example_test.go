package tuner_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
)

// A search reports how many of its trials have ended.
func ExampleProgress() {
	worker := tune.Owner{Job: "5f3a", Attempt: "attempt-1"}
	values := space.Values{{Name: "units", Of: int64(16)}}
	var study tune.Study
	for _, entry := range []tune.Entry{
		{Begun: &tune.Begun{Config: tune.Config{
			Space:      space.Space{{Name: "units", Kind: space.Int, Min: 8, Max: 64}},
			Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}},
			Algorithm:  tune.Algorithm{Name: tune.Random}, MaxTrials: 20,
		}}},
		{Started: []tune.Started{{Trial: "0000", Suggestion: &tune.Suggestion{Values: values}, Owner: worker}}},
		{Ended: &tune.Ended{Trial: "0000", Owner: worker, Status: tune.Completed, Metrics: map[string]float64{"accuracy": 0.9}}},
	} {
		if err := study.Apply(entry); err != nil {
			fmt.Println(err)
			return
		}
	}
	progress := tuner.Progress(study)
	fmt.Println(progress.Step, "of", progress.Steps)
	// Output: 1 of 20
}
