package gc

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// models knows which executions facts name as a model, and which of them are kept.
type models struct {
	box   events.Letterbox
	keep  int                    // of each pipeline; 0: all
	named map[string][]model     // by pipeline, oldest first
	fixed map[storage.Place]bool // kept whatever their age
	last  uint64                 // sequence of the newest fact seen
	seen  time.Time              // when that was stored, by the bus's clock
}

// model is what a ModelTrained says of it: which execution made it, and which one the model that it started from. The zero Place
// is a model of someone else.
type model struct{ made, base storage.Place }

func modelOf(told *events.ModelTrained) (m model) {
	m.made, _ = storage.ExecutionAt(told.Model.URI)
	m.base, _ = storage.ExecutionAt(told.BaseModel)
	return m
}

func readModels(ctx context.Context, box events.Letterbox, opts Options) (*models, error) {
	m := &models{box: box, keep: opts.KeepModels, named: map[string][]model{}, fixed: map[storage.Place]bool{}}
	for _, ref := range opts.Keep {
		if made, ok := storage.ExecutionAt(ref.String()); ok {
			m.fixed[made] = true
		}
	}
	return m, m.refresh(ctx)
}

// refresh reads the facts that have come since.
func (m *models) refresh(ctx context.Context) error {
	query := events.Query{Kinds: []events.Kind{events.KindModelTrained}, From: m.last + 1}
	for recorded, err := range m.box.Read(ctx, query) {
		if err != nil {
			return err
		}
		m.last, m.seen = recorded.Message.Sequence, recorded.Message.Stored
		if data, ok := recorded.Fact.Data.(*events.ModelTrained); ok && recorded.Err == nil {
			pipeline := recorded.Fact.Pipeline
			m.named[pipeline] = append(m.named[pipeline], modelOf(data))
		}
	}
	return nil
}

// replaced says whether facts of this bus name the model that an execution made, and enough newer ones too. One that no fact names is left alone: its
// fact may be about to be told, or is on another bus.
func (m *models) replaced(ctx context.Context, of storage.Place) (bool, error) {
	if m.keep == 0 {
		return false, nil
	}
	if err := m.refresh(ctx); err != nil {
		return false, err
	}
	isNamed := false
	for _, told := range m.named {
		kept := newestOf(told, m.keep)
		for _, one := range told {
			isNamed = isNamed || one.made == of
		}
		for _, one := range kept {
			if one.made == of || one.base == of {
				return false, nil
			}
		}
	}
	return isNamed && !m.fixed[of], nil
}

// newestOf are the last facts that name at most n different models: a model that was told of again is as new as that.
func newestOf(told []model, n int) (kept []model) {
	seen := map[storage.Place]bool{}
	for i := len(told) - 1; i >= 0; i-- {
		if seen[told[i].made] = true; len(seen) > n {
			break
		}
		kept = append(kept, told[i])
	}
	return kept
}
