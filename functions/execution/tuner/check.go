package tuner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/runs/studies"
)

// Check refuses a search without a result, and files that readers of TFX's files would not
// understand.
func (t *tuning) Check(ctx context.Context) (made result.Result, err error) {
	made = t.Result()
	if t.alone {
		made.Search, err = t.foundByModule()
	} else {
		made.Search, err = t.foundByStudy(ctx)
	}
	if err != nil {
		return made, err
	}
	made.Shape, err = shapeOf(ctx, t.Attempt)
	return made, err
}

// foundByModule reads the results of the module's own search.
func (t *tuning) foundByModule() (found result.Search, err error) {
	t.Report(events.Progress{Phase: "checking"})
	if found.Values, err = search.ReadBest(t.Workspace.Out(bestKey)); err != nil {
		return found, execution.CheckFailure(err)
	}
	scores, err := search.ReadResults(t.Workspace.Out(resultsKey))
	if err != nil {
		return found, execution.CheckFailure(err)
	}
	found.Score, found.Trials = &scores[0], len(scores)
	return found, nil
}

// foundByStudy writes the study's results as TFX's files. If the study has none, its reason is the
// job's failure. Once the search is committed, what the trials have left is no longer needed.
func (t *tuning) foundByStudy(ctx context.Context) (found result.Search, err error) {
	state := t.log.State()
	study := state.Study
	if !study.Settled() {
		return found, unavailable(errors.New("the bus has lost the end of the study: the next attempt continues the study"))
	}
	best := study.Best()
	switch why := study.Finished; {
	case why.Why == tune.Cancelled:
		return found, unavailable(errors.New("the study was cancelled meanwhile"))
	case why.Why == tune.Failing:
		return found, events.Fail(events.FailureModule, errors.New(why.Message))
	case len(best) == 0:
		err := fmt.Errorf("the study ended (%s) before any trial was completed", why.Why)
		if last := study.LastFailure(); last != "" {
			err = fmt.Errorf("%w; the last failure: %s", err, last)
		}
		return found, events.Fail(events.FailureModule, err)
	}
	score, _ := study.Score(best[0])
	found = result.Search{
		Values: best[0].Values.Map(), Score: &score, Trials: len(best),
		Study: t.log.Name().ID, Objective: study.Config.Objectives[0].Name, Why: study.Finished.Why, Best: best[0].ID,
	}
	if found.Note, err = t.layModel(ctx, best[0]); err != nil {
		return found, err
	}
	var log bytes.Buffer
	if err := t.log.Copy(ctx, state, &log); err != nil {
		return found, err
	}
	t.Obsolete(leftBy(study)...)
	return found, search.Leave(&study, log.Bytes(), t.Workspace.Out(bestKey), t.Workspace.Out(resultsKey))
}

// leftBy names the parts that trials have left: states for other trials to start from, and models.
func leftBy(study tune.Study) (parts []string) {
	for _, trial := range study.Trials {
		files := strings.Fields(trial.Files)
		if slices.Contains(files, keptFiles) {
			parts = append(parts, studies.PartOf(trial))
		}
		if slices.Contains(files, modelFiles) {
			parts = append(parts, modelOf(trial))
		}
	}
	return parts
}

// layModel puts the best trial's model into the workspace, to be published. If the model is gone,
// as when a study was collected because no run asked for it, no later trial would restore it: the
// rest is published without it, and note says so.
func (t *tuning) layModel(ctx context.Context, best *tune.Trial) (note string, err error) {
	if !wantsModel(t.Execution.Spec.Search()) {
		return "", nil
	}
	found, err := t.Part(modelOf(best), "").Load(ctx, t.Workspace.Out(modelKey))
	if found || err != nil {
		return "", err
	}
	t.Without(modelKey)
	t.Execution.Log.WarnContext(ctx, "the model of the best trial is gone from the store; publishing the search without it", "trial", best.ID)
	return fmt.Sprintf("the model of trial %s, which is the best, is gone from the store", best.ID), nil
}
