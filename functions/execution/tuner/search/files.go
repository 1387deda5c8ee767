package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runner"
)

// TFX's names of the files. The first is JSON too, despite its name.
const (
	bestFile    = "best_hyperparameters.txt"
	resultsFile = "tuner_results.json"
)

// maxBytes is far more than hyperparameters and the results of many thousand trials take.
const maxBytes = 64 << 20

// ReadBest reads the values of the best trial from the directory that a module left.
func ReadBest(dir string) (map[string]any, error) {
	return readFile(filepath.Join(dir, bestFile), readBest)
}

// ReadResults reads the scores of the trials from the directory that a module left, the best first.
func ReadResults(dir string) ([]float64, error) {
	return readFile(filepath.Join(dir, resultsFile), readResults)
}

// readBest parses what KerasTuner's HyperParameters.get_config returns: the space, a list of
// parameters, and the values of the best trial. Hyperband adds values that are not in the space.
// The kinds of parameters are not checked, because the module's KerasTuner may be newer than this
// code; but values that JSON does not have don't fit in an event.
func readBest(text []byte) (map[string]any, error) {
	values, err := space.DecodeValues(text)
	if err != nil {
		return nil, err
	}
	if _, err := values.MarshalJSON(); err != nil {
		return nil, err
	}
	return values.Map(), nil
}

// readResults parses TFX's list of completed trials into their scores, the best first. The file
// does not say whether more or less is better, but the scores are sorted.
func readResults(text []byte) (scores []float64, err error) {
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("it has no completed trial")
	}
	for i, trial := range list {
		_, named := trial["trial_id"].(string)
		score, scored := trial["score"].(float64)
		if !named || !scored {
			return nil, fmt.Errorf("trial %d: expected its trial_id, a text, and its score, a number", i)
		}
		scores = append(scores, score)
	}
	if at := turn(scores); at >= 0 {
		return nil, fmt.Errorf("trial %d: its score is %v: expected the trials best first", at, scores[at])
	}
	return scores, nil
}

// turn returns the index at which the scores stop being sorted; -1 if they are sorted.
func turn(scores []float64) int {
	direction := 0.0
	for i := 1; i < len(scores); i++ {
		step := scores[i] - scores[i-1]
		if step*direction < 0 {
			return i
		}
		if step != 0 {
			direction = math.Copysign(1, step)
		}
	}
	return -1
}

// readFile reads a file that the module left.
func readFile[T any](path string, read func([]byte) (T, error)) (value T, err error) {
	text, err := runner.ReadInFolder(filepath.Dir(path), filepath.Dir(path), filepath.Base(path), maxBytes)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return value, fmt.Errorf("%s: %w: tuner_fn wrote none", filepath.Base(path), os.ErrNotExist)
	case err != nil:
		return value, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	if value, err = read(text); err != nil {
		return value, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return value, nil
}

// studyFolder is next to TFX's file, and holds the study.
const studyFolder = "study"

// maxSessions limits the trials of which TensorBoard's files are published, each in a directory of
// its own: the best ones. The log has all of them.
const maxSessions = 100

// Leave writes what a search publishes: TFX's files into their two directories, and the study with
// its log next to the results. The study must have a completed trial.
func Leave(study *tune.Study, log []byte, bestDir, resultsDir string) error {
	best := study.Best()
	text, err := study.Config.Space.Encode(best[0].Values)
	if err != nil {
		return checkFailure(err)
	}
	results, err := resultsOf(*study, best)
	if err != nil {
		return checkFailure(err)
	}
	return unavailable(errors.Join(
		replaceFolder(bestDir, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, bestFile), text, 0o644)
		}),
		replaceFolder(resultsDir, func(dir string) error {
			folder := filepath.Join(dir, studyFolder)
			return errors.Join(
				os.WriteFile(filepath.Join(dir, resultsFile), results, 0o644),
				report.Write(folder, study, maxSessions),
				os.WriteFile(filepath.Join(folder, report.LogFile), log, 0o644),
			)
		}),
	))
}

// replaceFolder replaces a directory in a place that a module may write to, where links may be.
func replaceFolder(dir string, write func(dir string) error) (err error) {
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".stoker-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	return errors.Join(os.Chmod(fresh, 0o755), write(fresh), os.RemoveAll(dir), os.Rename(fresh, dir))
}

// resultsOf returns TFX's list of completed trials, the best first.
func resultsOf(study tune.Study, best []*tune.Trial) ([]byte, error) {
	list := []byte("[")
	for i, trial := range best {
		score, _ := study.Score(trial)
		row := append(space.Values{{Name: "trial_id", Of: trial.ID}, {Name: "score", Of: score}}, trial.Values...)
		text, err := row.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("trial %s: %w", trial.ID, err)
		}
		if i > 0 {
			list = append(list, ", "...)
		}
		list = append(list, text...)
	}
	return append(list, ']'), nil
}

// checkFailure returns the failure of a module whose messages or outputs are at fault.
func checkFailure(err error) error { return events.Fail(events.FailureCheck, err) }

// unavailable returns the failure of a job that this machine could not do.
func unavailable(err error) error { return events.Fail(events.FailureUnavailable, err) }
