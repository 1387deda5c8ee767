package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
)

var (
	namePattern  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	splitPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

// validate checks the values of p that neither their type nor their tag limits enough.
func (r *report) validate(p Pipeline) {
	r.name("pipeline", p.Name)
	r.module(p.Module)
	r.trainer(p)
	r.tuner(p)
	if c := p.Concurrency; c != nil && c.Runs == 0 {
		r.add("concurrency.runs", "missing, expected a number of runs")
	}
}

func (r *report) trainer(p Pipeline) {
	t := p.Trainer
	r.waitFor(p)
	r.args("trainer.train_args", t.TrainArgs)
	r.args("trainer.eval_args", t.EvalArgs)
	r.customConfig("trainer.custom_config", t.CustomConfig)
	r.baseModel(t.BaseModel)
	r.exports(t.Exports)
	r.class("trainer.resources.class", t.Resources.Class)
	r.strategy(p)
}

// customConfig reports placeholders that `stoker pipelines show` prints instead of secrets.
func (r *report) customConfig(key string, config map[string]any) {
	for name, value := range config {
		if text, err := json.Marshal(value); err == nil && strings.Contains(string(text), mask.Hidden) {
			r.add(key+"."+name, "%s stands for a secret that was not shown: write the secret itself", mask.Hidden)
		}
	}
}

func (r *report) name(key, value string) {
	switch {
	case value == "":
		r.add(key, "missing, expected a name of a-z, 0-9 and -")
	case !namePattern.MatchString(value):
		r.add(key, "expected a name of a-z, 0-9 and -, at most 63, not beginning with -, got %q", shorten(value))
	}
}

// class reports a class that events.CheckClass refuses.
func (r *report) class(key, value string) {
	var bad *events.Invalid
	if errors.As(events.CheckClass(key, value), &bad) {
		r.add(key, "expected %s, got %q", bad.Expected, shorten(value))
	}
}

// waitFor reports combinations with which no run could start, or the policy would not be met.
func (r *report) waitFor(p Pipeline) {
	const key = "trainer.wait_for"
	words := p.Trainer.WaitFor
	for i, word := range words {
		at := fmt.Sprintf("%s[%d]", key, i)
		r.oneOf(at, word, events.WaitWords()...)
		if slices.Contains(words[:i], word) {
			r.add(at, "%s is listed twice", shorten(word))
		}
	}
	if r.blamesWithin(key) {
		return
	}
	waits := slices.Contains(words, WaitHParams)
	switch {
	case !slices.Contains(words, WaitExamples) && !slices.Contains(words, WaitTransform):
		r.add(key, "expected examples or transform in it: the training needs data")
	case waits && p.Trainer.Hyperparameters == HyperparametersNone:
		r.add(key, "waits for hparams, but hyperparameters is none")
	case !waits && p.ownHyperparameters():
		r.add(key, "expected hparams in it, as hyperparameters is %s", p.Trainer.Hyperparameters)
	}
}

func (r *report) args(key string, a Args) {
	for i, split := range a.Splits {
		at := fmt.Sprintf("%s.splits[%d]", key, i)
		if !splitPattern.MatchString(split) {
			r.add(at, "expected the name of a split, like train, got %q", shorten(split))
		}
		if slices.Contains(a.Splits[:i], split) {
			r.add(at, "%s is listed twice", shorten(split))
		}
	}
}

func (r *report) baseModel(value string) {
	policies := []string{BaseModelNone, BaseModelLatest, BaseModelBlessed}
	if slices.Contains(policies, value) || strings.Contains(value, "://") {
		return
	}
	r.add("trainer.base_model", "expected none, latest, blessed or an address like s3://bucket/model, got %q%s",
		shorten(value), spelling.Suggestion(value, policies))
}

func (r *report) oneOf(key, value string, words ...string) {
	if !slices.Contains(words, value) {
		r.add(key, "expected one of %s, got %q%s", strings.Join(words, ", "), shorten(value), spelling.Suggestion(value, words))
	}
}

// refuseUnsupported reports valid keys that Stoker does not implement yet, so that they are not
// silently ignored. When one is implemented, remove its line.
func (r *report) refuseUnsupported(p Pipeline) {
	if p.Tuner != nil {
		r.refuse("tuner.resources.workers", p.Tuner.Resources != nil && p.Tuner.Resources.Workers > 1, ": a search runs in one process")
	}
}

func (r *report) refuse(key string, asked bool, detail string) {
	if asked {
		r.add(key, "not supported yet%s", detail)
	}
}
