package tune

import (
	"time"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Config is all that decides a study but its log. Zero values mean: the default, or no bound.
type Config struct {
	Space      space.Space `json:"space"`
	Objectives []Objective `json:"objectives"` // one as a rule; of several the result is a Pareto set
	Algorithm  Algorithm   `json:"algorithm"`
	Stopping   Stopping    `json:"stopping,omitzero"`
	Seed       int64       `json:"seed"`

	Parallel    int           `json:"parallel,omitempty"`   // trials at once; default 1
	MaxTrials   int           `json:"max_trials,omitempty"` // that are begun, retries not counted. Hyperband has its own number
	MaxTime     time.Duration `json:"max_time,omitempty"`   // from the first entry of the log, by the bus's clock
	Goal        *float64      `json:"goal,omitempty"`       // a score that is good enough, of the first objective
	Patience    int           `json:"patience,omitempty"`   // trials completed, or infeasible, without a better one
	Retries     int           `json:"max_retries_per_trial,omitempty"`
	MaxFailures int           `json:"max_consecutive_failed_trials,omitempty"` // default 3

	Constraints []Constraint   `json:"constraints,omitempty"`
	Defaults    bool           `json:"defaults,omitempty"` // trial 0 is the space's defaults
	Points      []space.Values `json:"points,omitempty"`   // tried first, in their order
	Earlier     []Earlier      `json:"earlier,omitempty"`  // completed trials of an older study: learned from, not counted
}

// Objective is a metric that is made small, or large.
type Objective struct {
	Name      string    `json:"name"`
	Direction Direction `json:"direction"`
}

// Direction says which scores are better.
type Direction string

// The directions.
const (
	Min Direction = "min"
	Max Direction = "max"
)

// Better says whether score a is better than b.
func (d Direction) Better(a, b float64) bool {
	if d == Max {
		return a > b
	}
	return a < b
}

// Constraint is a metric that must not exceed a bound, or fall below one. A trial that breaks it is
// complete, learned from, and never the best.
type Constraint struct {
	Name string   `json:"name"`
	Max  *float64 `json:"max,omitempty"`
	Min  *float64 `json:"min,omitempty"`
}

// Algorithm says how the next trial is chosen.
type Algorithm struct {
	Name string `json:"name"` // one of the names below

	// Of algorithms whose trials have a budget in epochs. The runner of trials defines what an
	// epoch is.
	MaxEpochs  int `json:"max_epochs,omitempty"` // default 100
	Factor     int `json:"factor,omitempty"`     // default 3; of asha 4
	Iterations int `json:"iterations,omitempty"` // default 1
	MinEpochs  int `json:"min_epochs,omitempty"` // of asha: the first rung. Default 1

	InitialPoints int     `json:"initial_points,omitempty"` // random ones before a model is fitted; 0: by the algorithm
	Acquisition   string  `json:"acquisition,omitempty"`    // of bayesian: LogEI (default) or UCB
	Beta          float64 `json:"beta,omitempty"`           // of ucb; default 2.6, as KerasTuner's
}

// The algorithms.
const (
	Random    = "random"
	Grid      = "grid"
	Hyperband = "hyperband"
	ASHA      = "asha"
	Bayesian  = "bayesian"
	TPE       = "tpe"
	BOHB      = "bohb"
)

// algorithms are what is known of each, in the order in which messages list them. Package suggest
// has a function for each.
var algorithms = []algorithm{
	{name: Random},
	{name: Grid, ends: true},
	{name: Hyperband, epochs: true, ends: true},
	{name: ASHA, epochs: true, factor: 4},
	{name: Bayesian},
	{name: TPE},
	{name: BOHB, epochs: true, ends: true},
}

type algorithm struct {
	name   string
	epochs bool // trials have a budget in epochs, and continue others
	ends   bool // the algorithm has a number of trials of its own
	factor int  // default of Algorithm.Factor; 0: defaultFactor
}

// Algorithms returns the names of the algorithms.
func Algorithms() []string {
	var names []string
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// The acquisitions: what makes values worth a try.
const (
	LogEI = "logei" // the logarithm of the expected improvement
	UCB   = "ucb"   // what is expected, less so many deviations: a confidence bound
)

// Stopping ends trials early that do worse than others did at the same step.
type Stopping struct {
	Rule       string  `json:"rule,omitempty"`       // Median or Percentile; "": none
	Percentile float64 `json:"percentile,omitempty"` // a trial goes on in the best so many percent: 50 is the median
	MinTrials  int     `json:"min_trials,omitempty"` // completed before any is stopped; default 5
	MinStep    int     `json:"min_step,omitempty"`   // before which no trial is stopped
}

// The rules of stopping.
const (
	Median     = "median"
	Percentile = "percentile"
)

// Earlier is a completed trial of an older study.
type Earlier struct {
	Values  space.Values       `json:"values"`
	Metrics map[string]float64 `json:"metrics"`
}
