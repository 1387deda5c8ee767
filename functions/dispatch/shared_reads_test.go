package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// slowKey is a key whose value counts the reads that have begun. A read takes a second.
type slowKey struct {
	mu     sync.Mutex
	begun  uint64
	failed error
}

func (k *slowKey) read(ctx context.Context) (events.Entry, error) {
	k.mu.Lock()
	k.begun++
	entry, err := events.Entry{Revision: k.begun}, k.failed
	k.mu.Unlock()
	select {
	case <-ctx.Done():
		return events.Entry{}, context.Cause(ctx)
	case <-time.After(time.Second):
		return entry, err
	}
}

// A caller may only get a value that was read after it asked: a pipeline that was applied before
// that counts.
func TestASharedReadBeginsAfterItsCallersHaveAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads sharedReads
		var key slowKey
		var callers sync.WaitGroup
		get := func(want uint64) {
			callers.Go(func() {
				if entry, err := reads.get(t.Context(), "key", key.read); err != nil || entry.Revision != want {
					t.Errorf("read %d, %v, want %d", entry.Revision, err, want)
				}
			})
		}
		get(1)
		time.Sleep(time.Second / 2)
		for range 5 {
			get(2) // the first read had begun
		}
		time.Sleep(time.Second)
		get(3) // and now the second one
		callers.Wait()
		if len(reads.keys) != 0 {
			t.Errorf("%d keys are remembered", len(reads.keys))
		}
	})
}

func TestAReadThatFailsIsRepeatedByEachCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads sharedReads
		key := slowKey{failed: errors.New("no")}
		var callers sync.WaitGroup
		stopped, stop := context.WithCancel(t.Context())
		callers.Go(func() { _, _ = reads.get(t.Context(), "key", key.read) })
		synctest.Wait()
		callers.Go(func() { // the next read waits for this one
			if _, err := reads.get(stopped, "key", key.read); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
		synctest.Wait()
		callers.Go(func() {
			if entry, err := reads.get(t.Context(), "key", key.read); err == nil || entry.Revision != 3 {
				t.Errorf("read %d, %v", entry.Revision, err)
			}
		})
		time.Sleep(3 * time.Second / 2)
		stop()
		callers.Wait()
	})
}

func TestAReadThatPanicsHoldsUpNoCaller(t *testing.T) {
	t.Parallel()
	var reads sharedReads
	for range 2 {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != "broken" {
					t.Errorf("recovered %s", got)
				}
			}()
			_, _ = reads.get(t.Context(), "key", func(context.Context) (events.Entry, error) { panic("broken") })
		}()
	}
}

func TestAKeyIsHeldByOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks keyedMutex
		began := time.Now()
		held := map[string]int{}
		var mu sync.Mutex
		var users sync.WaitGroup
		for i := range 20 {
			key := fmt.Sprint(i % 2)
			users.Go(func() {
				defer locks.lock(key)()
				count := func(by int) {
					mu.Lock()
					defer mu.Unlock()
					if held[key] += by; held[key] > 1 {
						t.Errorf("%d hold key %s", held[key], key)
					}
				}
				count(1)
				time.Sleep(time.Second)
				count(-1)
			})
		}
		users.Wait()
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("ten turns of two keys took %v", took)
		}
		if len(locks.held) != 0 {
			t.Errorf("%d keys are remembered", len(locks.held))
		}
	})
}
