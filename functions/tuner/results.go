package tuner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/studies"
)

// studyFolder lies beside TFX's file, and holds the study as it was.
const studyFolder = "study"

// maxSessions is of how many trials TensorBoard's files are published, each in a folder of its own: the best. The log has all of them.
const maxSessions = 100

// cameTo is what a study comes to, as TFX's files have it; why it comes to nothing is the job's failure.
func cameTo(ctx context.Context, a *execution.Attempt, l *studies.Log) (f found, err error) {
	study := l.Now()
	best := study.Best()
	switch why := study.Finished; {
	case why.Why == tune.Cancelled:
		return f, unavailable(errors.New("the study was cancelled meanwhile"))
	case why.Why == tune.Failing:
		return f, events.Fail(events.FailureModule, errors.New(why.Message))
	case len(best) == 0:
		return f, events.Fail(events.FailureModule, fmt.Errorf("the study ended (%s) before any trial was completed", why.Why))
	}
	text, err := study.Config.Space.Encode(best[0].Values)
	if err != nil {
		return f, execution.CheckFailure(err)
	}
	results, err := resultsOf(study, best)
	if err != nil {
		return f, execution.CheckFailure(err)
	}
	score, _ := study.Score(best[0])
	f = found{
		values: best[0].Values.Map(), score: &score, trials: len(best),
		study: l.Name().ID, objective: study.Config.Objectives[0].Name, why: study.Finished.Why, best: best[0].ID,
	}
	if f.note, err = layModel(ctx, a, f.best); err != nil {
		return f, err
	}
	return f, unavailable(errors.Join(
		os.WriteFile(a.Desk.Out(bestKey, bestFile), text, 0o644),
		os.WriteFile(a.Desk.Out(resultsKey, resultsFile), results, 0o644),
		save(ctx, l, a.Desk.Out(resultsKey, studyFolder)),
		report.Write(a.Desk.Out(resultsKey, studyFolder), &study, maxSessions),
	))
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

// save writes the whole log as lines of JSON.
func save(ctx context.Context, l *studies.Log, dir string) error {
	var lines bytes.Buffer
	if err := l.Copy(ctx, &lines); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, report.LogFile), lines.Bytes(), 0o644)
}

// forget removes what trials have left for others to go on from, and models that are published, or not wanted any more.
func forget(ctx context.Context, a *execution.Attempt, study tune.Study) {
	for _, trial := range study.Trials {
		files := strings.Fields(trial.Files)
		if slices.Contains(files, keptFiles) {
			a.ForgetPart(ctx, partOf(trial.ID))
		}
		if slices.Contains(files, modelFiles) {
			a.ForgetPart(ctx, modelOf(trial.ID))
		}
	}
}
