package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// failing is a store whose first conditional writes fail.
func failing(writes int, err error) storage.Store {
	return storagetest.Faulty(storagetest.NewMemory(), func(c storagetest.Call) storagetest.Fault {
		if c.Op == storagetest.OpPutIf && c.N < writes {
			return storagetest.Fault{Refuse: err}
		}
		return storagetest.Fault{}
	})
}

func TestAWorkerWaitsForAnUnavailableStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &storeProbe{store: failing(100, storage.ErrUnavailable), root: storage.Ref{Bucket: "artifacts"}, log: slog.New(slog.DiscardHandler)}
		result := make(chan error, 1)
		go func() { result <- p.await(t.Context()) }()
		synctest.Wait()
		if err := p.need(t.Context()); !errors.Is(err, errNotProbed) {
			t.Errorf("before the probe has passed the worker needs nothing more: %v", err)
		}
		if err := <-result; err != nil {
			t.Errorf("await: %v", err)
		}
		if err := p.need(t.Context()); err != nil {
			t.Errorf("after the probe has passed: %v", err)
		}
	})
}

func TestAWorkerEndsWhereItsStoreRefuses(t *testing.T) {
	t.Parallel()
	for _, why := range []error{storage.ErrDenied, storage.ErrNoConditions, storage.ErrNotFound} {
		p := &storeProbe{store: failing(1<<30, why), root: storage.Ref{Bucket: "artifacts"}, log: slog.New(slog.DiscardHandler)}
		if err := p.await(t.Context()); !errors.Is(err, why) || exit.Code(err) != exit.Away {
			t.Errorf("got %v with status %d, want %v with status %d", err, exit.Code(err), why, exit.Away)
		}
	}
}

func TestAWorkerThatWaitsForItsStoreCanBeStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, stop)
		p := &storeProbe{store: failing(1<<30, storage.ErrUnavailable), root: storage.Ref{Bucket: "artifacts"}, log: slog.New(slog.DiscardHandler)}
		if err := p.await(ctx); err != nil || ctx.Err() == nil || p.passed.Load() {
			t.Errorf("got %v; passed: %v", err, p.passed.Load())
		}
	})
}
