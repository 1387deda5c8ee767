package lineage

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/studies"
)

// search adds the search that found hyperparameters, its inputs, and its best trial, or all trials.
func (w *walk) search(ctx context.Context, m made, found record) error {
	id, isNew := w.add(Node{
		Kind: Search, Name: found.run, Digest: m.place.Execution, Execution: m.place.Execution, Pipeline: found.pipeline, Run: found.run,
		Revision: found.revision, Started: found.Started, Finished: found.Finished, Trials: found.Trials,
	})
	w.edge(id, m.node, Search)
	if !isNew {
		return nil
	}
	if err := w.trials(ctx, id, found); err != nil {
		return err
	}
	return w.inputs(ctx, id, found, m.depth+1)
}

// trials adds the trials of a study. A module that searched by itself has none.
func (w *walk) trials(ctx context.Context, search string, found record) error {
	if found.Study == "" || found.pipeline == "" {
		return nil
	}
	name := events.Study{Pipeline: found.pipeline, ID: found.Study}
	if name.Validate() != nil {
		return nil
	}
	state, err := studies.Read(ctx, w.bus, name)
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, events.ErrRefused):
		// An unreadable log does not affect the rest.
		w.node(search).Why = fmt.Sprintf("its log can't be read: %v", err)
		return nil
	case err != nil:
		return err
	}
	if len(state.Study.Trials) > 0 {
		w.node(search).Trials = len(state.Study.Trials)
	}
	for _, trial := range state.Study.Trials {
		if w.Trials || trial.ID == found.Best {
			id, _ := w.add(trialNode(name, trial))
			w.edge(id, search, Trial)
		}
	}
	return nil
}

func trialNode(study events.Study, t *tune.Trial) Node {
	return Node{
		Kind: Trial, Name: t.ID, Digest: "sha256:" + study.ID + "/" + t.ID, Execution: "sha256:" + study.ID, Pipeline: study.Pipeline,
		Values: t.Values.Map(), Metrics: t.Metrics, Status: string(t.Status), Started: t.Started, Finished: t.Ended,
	}
}
