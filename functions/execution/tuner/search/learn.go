package search

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// Limits of what a study begins with: its first entry is one message of the bus, and holds its
// config too. The best trials come first.
const (
	mostEarlier      = 1000
	mostEarlierBytes = tune.MaxEntryBytes / 2
)

// Studies says which older studies are learned from.
type Studies int

// The older studies.
const (
	// OneStudy is that of a directory, whose trials count as if they were of the new study.
	OneStudy Studies = iota
	// AllStudies are that one and those that it has learned from, each of which counts as far as it
	// agrees with the new study.
	AllStudies
)

// Learn gives a study the content of a directory: those trials of older studies that lie in its
// space, or the best values of others as a point to try first.
func Learn(dir string, studies Studies, c *tune.Config) error {
	err := learnFrom(dir, studies, c)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("expected %s or %s in it", resultsFile, bestFile)
	}
	return err
}

func learnFrom(dir string, studies Studies, c *tune.Config) error {
	older, err := olderTrials(dir, c.Objectives)
	if err == nil {
		if studies == OneStudy {
			older = slices.DeleteFunc(older, func(e tune.Earlier) bool { return e.Study > 0 })
		}
		older = slices.DeleteFunc(older, func(e tune.Earlier) bool { return !c.Space.Contains(e.Values) })
		for i, e := range older {
			older[i] = tune.Earlier{Values: c.Space.Complete(e.Values), Metrics: judged(*c, e.Metrics), Study: e.Study}
		}
		if studies == AllStudies {
			older = numbered(older)
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

// numbered numbers the studies of trials, which follow each other, from 1 on. Of each it keeps as
// many trials, evenly from the best on, and of the studies the newest, as are learned from.
func numbered(older []tune.Earlier) (kept []tune.Earlier) {
	for study := 1; len(older) > 0 && study <= suggest.MostSources; study++ {
		n := slices.IndexFunc(older, func(e tune.Earlier) bool { return e.Study != older[0].Study })
		if n < 0 {
			n = len(older)
		}
		for _, e := range suggest.Evenly(older[:n], suggest.MostOfEachSource) {
			e.Study = study
			kept = append(kept, e)
		}
		older = older[n:]
	}
	return kept
}

// judged returns the metrics by which a study judges trials.
func judged(c tune.Config, metrics map[string]float64) map[string]float64 {
	metrics = maps.Clone(metrics)
	maps.DeleteFunc(metrics, func(name string, _ float64) bool {
		return !slices.ContainsFunc(c.Objectives, func(o tune.Objective) bool { return o.Name == name }) &&
			!slices.ContainsFunc(c.Constraints, func(by tune.Constraint) bool { return by.Name == name })
	})
	return metrics
}

// fitting returns as many trials as fit, from the first on.
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

// olderTrials returns the trials of a study's log with all their metrics, and after them those that
// it has learned from, whose studies have numbers from 1 on; else those of TFX's file, which have a
// score each. A score is taken as that of the first objective, because the file doesn't name it.
func olderTrials(dir string, objectives []tune.Objective) (all []tune.Earlier, err error) {
	study, err := readLog(filepath.Join(dir, studyFolder, report.LogFile))
	if err == nil {
		all = knownBy(study)
		for _, e := range study.Config.Earlier {
			e.Study++ // 0 is the study itself
			all = append(all, e)
		}
		return all, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	trials, err := readFile(filepath.Join(dir, resultsFile), readTrials)
	for _, trial := range ofLargestBudget(trials, epochsOf) {
		score, _ := trial.Lookup("score")
		if number, ok := numberOf(score); ok {
			values := slices.DeleteFunc(trial, func(v space.Value) bool { return v.Name == "score" || v.Name == "trial_id" })
			all = append(all, tune.Earlier{Values: values, Metrics: map[string]float64{objectives[0].Name: number}})
		}
	}
	return all, err
}

// ofLargestBudget returns the trials with the most epochs; 0 stands for a trial without a budget,
// which had all epochs. Scores after a few epochs, as in Hyperband's first rounds, say little about
// scores at the end.
func ofLargestBudget[T any](trials []T, epochs func(T) float64) []T {
	most := 0.0
	for _, trial := range trials {
		most = max(most, epochs(trial))
	}
	return slices.DeleteFunc(trials, func(trial T) bool { return epochs(trial) != 0 && epochs(trial) < most })
}

// epochsOf returns the epoch at which a trial ended, if KerasTuner's Hyperband recorded it; else 0.
func epochsOf(trial space.Values) float64 {
	value, _ := trial.Lookup("tuner/epochs")
	epochs, _ := numberOf(value)
	return epochs
}

// readLog folds a published log, one entry at a time.
func readLog(path string) (study tune.Study, err error) {
	file, err := os.Open(path)
	if err != nil {
		return study, err
	}
	defer file.Close()
	if err := foldLog(&study, file); err != nil {
		return study, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return study, nil
}

func foldLog(study *tune.Study, log io.Reader) error {
	lines, number := bufio.NewScanner(log), 1
	lines.Buffer(nil, tune.MaxEntryBytes+len("\r\n"))
	for ; lines.Scan(); number++ {
		// The file doesn't say when it was stored.
		if err := study.Enter(lines.Bytes(), time.Time{}); err != nil && !errors.Is(err, tune.ErrContradiction) {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d: more than %d bytes", number, tune.MaxEntryBytes)
	case err == nil && study.Entries == 0:
		return errors.New("it has no entry")
	default:
		return err
	}
}

// knownBy returns the trials of a study that had its largest budget, the best first, with their
// metrics and the best scores of their curves.
func knownBy(study tune.Study) (all []tune.Earlier) {
	for _, trial := range ofLargestBudget(study.Best(), func(t *tune.Trial) float64 { return float64(t.Epochs) }) {
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
