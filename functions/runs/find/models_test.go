package find

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// lagging is a bus whose listings have older values of some keys.
type lagging struct {
	events.Letterbox
	old map[string]string // by key
}

func (l lagging) Register(ctx context.Context, name string) (events.Register, error) {
	register, err := l.Letterbox.Register(ctx, name)
	return laggingRegister{register, l.old}, err
}

type laggingRegister struct {
	events.Register
	old map[string]string
}

func (r laggingRegister) All(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		for entry, err := range r.Register.All(ctx) {
			if old, is := r.old[entry.Key]; is && err == nil {
				entry.Value = []byte(old)
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// A listing says that the run still waits, and that the pipeline starts from nothing.
func TestModelsInUseAreNotThoseOfAnOldListing(t *testing.T) {
	t.Parallel()
	box := eventstest.NewMemory(0)
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
	if _, _, err := dispatch.Apply(t.Context(), box, now); err != nil {
		t.Fatal(err)
	}
	joins, err := box.Register(t.Context(), events.RegisterJoins)
	if err != nil {
		t.Fatal(err)
	}
	complete := `{"pipeline": "penguin", "run": "r1", "state": "complete",
		"events": [{"kind": "transform.ready", "source": "/up", "id": "1", "sequence": 1}],
		"stages": [{"function": "train", "through": 1, "revision": 1, "latest": {"base_model": "s3://bkt/pinned"}}]}`
	if _, err := joins.Create(t.Context(), "penguin/r1", []byte(complete)); err != nil {
		t.Fatal(err)
	}
	stale := lagging{box, map[string]string{
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
