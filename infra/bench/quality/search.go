package quality

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// objective is what searches here call a function's value.
const objective = "value"

// Search is one study with one worker, in memory: its log is what functions/execution/tuner would
// write. It ends early where a space is exhausted.
func Search(f Function, algorithm tune.Algorithm, seed, trials int) (Run, error) {
	run := Run{Function: f.Name, Seed: seed, Trials: trials}
	s, err := Begin(f, algorithm, seed, trials)
	if err != nil {
		return run, err
	}
	for trial := 1; trial <= trials; trial++ {
		suggestion, verdict, err := suggest.Next(s)
		if err != nil || verdict != tune.Try {
			return run, err
		}
		y, err := f.At(suggestion.Values)
		if err != nil {
			return run, fmt.Errorf("trial %d: %w", trial, err)
		}
		if err := Add(s, suggestion, y); err != nil {
			return run, err
		}
		if len(run.Better) == 0 || f.Direction.Better(y, run.Better[len(run.Better)-1].Value) {
			run.Better = append(run.Better, Better{trial, y})
		}
	}
	return run, nil
}

// Begin is a study of which nothing was tried yet.
func Begin(f Function, algorithm tune.Algorithm, seed, trials int) (*tune.Study, error) {
	s := new(tune.Study)
	return s, s.Apply(tune.Entry{Begun: &tune.Begun{Config: tune.Config{
		Space: f.Space, Objectives: []tune.Objective{{Name: objective, Direction: f.Direction}},
		Algorithm: algorithm, Seed: int64(seed), MaxTrials: trials,
	}}})
}

// Add adds a trial and its end to a study.
func Add(s *tune.Study, suggestion tune.Suggestion, y float64) error {
	id, owner := s.NextID(), tune.Owner{Job: "bench", Attempt: "1"}
	if err := s.Apply(tune.Entry{Started: []tune.Started{{Trial: id, Owner: owner, Suggestion: &suggestion}}}); err != nil {
		return err
	}
	return s.Apply(tune.Entry{Ended: &tune.Ended{
		Trial: id, Owner: owner, Status: tune.Completed, Metrics: map[string]float64{objective: y},
	}})
}
