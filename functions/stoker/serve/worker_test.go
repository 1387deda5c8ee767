package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestAWorkerLeavesWithinItsGraceTimeWhateverItIsAt(t *testing.T) {
	t.Parallel()
	handedBack := errors.New("handed back")
	for name, tc := range map[string]struct {
		needs time.Duration // to return, once it is asked to stop
		takes time.Duration
		says  string
	}{
		"it hands back in time": {7 * time.Second, 7 * time.Second, "handed back"},
		"it does not":           {time.Hour, 25 * time.Second, "still running 25s after the signal to stop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var stopped time.Time
				time.AfterFunc(time.Minute, func() { stopped = time.Now(); stop() })
				err := leaveWithin(ctx, 25*time.Second, func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(tc.needs)
					return handedBack
				})
				if took := time.Since(stopped); took != tc.takes || err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("left after %s with %v, want %s and %s", took, err, tc.takes, tc.says)
				}
				time.Sleep(tc.needs) // ends with the process, or here
			})
		})
	}
}

func TestAWorkerThatIsNotStoppedHasUnlimitedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := leaveWithin(t.Context(), time.Second, func(context.Context) error { time.Sleep(time.Hour); return nil })
		if err != nil {
			t.Error(err)
		}
	})
}

func TestAWorkerReadsOnlyWhereItMay(t *testing.T) {
	memory, root := storagetest.NewMemory("models", "uploads", "secrets"), storage.Ref{Bucket: "models", Key: "acme"}
	secret := storage.Ref{Bucket: "secrets", Key: "x"}
	within := func(inputs string) (storage.Store, error) {
		a := &app.App{}
		a.AddFlags(&cobra.Command{})
		if err := a.Flags.Set("inputs", inputs); err != nil {
			t.Fatal(err)
		}
		return withinInputs(a, memory, root)
	}
	store, err := within("s3://uploads/acme, s3://modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Stat(t.Context(), secret); !errors.Is(err, storage.ErrBadRef) {
		t.Errorf("elsewhere: got %v, want that it is refused", err)
	}
	for _, ref := range []storage.Ref{root.Join("m"), {Bucket: "uploads", Key: "acme/u"}} {
		if _, err := store.Stat(t.Context(), ref); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: got %v, want that it is looked for", ref, err)
		}
	}
	if _, err := within("uploads"); exit.Code(err) != exit.WrongUsage {
		t.Errorf("a place that is none: got %v", err)
	}
	if store, err := within(""); store != storage.Store(memory) || err != nil {
		t.Errorf("without places: got %v, %v", store, err)
	}
}

// failing returns a store whose first conditional writes fail.
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
