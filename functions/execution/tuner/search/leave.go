package search

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
)

// studyFolder lies beside TFX's file, and holds the study as it was.
const studyFolder = "study"

// maxSessions is of how many trials TensorBoard's files are published, each in a folder of its own: the best. The log has all of them.
const maxSessions = 100

// Leave writes what a search publishes: TFX's files into their two folders, and the study with its log beside the results. The study has a trial
// that was completed.
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

// replaceFolder puts a new folder in the place of one that a module may write to: what lies there may be links.
func replaceFolder(dir string, write func(dir string) error) (err error) {
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".stoker-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	return errors.Join(os.Chmod(fresh, 0o755), write(fresh), os.RemoveAll(dir), os.Rename(fresh, dir))
}

// resultsOf is TFX's list of completed trials, the best first.
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

// checkFailure is the fault of what a module said or left.
func checkFailure(err error) error { return events.Fail(events.FailureCheck, err) }

// unavailable is the fault of this machine.
func unavailable(err error) error { return events.Fail(events.FailureUnavailable, err) }
