package pipeline_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

const wholeStudy = `pipeline: p
module: builtin:dnn
tuner:
  when: {every: 7d}
  tune_args: {num_parallel_trials: 4}
  study:
    algorithm: {name: hyperband, max_epochs: 81, factor: 3, iterations: 2}
    objective:
    - {name: val_f1_score, direction: max}
    - {name: latency, direction: min}
    constraints: [{name: latency, max: 20}]
    stopping: {rule: percentile, percentile: 25, min_trials: 3, min_step: 10}
    max_trials: 50
    max_time: 2h
    goal: 0.99
    patience: 12
    max_retries_per_trial: 0
    max_consecutive_failed_trials: 4
    defaults: true
    points: [{units: 64, rate: 1.0, act: relu, bn: true}, {}]
    from: latest
    best_model: on
    seed: 9
`

const wordyStudy = "pipeline: p\nmodule: m\ntuner: {when: always, study: {algorithm: asha, objective: val_loss, stopping: median, from: 's3://bkt/a/tuner_results', defaults: off}}\n"

func TestAStudyIsSaidInFull(t *testing.T) {
	t.Parallel()
	p := parse(t, wholeStudy)
	goal, limit, retries, seed, on := 0.99, 20.0, 0, int64(9), pipeline.Switch(true)
	want := &pipeline.Study{
		Algorithm:   &pipeline.Algorithm{Name: "hyperband", MaxEpochs: 81, Factor: 3, Iterations: 2},
		Objective:   pipeline.Objectives{{Name: "val_f1_score", Direction: "max"}, {Name: "latency", Direction: "min"}},
		Constraints: []pipeline.Constraint{{Name: "latency", Max: &limit}},
		Stopping:    &pipeline.Stopping{Rule: "percentile", Percentile: 25, MinTrials: 3, MinStep: 10},
		MaxTrials:   50, MaxTime: pipeline.Duration(2 * time.Hour), Goal: &goal, Patience: 12, Retries: &retries, MaxFailures: 4, Defaults: &on,
		Points: []map[string]any{{"units": json.Number("64"), "rate": json.Number("1.0"), "act": "relu", "bn": true}, {}},
		From:   "latest", BestModel: true, Seed: &seed,
	}
	if diff := cmp.Diff(want, p.Tuner.Study); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := p.Search(); s.Seed != 9 || s.Study != p.Tuner.Study || s.TuneArgs.NumParallelTrials != 4 {
		t.Errorf("searches with %+v", s)
	}
	again, err := pipeline.FromJSON([]byte(canonical(t, p)))
	if err != nil || !cmp.Equal(p, again) {
		t.Errorf("read again: %+v, %v", again, err)
	}
}

func TestAStudyHasShortForms(t *testing.T) {
	t.Parallel()
	off := pipeline.Switch(false)
	want := &pipeline.Study{
		Algorithm: &pipeline.Algorithm{Name: "asha"}, Objective: pipeline.Objectives{{Name: "val_loss"}},
		Stopping: &pipeline.Stopping{Rule: "median"}, From: "s3://bkt/a/tuner_results", Defaults: &off,
	}
	if diff := cmp.Diff(want, parse(t, wordyStudy).Tuner.Study); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	list := parse(t, "pipeline: p\nmodule: m\ntuner: {when: always, study: {objective: [auc, mae]}}\n").Tuner.Study.Objective
	if diff := cmp.Diff(pipeline.Objectives{{Name: "auc"}, {Name: "mae"}}, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The pipeline is part of the identity of a search: an empty study must be the same search as none.
func TestAStudyThatAsksForNothingIsNone(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: m\ntuner:\n  when: always\n"
	none := canonical(t, parse(t, head))
	for _, text := range []string{"  study:\n", "  study: {}\n", "  study: {best_model: off, points: null}\n"} {
		if got := canonical(t, parse(t, head+text)); got != none {
			t.Errorf("%s is %s, want %s", text, got, none)
		}
	}
}

func TestWhenHasOneForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		when          pipeline.When
		every         time.Duration
		tunes, reuses bool
	}{
		"never":                {when: "never"},
		"always":               {when: "always", tunes: true},
		"changed":              {when: "changed", tunes: true, reuses: true},
		"'every: 7d'":          {when: "every: 168h", every: 7 * 24 * time.Hour, tunes: true, reuses: true},
		"'every:90m'":          {when: "every: 1h30m", every: 90 * time.Minute, tunes: true, reuses: true},
		"{every: 7d}":          {when: "every: 168h", every: 7 * 24 * time.Hour, tunes: true, reuses: true},
		"\n    every: 1d12h  ": {when: "every: 36h", every: 36 * time.Hour, tunes: true, reuses: true},
	} {
		for _, module := range []string{"builtin:dnn", "./m.py", "./gomodule"} {
			p := parse(t, "pipeline: p\nmodule: "+module+"\ntuner:\n  when: "+text+"\n")
			every, timed := p.Tuner.When.Every()
			if p.Tuner.When != want.when || every != want.every || timed != (want.every > 0) || p.Tunes() != want.tunes || p.Tuner.When.Reuses() != want.reuses {
				t.Errorf("%s is %q, every %s, tunes %t", text, p.Tuner.When, every, p.Tunes())
			}
		}
	}
}

func TestABadStudyNamesLineColumnAndKey(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: m\ntuner:\n  when: always\n  study:\n"
	for text, want := range map[string]string{
		"    algorithm: hyperbond\n":                                  `6:16: tuner.study.algorithm.name: expected one of ` + strings.Join(tune.Algorithms(), ", ") + `, got "hyperbond"; did you mean hyperband?`,
		"    algorithm: [asha]\n":                                     `6:5: tuner.study.algorithm: expected an algorithm like hyperband, or a mapping like {name: hyperband, max_epochs: 81}, got a list`,
		"    algorithm: {name: asha, factor: 1}\n":                    `6:29: tuner.study.algorithm.factor: expected at least 2, got 1; default: 3, of asha 4`,
		"    algorithm: {acquisition: ei}\n":                          `6:17: tuner.study.algorithm.acquisition: expected one of logei, ucb, got "ei"`,
		"    algorithm: {max_epoch: 9}\n":                             `6:17: tuner.study.algorithm.max_epoch: unknown key; did you mean max_epochs?`,
		"    algorithm: {beta: -1}\n":                                 `6:17: tuner.study.algorithm.beta: expected at least 0, got -1; default: 2.6`,
		"    objective: {direction: min}\n":                           `6:16: tuner.study.objective[0].name: missing, expected the name of a metric`,
		"    objective:\n    - auc\n    - {name: b, direction: up}\n": `8:17: tuner.study.objective[1].direction: expected one of min, max, got "up"`,
		"    objective: acuracy\n":                                    `6:16: tuner.study.objective[0].name: acuracy: its name does not say whether less or more of it is better: add a direction, as in {name: acuracy, direction: max}; did you mean accuracy?`,
		"    objective: val_maee\n":                                   `6:16: tuner.study.objective[0].name: val_maee: its name does not say whether less or more of it is better: add a direction, as in {name: val_maee, direction: max}; did you mean val_mae?`,
		"    objective: latency\n":                                    `6:16: tuner.study.objective[0].name: latency: its name does not say whether less or more of it is better: add a direction, as in {name: latency, direction: max}`,
		"    objective: 'accuracy '\n":                                `6:16: tuner.study.objective[0].name: expected the name of a metric, got "accuracy "`,
		"    constraints: [{name: a}]\n":                              `6:19: tuner.study.constraints[0]: expected a max or a min`,
		"    constraints: [{max: 1}]\n":                               `6:19: tuner.study.constraints[0].name: missing, expected the name of a metric`,
		"    stopping: mean\n":                                        `6:15: tuner.study.stopping.rule: expected one of median, percentile, none, got "mean"; did you mean median?`,
		"    stopping: {percentile: 101}\n":                           `6:16: tuner.study.stopping.percentile: expected 0 to 100, got 101; default: 50`,
		"    stopping: {min_trials: 0}\n":                             `6:16: tuner.study.stopping.min_trials: expected at least 1, got 0; default: 5`,
		"    stopping: {min_step: -1}\n":                              `6:16: tuner.study.stopping.min_step: expected at least 0, got -1; default: 0`,
		"    max_trials: 0\n":                                         `6:5: tuner.study.max_trials: expected at least 1, got 0; default: the module's; 20 for builtin modules`,
		"    patience: -1\n":                                          `6:5: tuner.study.patience: expected at least 1, got -1; default: no limit`,
		"    max_retries_per_trial: -1\n":                             `6:5: tuner.study.max_retries_per_trial: expected at least 0, got -1; default: the module's`,
		"    max_consecutive_failed_trials: 0\n":                      `6:5: tuner.study.max_consecutive_failed_trials: expected at least 1, got 0; default: 3`,
		"    max_time: 5\n":                                           `6:5: tuner.study.max_time: expected a duration with its unit, like 6h or 90m, got "5"`,
		"    goal: best\n":                                            `6:5: tuner.study.goal: expected a number, got text "best"`,
		"    points: [{units: [1]}]\n":                                `6:14: tuner.study.points[0]: units: expected a number, a text or a truth`,
		"    points: {units: 1}\n":                                    `6:5: tuner.study.points: expected a list, got a mapping`,
		"    from: newest\n":                                          `6:5: tuner.study.from: expected latest, all or an address like s3://bucket/results, got "newest"`,
		"    defaults: maybe\n":                                       `6:5: tuner.study.defaults: expected on or off, got "maybe"`,
		"    max_trails: 5\n":                                         `6:5: tuner.study.max_trails: unknown key; did you mean max_trials?`,
	} {
		_, err := pipeline.Parse("p.yaml", []byte(head+text))
		if want = "p.yaml:" + want; err == nil || err.Error() != want {
			t.Errorf("%serror is\n%v\nwant\n%s", text, err, want)
		}
	}
}

// Trials of a search with validation read no split for evaluation, and the order random is none.
func TestAValidationIsPartOfTheStudy(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: builtin:dnn\ntrainer: {eval_args: {num_steps: 5, splits: [test]}}\ntuner: {when: always, study: {validation: "
	random, forward := parse(t, head+"{folds: 5, order: random}}}\n"), parse(t, head+"{folds: 5, order: forward}}}\n")
	if canonical(t, random) != canonical(t, parse(t, head+"{folds: 5}}}\n")) || canonical(t, random) == canonical(t, forward) {
		t.Errorf("canonical forms are\n%s\n%s", canonical(t, random), canonical(t, forward))
	}
	if s := forward.Search(); !s.Validated() || s.EvalArgs.NumSteps != 0 || len(s.EvalArgs.Splits) != 0 || s.Study.Validation.Order != pipeline.FoldsForward {
		t.Errorf("searches with %+v", s)
	}
	shown := effective(t, head+"{folds: 5}}}\n")
	_, tuner, _ := strings.Cut(shown, `"tuner":`)
	if !strings.Contains(tuner, `"validation":{"folds":5,"order":"random"}`) || strings.Contains(tuner, "eval_args") {
		t.Errorf("shown as %s", tuner)
	}
}

func TestABadValidationNamesItsKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"builtin:dnn {validation: {folds: 1}}":                                              "tuner.study.validation.folds: expected 2 to 20, got 1",
		"builtin:dnn {validation: {folds: 21}}":                                             "tuner.study.validation.folds: expected 2 to 20, got 21",
		"builtin:dnn {validation: {}}":                                                      "tuner.study.validation.folds: missing, expected a number of folds",
		"builtin:dnn {validation: {order: forward}}":                                        "tuner.study.validation.folds: missing, expected a number of folds",
		"builtin:dnn {validation: {folds: 5, order: backward}}":                             `tuner.study.validation.order: expected one of random, forward, got "backward"`,
		"./m.py {validation: {folds: 5}}":                                                   "tuner.study.validation: only builtin modules train a model for each fold, and ./m.py reads its files itself: remove this key, and divide the rows in the module",
		"./gomodule {validation: {folds: 5}}":                                               "tuner.study.validation: only builtin modules train a model for each fold",
		"builtin:dnn {validation: {folds: 5}, best_model: on}":                              "tuner.study.best_model: a trial with validation trains a model for each fold, and none on all rows: expected off",
		"builtin:dnn {validation: {folds: 5}} {num_steps: 3}":                               "tuner.eval_args: has no effect with tuner.study.validation: trials are judged by all rows of a fold",
		"builtin:dnn {validation: {folds: 5}, algorithm: {name: hyperband, max_epochs: 6}}": "tuner.study.algorithm.max_epochs: an epoch is a fold: expected at most validation.folds, 5, got 6",
		"builtin:dnn {validation: {folds: 5}, algorithm: {name: asha, min_epochs: 6}}":      "tuner.study.algorithm.min_epochs: an epoch is a fold: expected at most validation.folds, 5, got 6",
		"builtin:dnn {validation: {folds: 5}, stopping: {rule: median, min_step: 5}}":       "tuner.study.stopping.min_step: a step is a fold: expected less than validation.folds, 5, got 5: no trial would be stopped",
	} {
		module, study, _ := strings.Cut(text, " ")
		study, eval, given := strings.Cut(study, "} {num")
		if given {
			study, eval = study+"}", ", eval_args: {num"+eval
		}
		_, err := pipeline.Parse("p.yaml", []byte("pipeline: p\nmodule: "+module+"\ntuner: {when: always, study: "+study+eval+"}\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: error is %v, want %s", text, err, want)
		}
	}
}
