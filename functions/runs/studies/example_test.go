package studies_test

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs/studies"
)

// A worker begins a study and one trial of it. A reader finds the study by the beginning of its
// id, and an operator stops it.
func Example() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	name := events.Study{Pipeline: "penguin", ID: "c0ffee"}
	log, err := studies.Open(ctx, bus, name, studies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	begin := tune.Entry{Begun: &tune.Begun{Config: tune.Config{
		Space:      space.Space{{Name: "units", Kind: space.Int, Min: 8, Max: 64}},
		Objectives: []tune.Objective{{Name: "val_loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.Random}, MaxTrials: 10,
	}}}
	start := tune.Entry{Started: []tune.Started{{
		Trial: "0000", Suggestion: &tune.Suggestion{Values: space.Values{{Name: "units", Of: int64(16)}}},
		Owner: tune.Owner{Job: "5f3a", Attempt: "attempt-1"},
	}}}
	for _, entry := range []tune.Entry{begin, start} {
		// A worker derives the entry from the study: it is called again if another one was first.
		if err := log.Write(ctx, func(tune.Study) (tune.Entry, error) { return entry, nil }); err != nil {
			fmt.Println(err)
			return
		}
	}

	found, err := studies.Find(ctx, bus, "c0f")
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := studies.Read(ctx, bus, found)
	fmt.Println(found, "has", len(state.Study.Running()), "running trial", err)
	state, err = studies.Stop(ctx, bus, found, "good enough")
	fmt.Println(state.Study.Finished.Why, err)
	// Output:
	// {penguin c0ffee} has 1 running trial <nil>
	// stopped <nil>
}

// The studies of all pipelines are listed, the most recently grown first.
func ExampleList() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	for _, id := range []string{"aaaa", "bbbb"} {
		entry := tune.Entry{Begun: &tune.Begun{Config: tune.Config{
			Space:      space.Space{{Name: "units", Kind: space.Int, Min: 8, Max: 64}},
			Objectives: []tune.Objective{{Name: "val_loss", Direction: tune.Min}},
			Algorithm:  tune.Algorithm{Name: tune.Bayesian}, MaxTrials: 20,
		}}}
		body, err := entry.Bytes()
		if err != nil {
			fmt.Println(err)
			return
		}
		if _, err := bus.AppendStudy(ctx, events.Study{Pipeline: "penguin", ID: id}, body, 0); err != nil {
			fmt.Println(err)
			return
		}
	}
	list, err := studies.List(ctx, bus, "")
	for _, listed := range list {
		fmt.Println(listed.Name.ID, listed.Study.Config.Algorithm.Name)
	}
	fmt.Println(err)
	// Output:
	// bbbb bayesian
	// aaaa bayesian
	// <nil>
}
