package gc

import (
	"context"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// models knows which executions facts name as a model, and which of them are kept.
type models struct {
	box   events.Letterbox
	keep  int                // of each pipeline; 0: all
	named map[string][]model // by pipeline, oldest first
	fixed map[key]bool       // kept whatever their age
	last  uint64             // sequence of the newest fact seen
}

// model is what a ModelTrained says of it.
type model struct {
	key
	base key // of the model it started from
}

func readModels(ctx context.Context, box events.Letterbox, opts Options) (*models, error) {
	m := &models{box: box, keep: opts.KeepModels, named: map[string][]model{}, fixed: map[key]bool{}}
	for _, ref := range opts.Keep {
		m.fixed[keyOf(ref.String())] = true
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
		m.last = recorded.Message.Sequence
		if data, ok := recorded.Fact.Data.(*events.ModelTrained); ok && recorded.Err == nil {
			pipeline := recorded.Fact.Pipeline
			m.named[pipeline] = append(m.named[pipeline], model{keyOf(data.Model.URI), keyOf(data.BaseModel)})
		}
	}
	return nil
}

// keyOf is the execution that made a model; the zero key for a model of someone else.
func keyOf(uri string) key {
	ref, err := storage.ParseRef(uri)
	if err != nil {
		return key{}
	}
	place, ok := storage.PlaceOf(ref)
	if !ok {
		return key{}
	}
	return key{place.Root, place.Execution}
}

// replaced says whether facts of this bus name the model, and enough newer ones too. One that no fact names is left alone: its
// fact may be about to be told, or is on another bus.
func (m *models) replaced(ctx context.Context, of key) (bool, error) {
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
			isNamed = isNamed || one.key == of
		}
		for _, one := range kept {
			if one.key == of || one.base == of {
				return false, nil
			}
		}
	}
	return isNamed && !m.fixed[of], nil
}

// newestOf are the last facts that name at most n different models: a model that was told of again is as new as that.
func newestOf(told []model, n int) (kept []model) {
	seen := map[key]bool{}
	for i := len(told) - 1; i >= 0; i-- {
		if seen[told[i].key] = true; len(seen) > n {
			break
		}
		kept = append(kept, told[i])
	}
	return kept
}
