package gc

import (
	"context"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// outcomes is what the event log holds of models and of how runs ended.
type outcomes struct {
	*runs.Snapshot
	named map[string][]model // by pipeline, oldest first
	steps int                // events visited, by reads and decisions; tests limit it
}

// model is what a ModelTrained says: which execution made the model, and which one made the model
// that it started from. The zero Place stands for a model that Stoker did not make.
type model struct{ made, base storage.Place }

func modelOf(models *events.ModelTrained) (m model) {
	m.made, _ = storage.ExecutionAt(models.Model.URI)
	m.base, _ = storage.ExecutionAt(models.BaseModel)
	return m
}

func readOutcomes(ctx context.Context, source runs.Source) (*outcomes, error) {
	o := &outcomes{Snapshot: runs.Open(source, runs.Options{}), named: map[string][]model{}}
	return o, o.refresh(ctx)
}

// refresh reads the events that were published since.
func (o *outcomes) refresh(ctx context.Context) error {
	query := events.Query{Kinds: events.OutcomeKinds(), From: o.Tail() + 1}
	return o.ReadLog(ctx, query, func(recorded events.Recorded) {
		o.steps++
		if data, ok := recorded.Event.Data.(*events.ModelTrained); ok && recorded.Err == nil {
			o.named[recorded.Event.Pipeline] = append(o.named[recorded.Event.Pipeline], modelOf(data))
		}
	})
}

// retention has the executions whose models events name, and those of them that are kept.
type retention struct{ named, kept map[storage.Place]bool }

// retain keeps for each pipeline the newest models, the ones that those started from, and others.
func (o *outcomes) retain(newest int, others []storage.Ref) retention {
	r := retention{named: map[storage.Place]bool{}, kept: map[storage.Place]bool{}}
	for _, models := range o.named {
		for _, one := range models {
			o.steps++
			r.named[one.made] = true
		}
		for _, one := range newestOf(models, newest) {
			o.steps++
			r.kept[one.made], r.kept[one.base] = true, true
		}
	}
	for _, ref := range others {
		if made, ok := storage.ExecutionAt(ref.String()); ok {
			r.kept[made] = true
		}
	}
	return r
}

// replaced reports whether events of this bus name the model that an execution made, and also
// enough newer ones. A model that no event names stays: its event may be about to be published, or
// is on another bus.
func (r retention) replaced(of storage.Place) bool { return r.named[of] && !r.kept[of] }

// newestOf returns the last events that name at most n different models: a model that was announced
// again counts by its last event.
func newestOf(models []model, n int) (kept []model) {
	seen := map[storage.Place]bool{}
	for i := len(models) - 1; i >= 0; i-- {
		if seen[models[i].made] = true; len(seen) > n {
			break
		}
		kept = append(kept, models[i])
	}
	return kept
}
