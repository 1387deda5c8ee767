package replay_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/storage"
)

// reading is a bus and a store on which any write fails the test.
type reading struct {
	events.Bus
	t *testing.T
}

func (r reading) Publish(context.Context, events.Event) (events.Receipt, error) {
	r.t.Error("published")
	return events.Receipt{}, errors.New("read only")
}
func (r reading) Enqueue(context.Context, events.Job) error { r.t.Error("enqueued"); return nil }
func (r reading) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := r.Bus.KV(ctx, name)
	return readingKV{kv, r.t}, err
}

type readingKV struct {
	events.KV
	t *testing.T
}

func (r readingKV) Create(context.Context, string, []byte) (uint64, error) {
	r.t.Error("created an entry")
	return 0, errors.New("read only")
}
func (r readingKV) Update(context.Context, string, []byte, uint64) (uint64, error) {
	r.t.Error("updated an entry")
	return 0, errors.New("read only")
}
func (r readingKV) Delete(context.Context, string, uint64) error {
	r.t.Error("deleted an entry")
	return errors.New("read only")
}

type readingStore struct {
	storage.Store
	t *testing.T
}

func (s readingStore) Put(context.Context, storage.Ref, io.Reader, int64) (storage.Object, error) {
	s.t.Error("put an object")
	return storage.Object{}, errors.New("read only")
}
func (s readingStore) PutIf(context.Context, storage.Ref, []byte, storage.Condition) (storage.Object, error) {
	s.t.Error("put an object")
	return storage.Object{}, errors.New("read only")
}
func (s readingStore) Delete(context.Context, storage.Ref) error {
	s.t.Error("deleted an object")
	return errors.New("read only")
}

func TestASurveyChangesNothing(t *testing.T) {
	inWorld(t, chained, func(t *testing.T, w *world) {
		for _, run := range []string{"a", "b"} {
			w.ready(run)
			w.settle()
		}
		w.ready("waits")
		for _, lose := range []func(){func() {}, w.wipe, w.forget} {
			lose()
			r, err := replay.New(t.Context(), reading{w.bus, t}, readingStore{w.store, t}, nil)
			w.check(err)
			for _, force := range []bool{false, true} {
				_, err = r.Survey(t.Context(), replay.Options{Force: force, Request: "x"})
				w.check(err)
			}
		}
	})
}
