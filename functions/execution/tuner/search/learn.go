package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// What a study begins with, at most: its first entry is one message of the bus, and holds its config too. The best come first.
const (
	mostEarlier      = 1000
	mostEarlierBytes = tune.MaxEntryBytes / 2
)

// Learn gives a study what lies in a folder: the trials of an older one, as far as they lie in its space; or what others found best, as a point
// to try first.
func Learn(dir string, c *tune.Config) error {
	err := learnFrom(dir, c)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("expected %s or %s in it", resultsFile, bestFile)
	}
	return err
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
