package tune

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Config is everything besides the log that determines a study. A zero value means the default, or
// no limit.
type Config struct {
	Space space.Space `json:"space"`
	// Usually one; with several, the result is a Pareto set.
	Objectives []Objective `json:"objectives"`
	Algorithm  Algorithm   `json:"algorithm"`
	Stopping   Stopping    `json:"stopping,omitzero"`
	// How trials are judged; its zero value: on evaluation data.
	Validation Validation `json:"validation,omitzero"`
	Seed       int64      `json:"seed"`

	Parallel int `json:"parallel,omitempty"` // trials at once; default 1
	// Trials to begin, without retries; Hyperband has a number of its own.
	MaxTrials int `json:"max_trials,omitempty"`
	// From the first entry of the log, by the bus's clock.
	MaxTime time.Duration `json:"max_time,omitempty"`
	// A score of the first objective that is good enough.
	Goal *float64 `json:"goal,omitempty"`
	// Trials completed, or infeasible, without a better one.
	Patience    int `json:"patience,omitempty"`
	Retries     int `json:"max_retries_per_trial,omitempty"`
	MaxFailures int `json:"max_consecutive_failed_trials,omitempty"` // default 3

	Constraints []Constraint   `json:"constraints,omitempty"`
	Defaults    bool           `json:"defaults,omitempty"` // trial 0 is the space's defaults
	Points      []space.Values `json:"points,omitempty"`   // tried first, in this order
	// Completed trials of older studies: learned from, but not counted.
	Earlier []Earlier `json:"earlier,omitempty"`
}

// Objective is a metric that is minimized or maximized.
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

// Better reports whether score a is better than b.
func (d Direction) Better(a, b float64) bool {
	if d == Max {
		return a > b
	}
	return a < b
}

// Constraint is a metric that must not exceed a limit, or fall below one. A trial that violates it
// is complete, is learned from, and is never the best.
type Constraint struct {
	Name string   `json:"name"`
	Max  *float64 `json:"max,omitempty"`
	Min  *float64 `json:"min,omitempty"`
}

// Algorithm configures how the next trial is chosen.
type Algorithm struct {
	Name string `json:"name"` // one of the names below

	// For algorithms whose trials have a budget in epochs. The code that runs trials defines what
	// an epoch is.
	MaxEpochs  int `json:"max_epochs,omitempty"` // default 100
	Factor     int `json:"factor,omitempty"`     // default 3; for asha 4
	Iterations int `json:"iterations,omitempty"` // default 1
	MinEpochs  int `json:"min_epochs,omitempty"` // for asha: the first rung; default 1

	// Random points before a model is fitted; 0: the algorithm's default.
	InitialPoints int     `json:"initial_points,omitempty"`
	Acquisition   string  `json:"acquisition,omitempty"` // for bayesian: LogEI (default) or UCB
	Beta          float64 `json:"beta,omitempty"`        // for ucb; default 2.6, as in KerasTuner
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

// algorithms lists their properties, in the order in which messages list them. Package suggest has
// a function for each.
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

// The acquisitions: criteria for choosing the next values.
const (
	LogEI = "logei" // the logarithm of the expected improvement
	UCB   = "ucb"   // the expected value minus so many deviations: a confidence bound
)

// Stopping ends trials early that do worse than others did at the same step.
type Stopping struct {
	Rule string `json:"rule,omitempty"` // Median or Percentile; "": none
	// A trial continues while it is among the best trials, this many percent: 50 is the median.
	Percentile float64 `json:"percentile,omitempty"`
	MinTrials  int     `json:"min_trials,omitempty"` // completed before any is stopped; default 5
	MinStep    int     `json:"min_step,omitempty"`   // before which no trial is stopped
}

// The rules of stopping.
const (
	Median     = "median"
	Percentile = "percentile"
)

// Validation judges trials by folds of the training rows: a trial trains a model for each fold.
// After each, it reports the means of the metrics over the folds that it has done, as those of the
// step with the number of these folds. An epoch of an algorithm's budget is a fold.
type Validation struct {
	Folds int    `json:"folds,omitempty"` // MinFolds to MaxFolds
	Order string `json:"order,omitempty"` // Forward; "": rows are divided at random
}

// Forward is the order of folds that train on earlier rows than they are judged by.
const Forward = "forward"

// The bounds of Validation.Folds.
const (
	MinFolds = 2
	MaxFolds = 20
)

// String describes the validation, like "5 folds, forward"; "" if trials are judged on evaluation
// data.
func (v Validation) String() string {
	switch {
	case v.Folds == 0:
		return ""
	case v.Order == "":
		return fmt.Sprintf("%d folds", v.Folds)
	}
	return fmt.Sprintf("%d folds, %s", v.Folds, v.Order)
}

// Folds returns how many folds a trial has at most; 0 without validation.
func (c Config) Folds() int {
	if c.Validation.Folds > 0 && c.Algorithm.HasEpochs() && c.Algorithm.MaxEpochs > 0 {
		return c.Algorithm.MaxEpochs
	}
	return c.Validation.Folds
}

// Judged returns the point of a curve of an objective by which its trial is judged; false if no
// value is a number. It is the best one, as in KerasTuner; with validation it is the last one,
// because the best of the running means is that of the folds with most luck.
func (c Config) Judged(o Objective, curve []Point) (point Point, there bool) {
	if c.Validation.Folds == 0 {
		return o.Best(curve)
	}
	for _, p := range curve {
		if !math.IsNaN(p.Value) {
			point, there = p, true
		}
	}
	return point, there
}

// Earlier is a completed trial of an older study.
type Earlier struct {
	Values  space.Values       `json:"values"`
	Metrics map[string]float64 `json:"metrics"`
	// Study is 0 for a study of the same objective, whose results count as if they were of this
	// one. Others are numbered from 1, the newest first: what they are worth is found out by how
	// well they predict the order of this study's results.
	Study int `json:"study,omitempty"`
}

// DirectionOf returns whether less or more of a metric is better, by its name in Keras or
// KerasTuner: val_loss, AUC, f1_score, val_weighted_MeanSquaredError, auc_1; false if the name is
// of no known metric.
//
// It follows KerasTuner, except where that is wrong: F1, R2, IoU and the like are scores, of which
// more is better.
func DirectionOf(metric string) (Direction, bool) {
	name := metricName(metric)
	ends := func(with string) bool { return name == with || strings.HasSuffix(name, "_"+with) }
	switch {
	case slices.ContainsFunc(less, ends):
		return Min, true
	case slices.ContainsFunc(more, ends):
		return Max, true
	}
	return "", false
}

// Metrics returns the last words of the names whose direction DirectionOf knows.
func Metrics() []string { return slices.Concat(more, less) }

// The last words of metrics, by direction.
var (
	more = []string{
		"acc", "accuracy", "auc", "precision", "recall", "sensitivity", "specificity", "true_positives", "true_negatives",
		"f1", "f1_score", "fbeta_score", "f_score", "r2", "r2_score", "io_u", "iou", "ndcg", "mrr", "kappa",
		"cosine_similarity", "pearson_correlation", "concordance_correlation",
	}
	less = []string{
		"loss", "crossentropy", "cross_entropy", "ce", "nll", "error", "error_rate", "mse", "mae", "mape", "msle", "rmse", "rmsle",
		"hinge", "kld", "divergence", "kldivergence", "poisson", "logcosh", "log_cosh", "perplexity", "deviance", "brier_score",
		"false_positives", "false_negatives",
	}

	camel   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	counted = regexp.MustCompile(`_[0-9]+$`) // ends the name of the second metric of a kind: auc_1
)

// metricName returns a metric's name in lower case and with underscores, without the parts for the
// data set and for the number of its kind.
func metricName(metric string) string {
	name := strings.TrimPrefix(metric, "val_")
	name = strings.TrimPrefix(name, "weighted_")
	name = strings.ToLower(camel.ReplaceAllString(name, "${1}_${2}"))
	return counted.ReplaceAllString(name, "")
}

// The defaults, KerasTuner's if it has one.
const (
	defaultTrials    = 10
	defaultFailures  = 3
	defaultEpochs    = 100
	defaultFactor    = 3
	defaultBeta      = 2.6
	defaultOfMedian  = 50
	defaultMinTrials = 5
)

// Check returns what is wrong with a config, naming its first invalid field.
func (c Config) Check() error {
	for _, check := range []func() error{
		c.checkSpace, c.checkObjectives, c.checkValidation, c.budgeted().check, c.Stopping.check, c.checkBounds, c.checkPoints,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, constraint := range c.Constraints {
		switch {
		case constraint.Name == "":
			return fmt.Errorf("constraints: name: missing")
		case constraint.Max == nil && constraint.Min == nil:
			return fmt.Errorf("constraints: %s: expected a max or a min", constraint.Name)
		}
	}
	return nil
}

func (c Config) checkSpace() error {
	if err := c.Space.Check(); err != nil {
		return fmt.Errorf("space: %w", err)
	}
	return nil
}

func (c Config) checkPoints() error {
	for i, point := range c.Points {
		if p, outside := c.Space.Outside(point); outside {
			value, _ := point.Lookup(p.Name)
			return fmt.Errorf("points[%d]: %s: %v is not in the space", i, p.Name, value)
		}
	}
	return nil
}

func (c Config) checkObjectives() error {
	if len(c.Objectives) == 0 {
		return fmt.Errorf("objectives: expected one at least")
	}
	var names []string
	for i, o := range c.Objectives {
		switch {
		case o.Name == "":
			return fmt.Errorf("objectives[%d]: name: missing", i)
		case slices.Contains(names, o.Name):
			return fmt.Errorf("objectives[%d]: %s: is there twice", i, o.Name)
		case o.Direction != Min && o.Direction != Max:
			return fmt.Errorf("objectives[%d]: %s: direction: expected %s or %s, got %q", i, o.Name, Min, Max, o.Direction)
		}
		names = append(names, o.Name)
	}
	return nil
}

// Check returns an error that names the first invalid field.
func (v Validation) Check() error {
	switch {
	case v.Folds < MinFolds || v.Folds > MaxFolds:
		return fmt.Errorf("validation.folds: expected %d to %d, got %d", MinFolds, MaxFolds, v.Folds)
	case v.Order != "" && v.Order != Forward:
		return fmt.Errorf("validation.order: expected %s, got %q", Forward, v.Order)
	}
	return nil
}

func (c Config) checkValidation() error {
	v := c.Validation
	if v == (Validation{}) {
		return nil
	}
	if err := v.Check(); err != nil {
		return err
	}
	switch {
	case c.Algorithm.HasEpochs() && c.Algorithm.MaxEpochs > v.Folds:
		return fmt.Errorf("algorithm: max_epochs: an epoch is a fold, and %d is more than validation.folds, %d", c.Algorithm.MaxEpochs, v.Folds)
	case c.Stopping.MinStep >= v.Folds:
		return fmt.Errorf("stopping: min_step: a step is a fold, and %d is not less than validation.folds, %d: no trial would be stopped", c.Stopping.MinStep, v.Folds)
	}
	return nil
}

// checkBounds accepts KerasTuner's values for no limit: 0, or nothing.
func (c Config) checkBounds() error {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"parallel", c.Parallel}, {"max_trials", c.MaxTrials}, {"patience", c.Patience}, {"max_time", int(c.MaxTime)},
		{"max_retries_per_trial", c.Retries}, {"max_consecutive_failed_trials", c.MaxFailures},
	} {
		if n.value < 0 {
			return fmt.Errorf("%s: expected 0 or more, got %d", n.name, n.value)
		}
	}
	return nil
}

func (a Algorithm) check() error {
	if !slices.Contains(Algorithms(), a.Name) {
		return fmt.Errorf("algorithm: name: expected one of %s, got %q", strings.Join(Algorithms(), ", "), a.Name)
	}
	for _, n := range []struct {
		name         string
		value, least int
	}{
		{"max_epochs", a.MaxEpochs, 1}, {"factor", a.Factor, 2}, {"iterations", a.Iterations, 1}, {"min_epochs", a.MinEpochs, 1},
		{"initial_points", a.InitialPoints, 1},
	} {
		if n.value != 0 && n.value < n.least || n.value > math.MaxInt32 {
			return fmt.Errorf("algorithm: %s: expected %d to %d, got %d", n.name, n.least, math.MaxInt32, n.value)
		}
	}
	a = a.withDefaults()
	switch {
	case a.MinEpochs > a.MaxEpochs && a.HasEpochs():
		return fmt.Errorf("algorithm: min_epochs: %d is more than max_epochs, %d", a.MinEpochs, a.MaxEpochs)
	case a.Acquisition != LogEI && a.Acquisition != UCB:
		return fmt.Errorf("algorithm: acquisition: expected %s or %s, got %q", LogEI, UCB, a.Acquisition)
	case !(a.Beta > 0):
		return fmt.Errorf("algorithm: beta: expected more than 0, got %v", a.Beta)
	}
	return nil
}

// HasEpochs reports whether trials have a budget in epochs, and continue others.
func (a Algorithm) HasEpochs() bool {
	return slices.ContainsFunc(algorithms, func(known algorithm) bool { return known.name == a.Name && known.epochs })
}

// EndsByItself reports whether the algorithm has a number of trials of its own.
func (a Algorithm) EndsByItself() bool {
	return slices.ContainsFunc(algorithms, func(known algorithm) bool { return known.name == a.Name && known.ends })
}

func (s Stopping) check() error {
	switch {
	case s.Rule != "" && s.Rule != Median && s.Rule != Percentile:
		return fmt.Errorf("stopping: rule: expected %s or %s, got %q", Median, Percentile, s.Rule)
	case s.Percentile < 0 || s.Percentile > 100:
		return fmt.Errorf("stopping: percentile: expected 0 to 100, got %v", s.Percentile)
	case s.MinTrials < 0:
		return fmt.Errorf("stopping: min_trials: expected 0 or more, got %d", s.MinTrials)
	case s.MinStep < 0:
		return fmt.Errorf("stopping: min_step: expected 0 or more, got %d", s.MinStep)
	}
	return nil
}

// withDefaults fills in defaults. A search that nothing else ends has ten trials; grid and
// Hyperband end by themselves.
func (c Config) withDefaults() Config {
	c.Algorithm = c.budgeted().withDefaults()
	c.Parallel = cmp.Or(c.Parallel, 1)
	c.MaxFailures = cmp.Or(c.MaxFailures, defaultFailures)
	ends := c.MaxTime > 0 || c.Patience > 0 || c.Algorithm.EndsByItself()
	if c.MaxTrials == 0 && !ends {
		c.MaxTrials = defaultTrials
	}
	if c.Stopping.Rule != "" {
		c.Stopping.MinTrials = cmp.Or(c.Stopping.MinTrials, defaultMinTrials)
		c.Stopping.Percentile = cmp.Or(c.Stopping.Percentile, defaultOfMedian)
	}
	return c
}

// budgeted returns the algorithm with the folds of a complete trial as its epochs, if it has epochs
// and their number is not given.
func (c Config) budgeted() Algorithm {
	a := c.Algorithm
	if a.HasEpochs() {
		a.MaxEpochs = cmp.Or(a.MaxEpochs, c.Validation.Folds)
	}
	return a
}

func (a Algorithm) withDefaults() Algorithm {
	if a.HasEpochs() {
		known := algorithms[slices.Index(Algorithms(), a.Name)]
		a.MaxEpochs = cmp.Or(a.MaxEpochs, defaultEpochs)
		a.Factor = cmp.Or(a.Factor, known.factor, defaultFactor)
		a.Iterations = cmp.Or(a.Iterations, 1)
		a.MinEpochs = cmp.Or(a.MinEpochs, 1)
	}
	a.Acquisition = cmp.Or(a.Acquisition, LogEI)
	a.Beta = cmp.Or(a.Beta, defaultBeta)
	return a
}

// bounded returns a config with the limits and budgets of another: these may change without making
// it another study.
func (c Config) bounded(by Config) Config {
	c.Parallel, c.MaxTrials, c.MaxTime, c.Goal, c.Patience = by.Parallel, by.MaxTrials, by.MaxTime, by.Goal, by.Patience
	c.Retries, c.MaxFailures = by.Retries, by.MaxFailures
	return c
}
