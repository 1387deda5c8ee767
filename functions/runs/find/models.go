package find

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage"
)

// ModelsInUse returns the models that pipelines start from, and the inputs of runs that have no
// outcome yet. Pipelines, and runs that are waiting by a listing, are read from the leader of the
// bus, because a listing may be old.
func ModelsInUse(ctx context.Context, bus events.Bus) ([]storage.Ref, error) {
	var refs []storage.Ref
	add := func(uri string) {
		if ref, err := storage.ParseRef(uri); err == nil { // none, latest and blessed are no addresses
			refs = append(refs, ref)
		}
	}
	known, err := openBuckets(ctx, bus)
	if err != nil {
		return nil, err
	}
	finished, err := LastOutcomes(ctx, bus, events.Query{})
	if err != nil {
		return nil, err
	}
	for listed, err := range known.pipelines.All(ctx) {
		if err != nil {
			return nil, err
		}
		entry, err := known.pipelines.Get(ctx, listed.Key)
		if errors.Is(err, events.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		spec, err := pipeline.FromJSON(entry.Value)
		if err != nil {
			return nil, err
		}
		add(spec.Trainer.BaseModel)
		if spec.Trainer.BaseModel == pipeline.BaseModelBlessed {
			blessed, err := dispatch.Blessed(ctx, bus, spec.Name, 0)
			if err != nil {
				return nil, err
			}
			add(blessed)
		}
	}
	for entry, err := range known.joins.All(ctx) {
		if err != nil {
			return nil, err
		}
		j, err := dispatch.DecodeJoin(events.Entry(entry))
		if err == nil && j.State == join.Waiting {
			j, err = known.join(ctx, entry.Key)
		}
		if err != nil {
			return nil, err
		}
		if last := finished[Key{j.Pipeline, j.Run}]; last.State.State == "" || last.OfEvent || last.Sequence <= j.Stage(events.FunctionTrain).After {
			add(j.Stage(events.FunctionTrain).Latest.BaseModel)
		}
	}
	return refs, nil
}

// join reads a join at the leader of the bus; the zero join if there is none.
func (r buckets) join(ctx context.Context, key string) (join.Join, error) {
	entry, err := r.joins.Get(ctx, key)
	if errors.Is(err, events.ErrNotFound) {
		return join.Join{}, nil
	}
	if err != nil {
		return join.Join{}, err
	}
	return dispatch.DecodeJoin(entry)
}
