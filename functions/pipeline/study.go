package pipeline

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
)

// Study configures a search, as far as that is not left to the module: each key that is set
// overrides the module's value. compute/tune documents their meaning.
type Study struct {
	Algorithm   *Algorithm       `json:"algorithm,omitempty" jsonschema:"description=How the next trial is chosen. Default: the module's; bayesian for builtin modules"`
	Objective   Objectives       `json:"objective,omitempty" jsonschema:"description=Metric by which trials are compared\\, or a list of metrics\\, of which the Pareto set is searched for. Default: the module's; accuracy\\, auc or rmse for builtin modules"`
	Constraints []Constraint     `json:"constraints,omitempty" jsonschema:"description=Bounds of metrics. A trial that violates one is never the best. Default: none"`
	Validation  *Validation      `json:"validation,omitempty" jsonschema:"description=Judges trials of a builtin module by folds of the rows of train_args.splits\\, and not on the splits of eval_args. Default: on the evaluation splits"`
	Stopping    *Stopping        `json:"stopping,omitempty" jsonschema:"description=Ends trials that do worse than others did at the same step. Default: the module's"`
	MaxTrials   int              `json:"max_trials,omitempty" jsonschema:"minimum=1,description=Number of trials that are started\\, without retries. Default: the module's; 20 for builtin modules"`
	MaxTime     Duration         `json:"max_time,omitempty" jsonschema:"description=Duration of the search\\, after which running trials are stopped and the best result so far counts. Default: no limit"`
	Goal        *float64         `json:"goal,omitempty" jsonschema:"description=Score of the first objective that is good enough. Default: none"`
	Patience    int              `json:"patience,omitempty" jsonschema:"minimum=1,description=Completed trials without a better one after which the search ends. Default: no limit"`
	Retries     *int             `json:"max_retries_per_trial,omitempty" jsonschema:"minimum=0,description=Further attempts at a trial that failed. Default: the module's"`
	MaxFailures int              `json:"max_consecutive_failed_trials,omitempty" jsonschema:"minimum=1,description=Failed trials in a row that end the search. Default: 3"`
	Defaults    *Switch          `json:"defaults,omitempty" jsonschema:"description=on: the first trial uses the defaults of the space. Default: the module's"`
	Points      []map[string]any `json:"points,omitempty" jsonschema:"description=Hyperparameters to try first\\, in this order. A missing one has its default. Default: none"`
	From        string           `json:"from,omitempty" jsonschema:"pattern=^(latest$|all$|s3://.),description=Earlier searches to learn from: latest\\, the pipeline's last one\\, as if its trials were of this search; all\\, the last one and those that it has learned from\\, each as far as it agrees with this search; or the address of TunerResults or HyperParameters. Default: none"`
	BestModel   Switch           `json:"best_model,omitempty" jsonschema:"description=on: also publish the model of the best trial. Default: off"`
	Seed        *int64           `json:"seed,omitempty" jsonschema:"description=Seed of the search. Default: the trainer's"`
}

// Values of Study.From that are not addresses.
const (
	FromLatest = "latest" // the last search of the pipeline
	FromAll    = "all"    // the last search, and those that it has learned from
)

// LearnsFromLast reports whether the search learns from the pipeline's last search.
func (s *Study) LearnsFromLast() bool {
	return s != nil && (s.From == FromLatest || s.From == FromAll)
}

// Algorithm selects the next trial. In a file a string stands for its name.
type Algorithm struct {
	Name          string  `json:"name,omitempty" jsonschema:"description=Name of the algorithm. Default: the module's"`
	MaxEpochs     int     `json:"max_epochs,omitempty" jsonschema:"minimum=1,description=Epochs of a complete trial of hyperband\\, bohb and asha. A trial of fewer epochs has its share of num_steps. With validation an epoch is a fold. Default: 100\\, or the number of folds"`
	MinEpochs     int     `json:"min_epochs,omitempty" jsonschema:"minimum=1,description=Epochs of the first rung of asha. Default: 1"`
	Factor        int     `json:"factor,omitempty" jsonschema:"minimum=2,description=One in this many trials of hyperband\\, bohb and asha continues. Default: 3\\, of asha 4"`
	Iterations    int     `json:"iterations,omitempty" jsonschema:"minimum=1,description=Repetitions of the schedule of hyperband and bohb. Default: 1"`
	InitialPoints int     `json:"initial_points,omitempty" jsonschema:"minimum=1,description=Random trials before a model is fitted. Default: the algorithm's choice"`
	Acquisition   string  `json:"acquisition,omitempty" jsonschema:"enum=logei,enum=ucb,description=Acquisition function of bayesian. Default: logei"`
	Beta          float64 `json:"beta,omitempty" jsonschema:"minimum=0,description=Weight of the standard deviation in ucb. Default: 2.6"`
}

// Objectives are metrics to minimize or maximize. A file may give a single one without a list, and
// its name alone.
type Objectives []Objective

// Objective is one of the Objectives.
type Objective struct {
	Name      string `json:"name" jsonschema:"required,minLength=1,description=Name of the metric"`
	Direction string `json:"direction,omitempty" jsonschema:"enum=min,enum=max,description=Which values are better. Default: as the metric's name says"`
}

// Constraint is a metric with bounds.
type Constraint struct {
	Name string   `json:"name" jsonschema:"required,minLength=1,description=Name of the metric"`
	Max  *float64 `json:"max,omitempty" jsonschema:"description=Largest allowed value. Default: none"`
	Min  *float64 `json:"min,omitempty" jsonschema:"description=Smallest allowed value. Default: none"`
}

// Validation divides the rows of the training data into folds.
type Validation struct {
	Folds int    `json:"folds" jsonschema:"required,minimum=2,maximum=20,description=Number of folds\\, for each of which a trial trains a model"`
	Order string `json:"order,omitempty" jsonschema:"enum=random,enum=forward,description=random: each model is judged by the rows of one fold and trained on all others. forward: the rows are parts in the order of the files\\, and each model is judged by the part that follows those that it is trained on. Default: random"`
}

// Validation.Order. FoldsRandom is the default, and is left out.
const (
	FoldsRandom  = "random"
	FoldsForward = tune.Forward
)

// Stopping ends trials early if they do worse than others. In a file a string stands for its rule.
type Stopping struct {
	Rule       string  `json:"rule,omitempty" jsonschema:"enum=median,enum=percentile,enum=none,description=With which of the other trials a trial is compared. Default: the module's"`
	Percentile float64 `json:"percentile,omitempty" jsonschema:"minimum=0,maximum=100,description=A trial continues if it is among the best of this percentage. Default: 50"`
	MinTrials  int     `json:"min_trials,omitempty" jsonschema:"minimum=1,description=Trials that are completed before any is stopped. Default: 5"`
	MinStep    int     `json:"min_step,omitempty" jsonschema:"minimum=0,description=Step before which no trial is stopped. Default: 0"`
}

// StoppingNone is the rule that stops no trials, whatever the module sets.
const StoppingNone = "none"

func (a *Algorithm) long(n node) (node, error) { return named(n, "name") }
func (a *Algorithm) forms() string {
	return "an algorithm like hyperband, or a mapping like {name: hyperband, max_epochs: 81}"
}

func (o *Objective) long(n node) (node, error) { return named(n, "name") }
func (o *Objective) forms() string {
	return "a metric like val_accuracy, or a mapping like {name: val_accuracy, direction: max}"
}

func (s *Stopping) long(n node) (node, error) { return named(n, "rule") }
func (s *Stopping) forms() string {
	return "median, percentile, none or a mapping like {rule: median, min_trials: 5}"
}

func (o *Objectives) long(n node) (node, error) {
	if _, list := n.value.([]node); list {
		return n, nil
	}
	return node{at: n.at, value: []node{n}}, nil
}

func (o *Objectives) forms() string { return (&Objective{}).forms() + ", or a list of these" }

// named accepts a string for a mapping with that one key.
func named(n node, key string) (node, error) {
	if _, word := n.value.(string); !word {
		return n, nil
	}
	return node{at: n.at, value: []field{{key: key, at: n.at, node: n}}}, nil
}

// similarMetric returns a suggestion of a metric with a known direction, for the end of an error
// about one without.
func similarMetric(name string) string {
	known := tune.Metrics()
	if strings.HasPrefix(name, "val_") {
		for i := range known {
			known[i] = "val_" + known[i]
		}
	}
	return spelling.Suggestion(name, known)
}

// study reports values that are invalid for every module. Those that depend on the module's space
// are checked when that is known.
func (r *report) study(s *Study) {
	const key = "tuner.study."
	if a := s.Algorithm; a != nil && a.Name != "" {
		r.oneOf(key+"algorithm.name", a.Name, tune.Algorithms()...)
	}
	for i, o := range s.Objective {
		at := fmt.Sprintf("%sobjective[%d]", key, i)
		r.there(at+".name", o.Name)
		if _, known := tune.DirectionOf(o.Name); !known && o.Name != "" && o.Direction == "" {
			r.add(at+".name", "%s: its name does not say whether less or more of it is better: add a direction, as in {name: %[1]s, direction: max}%s", shorten(o.Name), similarMetric(o.Name))
		}
	}
	for i, c := range s.Constraints {
		at := fmt.Sprintf("%sconstraints[%d]", key, i)
		r.there(at+".name", c.Name)
		if c.Max == nil && c.Min == nil {
			r.add(at, "expected a max or a min")
		}
	}
	r.points(key+"points", s.Points)
	if s.From != "" && !s.LearnsFromLast() && !strings.HasPrefix(s.From, "s3://") {
		r.add(key+"from", "expected latest, all or an address like s3://bucket/results, got %q", shorten(s.From))
	}
}

// validation reports settings of a search that don't fit its folds.
func (r *report) validation(p Pipeline) {
	const study, key = "tuner.study.", "tuner.study.validation"
	s := p.Tuner.Study
	if s == nil || s.Validation == nil {
		return
	}
	folds := s.Validation.Folds
	switch {
	case !p.Module.IsBuiltin() && p.Module.Path != "":
		r.add(key, "only builtin modules train a model for each fold, and %s reads its files itself: remove this key, and divide the rows in the module", shorten(p.Module.Path))
	case folds == 0:
		r.add(key+".folds", "missing, expected a number of folds")
	}
	if r.blames(key) || r.blames(key+".folds") {
		return
	}
	if bool(s.BestModel) {
		r.add(study+"best_model", "a trial with validation trains a model for each fold, and none on all rows: expected off")
	}
	if p.Tuner.EvalArgs != nil {
		r.add("tuner.eval_args", "has no effect with tuner.study.validation: trials are judged by all rows of a fold")
	}
	if a := s.Algorithm; a != nil && a.MaxEpochs > folds {
		r.add(study+"algorithm.max_epochs", "an epoch is a fold: expected at most validation.folds, %d, got %d", folds, a.MaxEpochs)
	}
	if a := s.Algorithm; a != nil && a.MinEpochs > folds {
		r.add(study+"algorithm.min_epochs", "an epoch is a fold: expected at most validation.folds, %d, got %d", folds, a.MinEpochs)
	}
	if stopping := s.Stopping; stopping != nil && stopping.MinStep >= folds {
		r.add(study+"stopping.min_step", "a step is a fold: expected less than validation.folds, %d, got %d: no trial would be stopped", folds, stopping.MinStep)
	}
}

// points reports values that no hyperparameter can have, in any space.
func (r *report) points(key string, points []map[string]any) {
	for i, point := range points {
		for name, value := range point {
			switch value.(type) {
			case string, bool, json.Number:
			default:
				r.add(fmt.Sprintf("%s[%d]", key, i), "%s: expected a number, a text or a truth", shorten(name))
			}
		}
	}
}

// there reports a name that no metric can have.
func (r *report) there(key, value string) {
	switch {
	case value == "":
		r.add(key, "missing, expected the name of a metric")
	case strings.TrimSpace(value) != value || strings.ContainsFunc(value, unicode.IsControl):
		r.add(key, "expected the name of a metric, got %q", shorten(value))
	}
}

// empty reports whether no key is set.
func (s *Study) empty() bool { return s == nil || reflect.ValueOf(*s).IsZero() }
