package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
)

// Tuner configures when and how hyperparameters are searched for before training. Missing values of
// how are the trainer's: see Pipeline.Search.
type Tuner struct {
	When         When           `json:"when" jsonschema:"required,description=When to search: always; never; changed\\, if the module\\, the schema\\, the transform graph or the data differ from those of the last search; or every: 7d\\, if the last search is that old. A run without a search uses the pipeline's last best hyperparameters"`
	Drift        *float64       `json:"drift,omitempty" jsonschema:"minimum=0,maximum=1,description=With when: changed and statistics: the largest distance of a feature's distribution from that of the last search\\, by Jensen-Shannon divergence of numbers and L-infinity distance of strings. 1: any distance. Default: 0.1"`
	TrainArgs    *Args          `json:"train_args,omitempty" jsonschema:"description=Data and steps of each trial. Default: the trainer's"`
	EvalArgs     *Args          `json:"eval_args,omitempty" jsonschema:"description=Data and steps of each trial's evaluation. Default: the trainer's"`
	TuneArgs     TuneArgs       `json:"tune_args,omitzero" jsonschema:"description=TFX's TuneArgs"`
	Study        *Study         `json:"study,omitempty" jsonschema:"description=The search\\, as far as the module does not define it. Default: the module's"`
	CustomConfig map[string]any `json:"custom_config,omitzero" jsonschema:"description=Configuration that tuner_fn receives unchanged. Default: the trainer's"`
	Resources    *Resources     `json:"resources,omitempty" jsonschema:"description=Workers that take a search\\, and its limits. Default: the trainer's\\, with one process"`
	MaxAttempts  int            `json:"max_attempts,omitempty" jsonschema:"minimum=1,description=Attempts if tuner_fn raises an error or its result fails a check. Default: the trainer's"`
	MaxCrashes   int            `json:"max_crashes,omitempty" jsonschema:"minimum=1,description=Attempts if the module's process crashes or exceeds its limits. Default: the trainer's"`
	MaxLost      int            `json:"max_lost,omitempty" jsonschema:"minimum=1,description=Attempts if the worker dies with the job. Default: the trainer's"`
	OnFailed     string         `json:"on_failed" jsonschema:"enum=latest,enum=fail,default=latest,description=What a run does if its tuning fails: train with the last best hyperparameters\\, or fail"`
}

// TuneArgs are TFX's TuneArgs.
type TuneArgs struct {
	// At most so many that the log of the study, to which each worker writes, can be read.
	NumParallelTrials int `json:"num_parallel_trials,omitempty" jsonschema:"minimum=0,maximum=1000,description=Trials at the same time\\, on as many slots of workers as there are; 0 or 1: one after another. Default: 0"`
}

// Tuner.OnFailed.
const (
	// The run continues with the last best hyperparameters of the pipeline; without any, it ends.
	OnFailedLatest = "latest"
	OnFailedFail   = "fail" // the run ends
)

// Search is the search for a run's hyperparameters, with every value set.
type Search struct {
	TrainArgs    Args
	EvalArgs     Args // empty if the search is validated
	TuneArgs     TuneArgs
	Study        *Study // nil: the module decides
	CustomConfig map[string]any
	Resources    Resources // of one process
	MaxAttempts  int
	MaxCrashes   int
	MaxLost      int // 0: the worker's default
	Seed         int64
}

// Validated reports whether trials are judged by folds of the training rows. No split is read for
// evaluation then.
func (s Search) Validated() bool { return s.Study != nil && s.Study.Validation != nil }

// AwaitsTuning reports whether a run's training waits for the result of its tuning, be it
// hyperparameters or a failure.
func (p Pipeline) AwaitsTuning() bool { return p.Tuner != nil && p.ownHyperparameters() }

// Tunes reports whether there is a search for the hyperparameters of runs: for each, or as
// Tuner.When says.
func (p Pipeline) Tunes() bool { return p.AwaitsTuning() && p.Tuner.When.Searches() }

// Search returns the search of a pipeline with a tuner. Missing values are the trainer's, since in
// TFX one sets both alike.
func (p Pipeline) Search() Search {
	tuner, trainer := p.Tuner, p.Trainer
	s := Search{
		TrainArgs: trainer.TrainArgs, EvalArgs: trainer.EvalArgs, TuneArgs: tuner.TuneArgs, Study: tuner.Study, CustomConfig: tuner.CustomConfig,
		Resources: trainer.Resources, Seed: trainer.Seed,
		MaxAttempts: cmp.Or(tuner.MaxAttempts, trainer.MaxAttempts), MaxCrashes: cmp.Or(tuner.MaxCrashes, trainer.MaxCrashes),
		MaxLost: cmp.Or(tuner.MaxLost, trainer.MaxLost),
	}
	if tuner.TrainArgs != nil {
		s.TrainArgs = *tuner.TrainArgs
	}
	if tuner.EvalArgs != nil {
		s.EvalArgs = *tuner.EvalArgs
	}
	if s.CustomConfig == nil {
		s.CustomConfig = trainer.CustomConfig
	}
	if tuner.Resources != nil {
		s.Resources = *tuner.Resources
	}
	if tuner.Study != nil && tuner.Study.Seed != nil {
		s.Seed = *tuner.Study.Seed
	}
	if s.Validated() {
		s.EvalArgs = Args{}
	}
	s.Resources.alone()
	return s
}

// defaultDrift is the distance from which TensorFlow's own examples regard data of another day as
// drifted.
const defaultDrift = 0.1

// DriftAllowed returns how far a feature's distribution may be from that of the last search before
// `when: changed` starts another.
func (t Tuner) DriftAllowed() float64 {
	if t.Drift == nil {
		return defaultDrift
	}
	return *t.Drift
}

// infer sets the values that follow from other keys. The splits are the trainer's.
func (t *Tuner) infer(trainer Trainer) {
	t.OnFailed = cmp.Or(t.OnFailed, OnFailedLatest)
	if s := t.Study; s != nil && s.Validation != nil && s.Validation.Order == FoldsRandom {
		s.Validation.Order = ""
	}
	if t.TrainArgs != nil && len(t.TrainArgs.Splits) == 0 {
		t.TrainArgs.Splits = trainer.TrainArgs.Splits
	}
	if t.EvalArgs != nil && len(t.EvalArgs.Splits) == 0 {
		t.EvalArgs.Splits = trainer.EvalArgs.Splits
	}
	if t.Resources != nil {
		t.Resources.Workers = cmp.Or(t.Resources.Workers, 1)
		t.Resources.infer()
	}
}

func (r *report) tuner(p Pipeline) {
	t := p.Tuner
	if t == nil {
		return
	}
	if t.When == "" {
		r.add("tuner.when", "missing, expected %s", t.When.forms())
	} else {
		r.oneOf("tuner.when", t.When.word(), string(TuneNever), string(TuneAlways), string(TuneChanged), tuneEvery)
	}
	if t.Drift != nil && t.When != TuneChanged {
		r.add("tuner.drift", "applies only with when: changed, but when is %s", t.When)
	}
	r.customConfig("tuner.custom_config", t.CustomConfig)
	r.tuning(p)
	r.search(p)
}

// tuning reports a search whose result no run uses.
func (r *report) tuning(p Pipeline) {
	const key = "tuner.when"
	policy := p.Trainer.Hyperparameters
	if p.Tuner.When.Searches() && !p.ownHyperparameters() && !r.blames(key) && !r.blames("trainer.hyperparameters") {
		r.add(key, "%s needs trainer.hyperparameters auto or run to use its result, got %s", p.Tuner.When.word(), policy)
	}
}

// search reports invalid values of a search.
func (r *report) search(p Pipeline) {
	t := p.Tuner
	if t.TrainArgs != nil {
		r.args("tuner.train_args", *t.TrainArgs)
	}
	if t.EvalArgs != nil {
		r.args("tuner.eval_args", *t.EvalArgs)
	}
	if s := t.Resources; s != nil {
		r.class("tuner.resources.class", s.Class)
		if s.Strategy != "" && s.Workers <= 1 {
			r.oneOf("tuner.resources.strategy", s.Strategy, module.StrategyMirrored, module.StrategyTPU)
		}
	}
	if t.Study != nil {
		r.study(t.Study)
	}
	r.validation(p)
}

// When is the condition for a search for hyperparameters: one of the constants below, or "every:
// 168h" for a duration. In a file the last may also be a mapping, {every: 7d}.
type When string

// The values of When.
const (
	TuneNever  When = "never"  // each run reuses the last best hyperparameters of the pipeline
	TuneAlways When = "always" // for each run
	// If the module, the structure of schema or transform graph, or the distribution of the data
	// differ from those of the last search; else its best are reused.
	TuneChanged When = "changed"
)

// tuneEvery is the key of a When that is a mapping: a run searches if the last search is that old;
// else it reuses the best hyperparameters of that search.
const tuneEvery = "every"

const everyForm = "every: 7d, or another duration above 0"

// UnmarshalText reads any value of When. The values are checked with the rest of the pipeline.
func (w *When) UnmarshalText(text []byte) error {
	word, after, timed := strings.Cut(string(text), ":")
	if word != tuneEvery {
		*w = When(text)
		return nil
	}
	var d Duration
	if err := d.UnmarshalText([]byte(strings.TrimSpace(after))); !timed || err != nil || d == 0 {
		return fmt.Errorf("expected %s, got %q", everyForm, shorten(string(text)))
	}
	*w = When(tuneEvery + ": " + d.String())
	return nil
}

// long accepts {every: 7d} for the text that YAML requires to be quoted.
func (w *When) long(n node) (node, error) {
	fields, ok := n.value.([]field)
	if !ok {
		return n, nil
	}
	if len(fields) == 1 && fields[0].key == tuneEvery {
		if text, ok := fields[0].node.value.(string); ok {
			return node{at: n.at, value: tuneEvery + ": " + text}, nil
		}
	}
	return n, errors.New("expected " + w.forms())
}

func (w *When) forms() string {
	return fmt.Sprintf("%s, %s, %s or %s", TuneNever, TuneAlways, TuneChanged, everyForm)
}

// word returns the part before the duration.
func (w When) word() string {
	word, _, _ := strings.Cut(string(w), ":")
	return word
}

// Every returns the age of the last search from which another is made; false if that does not
// depend on its age.
func (w When) Every() (time.Duration, bool) {
	word, after, _ := strings.Cut(string(w), ": ")
	var d Duration
	err := d.UnmarshalText([]byte(after))
	return d.Duration(), word == tuneEvery && err == nil
}

// Searches reports whether there is ever a search.
func (w When) Searches() bool { return w != TuneNever }

// Reuses reports whether a run may get the result of an earlier search in place of its own.
func (w When) Reuses() bool { return w.Searches() && w != TuneAlways }
