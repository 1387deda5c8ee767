package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/storage"
)

// fetchSearches adds steps for hyperparameters that other steps train with and that are gone.
func (l *survey) fetchSearches(ctx context.Context) error {
	there := map[storage.Place]bool{{}: true}
	for i := 0; i < len(l.steps); i++ { // the steps that are added train with nothing
		user := l.steps[i]
		if there[user.trainsWith] || user.idle() {
			continue
		}
		err := l.search(ctx, user)
		if isAway(ctx, err) {
			return fmt.Errorf("hyperparameters of run %s of pipeline %s: %w", user.Run.Run, user.Pipeline, err)
		}
		if there[user.trainsWith] = err == nil; err != nil {
			l.steps[i] = user.stuck(fmt.Errorf("the hyperparameters that it trains with can't be had: %w", err))
		}
	}
	return nil
}

// search adds the step that finds the hyperparameters again that user trains with, if they are
// gone.
func (l *survey) search(ctx context.Context, user Step) error {
	of := user.trainsWith
	commit, _, err := storage.Committed(ctx, l.store, of.Root, of.Execution)
	if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrIncomplete) {
		return err
	}
	recorded := l.log.found[of]
	if recorded == nil {
		return fmt.Errorf("%s in %s is gone, and no event says how it was found", of.Execution, of.Root)
	}
	data, run := recorded.Event.Data.(*events.HParamsReady), Run{Pipeline: recorded.Event.Pipeline, Run: recorded.Event.Run}
	k, _, err := l.evidence(ctx, run)
	if err != nil {
		return fmt.Errorf("run %s found it: %w", run.Run, err)
	}
	l.steps = append(l.steps, Step{
		Run: run, Action: Tune, Why: fmt.Sprintf("the hyperparameters that its search found are gone; run %s trains with them", user.Run.Run),
		completed: k.completed, rejoin: k.lost, makes: of, fetched: true,
		again: join.Retry{Generation: max(data.Generation, commit.Generation) + 1, Salt: data.Salt},
	})
	return nil
}

// searched reports whether an event has the outcome of a step that searches.
func (s Step) searched(data events.Data) bool {
	found, ok := data.(*events.HParamsReady)
	if !ok {
		_, failed := data.(*events.TuningFailed)
		return failed
	}
	made, _ := storage.ExecutionAt(found.Hyperparameters)
	return made == s.makes && found.Generation >= s.again.Generation
}
