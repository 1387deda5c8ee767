package dispatch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestAnEarlierRevisionIsAppliedAgain(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	apply := func(text string) uint64 {
		t.Helper()
		p, err := pipeline.Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		revision, _, err := dispatch.ApplyFrom(t.Context(), bus, p, pipeline.Origin{Source: text, File: "p.yaml", User: "ana"})
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	const one, two = "pipeline: penguin\nmodule: ./one\n", "pipeline: penguin\nmodule: ./two\n"
	first, second := apply(one), apply(two)
	if again := apply("# A comment.\n" + two); again != second {
		t.Errorf("another comment made revision %d of %d", again, second)
	}
	by := pipeline.Origin{User: "bob", Client: "test"}
	for _, tc := range []struct {
		to, applied uint64
		want        error
	}{{99, dispatch.AnyRevision, events.ErrNotFound}, {first, first, events.ErrConflict}, {first, 99, events.ErrConflict}, {first, 0, events.ErrConflict}, {second, 0, events.ErrConflict}} {
		if _, _, err := dispatch.Rollback(t.Context(), bus, "penguin", tc.to, tc.applied, by); !errors.Is(err, tc.want) {
			t.Errorf("to %d over %d: %v, want %v", tc.to, tc.applied, err, tc.want)
		}
	}
	third, changed, err := dispatch.Rollback(t.Context(), bus, "penguin", first, second, by)
	if err != nil || !changed || third <= second {
		t.Fatalf("%d, %t, %v", third, changed, err)
	}
	all, err := dispatch.Revisions(t.Context(), bus, "penguin")
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	want := pipeline.Origin{Source: one, File: "p.yaml", User: "bob", Client: "test", Of: first}
	if last := all[2]; last.Spec.Module.Path != "./one" || last.Origin != want || all[1].Origin.User != "ana" {
		t.Errorf("%+v", last)
	}
	if same, changed, err := dispatch.Rollback(t.Context(), bus, "penguin", first, dispatch.AnyRevision, by); err != nil || changed || same != third {
		t.Errorf("to what is applied: %d, %t, %v", same, changed, err)
	}
	if _, _, err := dispatch.Remove(t.Context(), bus, "penguin", false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := dispatch.Rollback(t.Context(), bus, "penguin", second, third, by); !errors.Is(err, events.ErrConflict) {
		t.Errorf("over a revision that was removed: %v", err)
	}
	if restored, changed, err := dispatch.Rollback(t.Context(), bus, "penguin", second, 0, by); err != nil || !changed || restored <= third {
		t.Errorf("a removed pipeline: %d, %t, %v", restored, changed, err)
	}
}

// overtaken is a bus on which another client applies a pipeline right before the first one is made.
type overtaken struct {
	*bustest.Memory
	before func()
}

func (b *overtaken) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := b.Memory.KV(ctx, name)
	return overtakenKV{kv, b}, err
}

type overtakenKV struct {
	events.KV
	bus *overtaken
}

func (r overtakenKV) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if before := r.bus.before; before != nil {
		r.bus.before = nil
		before()
	}
	return r.KV.Create(ctx, key, value)
}

// A pipeline that was removed is not restored over one that was applied meanwhile: neither before
// the rollback reads the bucket, nor between that and its write.
func TestARemovedPipelineIsNotRestoredOverAnother(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"applied before the read": false, "applied before the write": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := bustest.NewMemory(0)
			apply := func(module string) uint64 {
				t.Helper()
				p, err := pipeline.Parse("p.yaml", []byte("pipeline: penguin\nmodule: "+module+"\n"))
				if err != nil {
					t.Fatal(err)
				}
				revision, _, err := dispatch.Apply(t.Context(), memory, p)
				if err != nil {
					t.Fatal(err)
				}
				return revision
			}
			first := apply("./one")
			if _, _, err := dispatch.Remove(t.Context(), memory, "penguin", false); err != nil {
				t.Fatal(err)
			}
			bus := &overtaken{Memory: memory}
			if late {
				bus.before = func() { apply("./other") }
			} else {
				apply("./other")
			}
			if _, _, err := dispatch.Rollback(t.Context(), bus, "penguin", first, 0, pipeline.Origin{}); !errors.Is(err, events.ErrConflict) {
				t.Errorf("error %v", err)
			}
			all, err := dispatch.Revisions(t.Context(), memory, "penguin")
			if err != nil || all[len(all)-1].Spec.Module.Path != "./other" {
				t.Errorf("applied is %+v, %v", all[len(all)-1], err)
			}
		})
	}
}
