package quality

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// objective is the name of a function's value in a search.
const objective = "value"

// Search runs one study with one worker, in memory, with the log that functions/execution/tuner
// would write. It ends early if the space is exhausted.
func Search(f Function, algorithm tune.Algorithm, seed, trials int) (Run, error) {
	run, _, err := SearchAfter(f, algorithm, seed, trials, nil)
	return run, err
}

// SearchAfter is Search that learns from trials of older studies. It returns the study, too.
func SearchAfter(f Function, algorithm tune.Algorithm, seed, trials int, earlier []tune.Earlier) (Run, *tune.Study, error) {
	run := Run{Function: f.Name, Seed: seed, Trials: trials}
	s, err := begin(f, algorithm, seed, trials, earlier)
	if err != nil {
		return run, s, err
	}
	for trial := 1; trial <= trials; trial++ {
		suggestion, verdict, err := suggest.Next(s)
		if err != nil || verdict != tune.Try {
			return run, s, err
		}
		y, err := f.At(suggestion.Values)
		if err != nil {
			return run, s, fmt.Errorf("trial %d: %w", trial, err)
		}
		if err := add(s, suggestion, y); err != nil {
			return run, s, err
		}
		if len(run.Better) == 0 || f.Direction.Better(y, run.Better[len(run.Better)-1].Value) {
			run.Better = append(run.Better, Better{trial, y})
		}
	}
	return run, s, nil
}

// begin returns a study without trials.
func begin(f Function, algorithm tune.Algorithm, seed, trials int, earlier []tune.Earlier) (*tune.Study, error) {
	s := new(tune.Study)
	return s, s.Apply(tune.Entry{Begun: &tune.Begun{Config: tune.Config{
		Space: f.Space, Objectives: []tune.Objective{{Name: objective, Direction: f.Direction}},
		Algorithm: algorithm, Seed: int64(seed), MaxTrials: trials, Earlier: earlier,
	}}})
}

// add adds a trial and its end to a study.
func add(s *tune.Study, suggestion tune.Suggestion, y float64) error {
	id, owner := s.NextID(), tune.Owner{Job: "bench", Attempt: "1"}
	if err := s.Apply(tune.Entry{Started: []tune.Started{{Trial: id, Owner: owner, Suggestion: &suggestion}}}); err != nil {
		return err
	}
	return s.Apply(tune.Entry{Ended: &tune.Ended{
		Trial: id, Owner: owner, Status: tune.Completed, Metrics: map[string]float64{objective: y},
	}})
}

// Run is the progress of one search: the values that were better than all before.
type Run struct {
	Function   string   `json:"function"`
	Seed       int      `json:"seed"`
	Trials     int      `json:"trials"`
	CPUSeconds float64  `json:"cpu_s"` // of suggestions alone; 0: not measured
	Better     []Better `json:"better"`
}

// Better is a value that no earlier trial had reached.
type Better struct {
	Trial int // the first is 1
	Value float64
}

// After returns the best value of the first so many trials; NaN if there is none.
func (r Run) After(trials int) float64 {
	best := math.NaN()
	for _, b := range r.Better {
		if b.Trial <= trials {
			best = b.Value
		}
	}
	return best
}

// UnmarshalJSON reads [trial, value].
func (b *Better) UnmarshalJSON(text []byte) error {
	var two []float64
	if err := json.Unmarshal(text, &two); err != nil {
		return err
	}
	if len(two) != 2 {
		return fmt.Errorf("better: %s: expected [trial, value]", text)
	}
	b.Trial, b.Value = int(two[0]), two[1]
	return nil
}
