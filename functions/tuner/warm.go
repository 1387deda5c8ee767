package tuner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
)

// What a study begins with, at most: its first entry is one message of the bus, and holds its config too. The best come first.
const (
	mostEarlier      = 1000
	mostEarlierBytes = tune.MaxEntryBytes / 2
)

// learningFrom is the job with the artifact that its search learns from as its only hyperparameters: of a search of Stoker's own the
// trials, of what others found what is there. Without, it has none: what the job may reuse decides nothing about a search.
func learningFrom(job events.Job, search pipeline.Search) events.Job {
	from := ""
	if search.Study != nil {
		from = search.Study.From
	}
	if from == pipeline.FromLatest {
		from = job.Inputs.Hyperparameters
	}
	if ref, err := storage.ParseRef(from); err == nil {
		if place, ours := storage.PlaceOf(ref); ours {
			from = place.Output(resultsKey).String()
		}
	}
	job.Inputs.Hyperparameters = from
	return job
}

// learn gives a study what its search is to learn from: the trials of an older one, as far as they lie in its space; or what others found
// best, as a point to try first.
func learn(a *execution.Attempt, c *tune.Config) error {
	search := a.Execution.Spec.Search()
	from := learningFrom(a.Job, search).Inputs.Hyperparameters
	if from == "" {
		return nil // nothing is to be learned from, or there is nothing yet
	}
	err := learnFrom(a.Desk.In(execution.Hyperparameters), c)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("expected %s or %s in it", resultsFile, bestFile)
	}
	if err != nil {
		return execution.InputFailure(fmt.Errorf("tuner.study.from: %s: %w", from, err))
	}
	return nil
}

func learnFrom(dir string, c *tune.Config) error {
	older, err := olderTrials(dir, c.Objectives)
	if err == nil {
		older = slices.DeleteFunc(older, func(e tune.Earlier) bool { return !c.Space.Contains(e.Values) })
		for i, e := range older {
			older[i] = tune.Earlier{Values: c.Space.Complete(e.Values), Metrics: judged(*c, e.Metrics)}
		}
		c.Earlier = fitting(older)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	best, err := readFile(filepath.Join(dir, bestFile), space.DecodeValues)
	if err == nil && c.Space.Contains(best) {
		c.Points = append([]space.Values{c.Space.Complete(best)}, c.Points...)
	}
	return err
}

// judged are the metrics that a study judges trials by.
func judged(c tune.Config, metrics map[string]float64) map[string]float64 {
	metrics = maps.Clone(metrics)
	maps.DeleteFunc(metrics, func(name string, _ float64) bool {
		return !slices.ContainsFunc(c.Objectives, func(o tune.Objective) bool { return o.Name == name }) &&
			!slices.ContainsFunc(c.Constraints, func(by tune.Constraint) bool { return by.Name == name })
	})
	return metrics
}

// fitting are as many trials as there is room for, from the first on.
func fitting(older []tune.Earlier) []tune.Earlier {
	left := mostEarlierBytes
	for i, e := range older {
		text, err := json.Marshal(e)
		if left -= len(text) + 1; err != nil || left < 0 || i == mostEarlier {
			return older[:i]
		}
	}
	return older
}

// olderTrials are those of a study's log, with all they were known by; else those of TFX's file, which has a score each: it is taken for
// that of the first objective, for the file doesn't say of what it is.
func olderTrials(dir string, objectives []tune.Objective) (all []tune.Earlier, err error) {
	study, err := readFile(filepath.Join(dir, studyFolder, report.LogFile), foldLog)
	if err == nil {
		return knownBy(study), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	trials, err := readFile(filepath.Join(dir, resultsFile), readTrials)
	for _, trial := range trials {
		score, _ := trial.Lookup("score")
		if number, ok := numberOf(score); ok {
			values := slices.DeleteFunc(trial, func(v space.Value) bool { return v.Name == "score" || v.Name == "trial_id" })
			all = append(all, tune.Earlier{Values: values, Metrics: map[string]float64{objectives[0].Name: number}})
		}
	}
	return all, err
}

// foldLog reads a log as it is published.
func foldLog(text []byte) (study tune.Study, err error) {
	for number, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		if err := study.Enter(line, time.Time{}); err != nil { // when it was stored, the file doesn't say
			return study, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	return study, nil
}

// knownBy are the trials of a study, the best first, by their metrics and the best scores of their curves.
func knownBy(study tune.Study) (all []tune.Earlier) {
	for _, trial := range study.Best() {
		metrics := maps.Clone(trial.Metrics)
		if metrics == nil {
			metrics = map[string]float64{}
		}
		for i, score := range study.Scores(trial) {
			metrics[study.Config.Objectives[i].Name] = score
		}
		maps.DeleteFunc(metrics, func(_ string, value float64) bool { _, ok := numberOf(value); return !ok })
		all = append(all, tune.Earlier{Values: trial.Values, Metrics: metrics})
	}
	return all
}

// readTrials parses TFX's list of completed trials, each as the values of one object.
func readTrials(text []byte) (trials []space.Values, err error) {
	err = json.Unmarshal(text, &trials)
	return trials, err
}

func numberOf(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return 0, false
}
