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
	"github.com/stoker-ml/stoker/functions/studies"
)

// cameTo is what a study comes to, as TFX's files have it; why it comes to nothing is the job's failure.
func cameTo(ctx context.Context, a *execution.Attempt, l *studies.Log, state studies.State) (f found, err error) {
	study := state.Study
	if !study.Settled() {
		return f, unavailable(errors.New("the bus has lost the end of the study: the next attempt goes on with it"))
	}
	best := study.Best()
	switch why := study.Finished; {
	case why.Why == tune.Cancelled:
		return f, unavailable(errors.New("the study was cancelled meanwhile"))
	case why.Why == tune.Failing:
		return f, events.Fail(events.FailureModule, errors.New(why.Message))
	case len(best) == 0:
		return f, events.Fail(events.FailureModule, fmt.Errorf("the study ended (%s) before any trial was completed", why.Why))
	}
	score, _ := study.Score(best[0])
	f = found{
		values: best[0].Values.Map(), score: &score, trials: len(best),
		study: l.Name().ID, objective: study.Config.Objectives[0].Name, why: study.Finished.Why, best: best[0].ID,
	}
	if f.note, err = layModel(ctx, a, best[0]); err != nil {
		return f, err
	}
	var log bytes.Buffer
	if err := l.Copy(ctx, state, &log); err != nil {
		return f, err
	}
	return f, search.Leave(&study, log.Bytes(), a.Desk.Out(bestKey), a.Desk.Out(resultsKey))
}

// forget removes what trials have left for others to go on from, and models that are published, or not wanted any more.
func forget(ctx context.Context, a *execution.Attempt, study tune.Study) {
	for _, trial := range study.Trials {
		files := strings.Fields(trial.Files)
		if slices.Contains(files, keptFiles) {
			a.ForgetPart(ctx, partOf(trial))
		}
		if slices.Contains(files, modelFiles) {
			a.ForgetPart(ctx, modelOf(trial))
		}
	}
}
