package gc

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// outcomes is what the log of events holds of models and of how runs ended.
type outcomes struct {
	log   events.EventLog
	named map[string][]model // by pipeline, oldest first
	runs  map[run]uint64     // sequence of the last event that ended a run
	last  uint64             // sequence of the newest event seen
	seen  time.Time          // when that was stored, by the bus's clock
	steps int                // events visited, by reads and decisions; tests bound it
}

// run is one run of a pipeline.
type run struct{ pipeline, key string }

// model is what a ModelTrained says of it: which execution made it, and which one the model that it
// started from. The zero Place is a model that Stoker did not make.
type model struct{ made, base storage.Place }

func modelOf(models *events.ModelTrained) (m model) {
	m.made, _ = storage.ExecutionAt(models.Model.URI)
	m.base, _ = storage.ExecutionAt(models.BaseModel)
	return m
}

func readOutcomes(ctx context.Context, log events.EventLog) (*outcomes, error) {
	o := &outcomes{log: log, named: map[string][]model{}, runs: map[run]uint64{}}
	return o, o.refresh(ctx)
}

// refresh reads the events that have come since.
func (o *outcomes) refresh(ctx context.Context) error {
	query := events.Query{Kinds: events.OutcomeKinds(), From: o.last + 1}
	for recorded, err := range o.log.Read(ctx, query) {
		if err != nil {
			return err
		}
		o.last, o.seen = recorded.Message.Sequence, recorded.Message.Stored
		if o.steps++; recorded.Err == nil {
			o.add(recorded)
		}
	}
	return nil
}

func (o *outcomes) add(recorded events.Recorded) {
	event := recorded.Event
	if data, ok := event.Data.(*events.ModelTrained); ok {
		o.named[event.Pipeline] = append(o.named[event.Pipeline], modelOf(data))
	}
	if events.EndsRun(event) {
		o.runs[run{event.Pipeline, event.Run}] = recorded.Message.Sequence
	}
}

// retention is which executions' models events name, and which of those are kept.
type retention struct{ named, kept map[storage.Place]bool }

// retain keeps of each pipeline the newest models, the ones those started from, and others.
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

// replaced reports whether events of this bus name the model that an execution made, and enough
// newer ones too. One that no event names stays: its event may be about to be published, or is on
// another bus.
func (r retention) replaced(of storage.Place) bool { return r.named[of] && !r.kept[of] }

// newestOf are the last events that name at most n different models: a model that was announced
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
