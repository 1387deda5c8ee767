package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// reader is downstream: it reads each model as soon as its event comes, while failures are
// injected. The model must be complete, committed, and match the event.
type reader struct {
	w   *world
	bus events.Bus

	mu     sync.Mutex
	models int
	faults []string
}

// follow reads until ctx ends.
func (r *reader) follow(ctx context.Context) {
	next := uint64(1)
	for ctx.Err() == nil {
		for recorded, err := range r.bus.Read(ctx, events.Query{Kinds: []events.Kind{events.KindModelTrained}, From: next, Follow: true}) {
			if err != nil {
				break // the bus is away; reading resumes from next
			}
			next = recorded.Message.Sequence + 1
			r.take(ctx, recorded)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (r *reader) take(ctx context.Context, recorded events.Recorded) {
	err := recorded.Err
	if err == nil {
		err = r.w.whole(ctx, recorded.Event.Data.(*events.ModelTrained))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.models++
	if err != nil && ctx.Err() == nil {
		r.faults = append(r.faults, fmt.Sprintf("the reader of event %d, run %s: %v", recorded.Message.Sequence, recorded.Event.Run, err))
	}
}

func (r *reader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.models
}

func (r *reader) found() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.faults
}

// whole returns an error if the model of an event is incomplete, not committed, or differs from the
// event.
func (w *world) whole(ctx context.Context, event *events.ModelTrained) error {
	ref, err := storage.ParseRef(event.Model.URI)
	if err != nil {
		return err
	}
	place, ok := storage.PlaceOf(ref)
	if !ok {
		return fmt.Errorf("%s is no artifact's address", ref)
	}
	commit, _, err := storage.Committed(ctx, w.store, place.Root, event.Execution)
	if err != nil {
		return err
	}
	if commit.Attempt != place.Attempt {
		return fmt.Errorf("the event names attempt %s, %s was committed", place.Attempt, commit.Attempt)
	}
	dir, err := os.MkdirTemp(w.dir, "model-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	staged, err := storage.StageIn(ctx, w.store, ref, dir, storage.StageOptions{})
	if err != nil {
		return err
	}
	if staged.Digest != event.Model.Digest {
		return fmt.Errorf("model %s has digest %s, the event has %s", ref, staged.Digest, event.Model.Digest)
	}
	return savedmodel.Check(filepath.Join(dir, "Format-Serving"))
}
