package tuner

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
)

// TFX's names of the files. The first is JSON too, despite its name.
const (
	bestFile    = "best_hyperparameters.txt"
	resultsFile = "tuner_results.json"
)

// maxBytes is far more than hyperparameters and the results of many thousand trials take.
const maxBytes = 64 << 20

// found is what a search comes to.
type found struct {
	values map[string]any
	score  *float64 // of the best trial
	trials int      // that were completed

	// Of a study of ours.
	study     string
	objective string
	best      string   // trial
	why       tune.Why // it ended
	note      string   // what is missing of what was asked for
}

// check refuses what no reader of TFX's files would understand, and what could not be published or told of: after the commit it
// would be too late.
func check(a *execution.Attempt, told module.Assignment) (f found, err error) {
	a.Report(events.Progress{Phase: "checking"})
	if f.values, err = readFile(filepath.Join(told.BestHyperparametersDir, bestFile), readBest); err != nil {
		return f, execution.CheckFailure(err)
	}
	scores, err := readFile(filepath.Join(told.TunerResultsDir, resultsFile), readResults)
	if err != nil {
		return f, execution.CheckFailure(err)
	}
	f.score, f.trials = &scores[0], len(scores)
	return f, a.CheckTold(tell(a, f, a.Started))
}

// readFile reads a file that the module left.
func readFile[T any](path string, read func([]byte) (T, error)) (value T, err error) {
	file, err := os.Open(path)
	if err != nil {
		return value, fmt.Errorf("%s: %w: tuner_fn left none", filepath.Base(path), os.ErrNotExist)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	switch {
	case err != nil:
		return value, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	case len(text) > maxBytes:
		return value, fmt.Errorf("%s: more than %d bytes", filepath.Base(path), maxBytes)
	}
	if value, err = read(text); err != nil {
		return value, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return value, nil
}
