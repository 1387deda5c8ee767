package query

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// lagging is a bus whose listings have older values of some keys.
type lagging struct {
	events.Bus
	old map[string]string // by key
}

func (l lagging) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := l.Bus.KV(ctx, name)
	return laggingKV{kv, l.old}, err
}

type laggingKV struct {
	events.KV
	old map[string]string
}

func (r laggingKV) All(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		for entry, err := range r.KV.All(ctx) {
			if old, is := r.old[entry.Key]; is && err == nil {
				entry.Value = []byte(old)
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// According to a listing, the run still waits, and its pipeline starts from no model.
func TestModelsInUseAreNotThoseOfAnOldListing(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	text := "pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform]}\n"
	before, err := pipeline.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	old, err := before.JSON()
	if err != nil {
		t.Fatal(err)
	}
	now, err := pipeline.Parse("p.yaml", []byte("pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform], base_model: s3://bkt/fixed}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dispatch.Apply(t.Context(), bus, now); err != nil {
		t.Fatal(err)
	}
	joins, err := bus.KV(t.Context(), events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	complete := `{"pipeline": "penguin", "run": "r1", "state": "complete",
		"events": [{"kind": "transform.ready", "source": "/up", "id": "1", "sequence": 1}],
		"stages": [{"function": "train", "through": 1, "revision": 1, "latest": {"base_model": "s3://bkt/pinned"}}]}`
	if _, err := joins.Create(t.Context(), "penguin/r1", []byte(complete)); err != nil {
		t.Fatal(err)
	}
	stale := lagging{bus, map[string]string{
		"penguin/r1": `{"pipeline": "penguin", "run": "r1", "state": "waiting"}`,
		"penguin":    string(old),
	}}
	refs, err := ModelsInUse(t.Context(), stale)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, ref := range refs {
		found = append(found, ref.String())
	}
	slices.Sort(found)
	if !slices.Equal(found, []string{"s3://bkt/fixed", "s3://bkt/pinned"}) {
		t.Errorf("found %q", found)
	}
}
