package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Report is a study for users and programs: its outcome so far, and a row for each trial.
type Report struct {
	Algorithm  string           `json:"algorithm"`
	Objectives []tune.Objective `json:"objectives"`
	Validation tune.Validation  `json:"validation,omitzero"`
	MaxTrials  int              `json:"max_trials,omitempty"`
	Parallel   int              `json:"parallel,omitempty"`
	Begun      time.Time        `json:"begun,omitzero"`
	Last       time.Time        `json:"last,omitzero"` // when the log last grew
	Finished   *tune.Finished   `json:"finished,omitempty"`
	Counts     Counts           `json:"counts"`
	// The best trial; with several objectives, the Pareto set.
	Best   []string `json:"best"`
	Trials []Row    `json:"trials"` // in the order in which they were begun
}

// Counts are numbers of trials by their state. Those that wait for another try are among Running.
type Counts struct {
	Running int `json:"running"`
	// Including those that were stopped early, which are also in Stopped.
	Completed  int `json:"completed"`
	Stopped    int `json:"stopped"`
	Failed     int `json:"failed"`
	Infeasible int `json:"infeasible"`
}

// Row is one trial.
type Row struct {
	Trial  string      `json:"trial"`
	Status tune.Status `json:"status"`
	Best   bool        `json:"best"`
	Score  *float64    `json:"score"` // of the first objective; null while there is none
	Step   int         `json:"step,omitempty"`

	Parent    string `json:"parent,omitempty"`
	From      int    `json:"from,omitempty"`
	Epochs    int    `json:"epochs,omitempty"`
	Bracket   int    `json:"bracket,omitempty"`
	Round     int    `json:"round,omitempty"`
	Iteration int    `json:"iteration,omitempty"`

	// The step that it had reached when it was stopped early.
	Stopped int       `json:"stopped,omitempty"`
	Breaks  bool      `json:"breaks_constraints,omitempty"`
	Tries   int       `json:"tries"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// From its beginning to its end, by the bus's clock.
	Seconds float64 `json:"seconds,omitempty"`
	// The job that ran it last, and its attempt.
	Job     string `json:"job,omitempty"`
	Attempt string `json:"attempt,omitempty"`
	Worker  string `json:"worker,omitempty"`

	Values  space.Values       `json:"values"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Message string             `json:"message,omitempty"`
}

// Of returns the report of a study.
func Of(s *tune.Study) Report {
	r := Report{
		Algorithm: s.Config.Algorithm.Name, Objectives: s.Config.Objectives, Validation: s.Config.Validation,
		MaxTrials: s.Config.MaxTrials, Parallel: s.Config.Parallel,
		Begun: s.Begun, Last: s.Last, Finished: s.Finished, Best: []string{}, Trials: []Row{},
	}
	if s.Entries > 0 {
		for _, t := range s.Pareto() {
			r.Best = append(r.Best, t.ID)
		}
	}
	for _, t := range s.Trials {
		r.Counts.add(t)
		r.Trials = append(r.Trials, rowOf(s, t, slices.Contains(r.Best, t.ID)))
	}
	return r
}

func (c *Counts) add(t *tune.Trial) {
	switch t.Status {
	case tune.Running, tune.Invalid:
		c.Running++
	case tune.Completed:
		c.Completed++
	case tune.Failed:
		c.Failed++
	case tune.Infeasible:
		c.Infeasible++
	}
	if t.Status == tune.Completed && t.Stopped > 0 {
		c.Stopped++
	}
}

func rowOf(s *tune.Study, t *tune.Trial, best bool) Row {
	row := Row{
		Trial: t.ID, Status: t.Status, Best: best, Step: t.Step, Stopped: t.Stopped, Tries: t.Tries,
		Parent: t.Parent, From: t.From, Epochs: t.Epochs, Bracket: t.Bracket, Round: t.Round, Iteration: t.Iteration,
		Started: t.Started, Ended: t.Ended, Values: t.Values, Metrics: t.Metrics, Message: t.Message,
		Breaks: t.Status == tune.Completed && !s.Feasible(t), Job: t.By.Job, Attempt: t.By.Attempt, Worker: t.Worker,
	}
	if score, there := s.Score(t); there && t.Status == tune.Completed {
		row.Score = &score
	}
	if !t.Ended.IsZero() {
		row.Seconds = t.Ended.Sub(t.Started).Seconds()
	}
	return row
}

// State is what became of a trial, in a word or two for users.
type State string

// The states of trials.
const (
	StateRunning     State = "running"
	StateRetry       State = "to be retried"
	StateCutShort    State = "cut short" // a failed try, when the study ended
	StateCompleted   State = "completed"
	StateStopped     State = "stopped" // completed early: the study stopped it
	StateConstrained State = "breaks constraints"
	StateFailed      State = "failed"
	StateInfeasible  State = "infeasible"
)

// States returns the states of trials.
func States() []State {
	return []State{StateRunning, StateRetry, StateCutShort, StateCompleted, StateStopped, StateConstrained, StateFailed, StateInfeasible}
}

// State returns the state of a trial.
func (r Report) State(trial Row) State {
	switch {
	case trial.Status == tune.Invalid && r.Finished != nil:
		return StateCutShort
	case trial.Status == tune.Invalid:
		return StateRetry
	case trial.Stopped > 0:
		return StateStopped
	case trial.Breaks:
		return StateConstrained
	}
	return State(strings.ToLower(string(trial.Status)))
}

// InWords describes the state of a trial. The texts are the same wherever a study is shown.
func (r Report) InWords(trial Row) string {
	if trial.Stopped > 0 {
		return fmt.Sprintf("%s at %d", StateStopped, trial.Stopped)
	}
	return string(r.State(trial))
}

// JSON writes the report as one indented object.
func (r Report) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
