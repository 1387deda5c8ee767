package storage_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// swept loses the folder below some of the first writes, like a store on a file system from which
// others remove their objects meanwhile.
type swept struct {
	storage.Store
	times int
	err   error

	mu     sync.Mutex
	writes int
}

func (s *swept) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	s.mu.Lock()
	s.writes++
	fails := s.writes <= s.times
	s.mu.Unlock()
	if fails {
		return storage.Object{}, s.err
	}
	return s.Store.PutIf(ctx, ref, body, cond)
}

func TestAProbeThatOthersDisturbIsTriedAgain(t *testing.T) {
	t.Parallel()
	isFolder := errors.New("Existing Object is a directory.")
	for _, c := range []struct {
		name  string
		times int
		err   error
		want  error
		tries int // writes that failed
	}{
		{"a folder that went away", 2, isFolder, nil, 2},
		{"forever", 100, isFolder, isFolder, 5},
		{"denied", 100, storage.ErrDenied, storage.ErrDenied, 1},
		{"away", 100, storage.ErrUnavailable, storage.ErrUnavailable, 2},
	} {
		store := &swept{Store: storagetest.NewMemory(), times: c.times, err: c.err}
		err := storage.Probe(t.Context(), store, root)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if failed := min(store.writes, c.times); failed != c.tries {
			t.Errorf("%s: %d writes failed, want %d", c.name, failed, c.tries)
		}
	}
}

// hasty is a store in which some concurrent writers check the condition first and write later.
type hasty struct {
	*storagetest.Memory
	header string // of the condition that it handles in this way
	writes int    // writes to one object that it lets pass in this way

	mu     sync.Mutex
	passed map[storage.Ref]int
}

func (h *hasty) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	header := "If-Match"
	if cond.IfAbsent {
		header = "If-None-Match"
	}
	now, err := h.Stat(ctx, ref)
	holds := cond.IfAbsent && errors.Is(err, storage.ErrNotFound) || err == nil && now.ETag == cond.IfMatch
	if !holds || header != h.header || !h.isHasty(ref) {
		return h.Memory.PutIf(ctx, ref, body, cond)
	}
	// By the bubble's clock: all concurrent writers have checked by then.
	time.Sleep(time.Millisecond)
	return h.Put(ctx, ref, strings.NewReader(string(body)), int64(len(body)))
}

func (h *hasty) isHasty(ref storage.Ref) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passed[ref]++
	return h.passed[ref] <= h.writes
}

func TestProbeRefusesAStoreThatChecksAndThenWrites(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"If-None-Match", "If-Match"} {
		synctest.Test(t, func(t *testing.T) {
			store := &hasty{Memory: storagetest.NewMemory(), header: header, writes: 1000, passed: map[storage.Ref]int{}}
			err := storage.Probe(t.Context(), store, root)
			if !errors.Is(err, storage.ErrNoConditions) {
				t.Fatalf("got %v, want ErrNoConditions", err)
			}
			for _, want := range []string{"memory", "8 of 8 concurrent conditional writes won", header} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
			checkEmpty(t, store)
		})
	}
}

// Of eight writers, three check before the first of them has written; a fourth one behaves
// correctly.
func TestProbeSaysHowManyConcurrentWritesWon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &hasty{Memory: storagetest.NewMemory(), header: "If-None-Match", writes: 3, passed: map[storage.Ref]int{}}
		err := storage.Probe(t.Context(), store, root)
		if !errors.Is(err, storage.ErrNoConditions) || !strings.Contains(err.Error(), "4 of 8 concurrent conditional writes won") {
			t.Errorf("got %v", err)
		}
	})
}

func checkEmpty(t *testing.T, store storage.Store) {
	t.Helper()
	for object, err := range store.List(context.WithoutCancel(t.Context()), storage.Ref{Bucket: root.Bucket}) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("the probe left %s", object.Ref)
	}
}

// countCalls returns how often a probe of a good store calls each method.
func countCalls(t *testing.T) map[storagetest.Op]int {
	t.Helper()
	calls := map[storagetest.Op]int{}
	var mu sync.Mutex
	store := storagetest.Faulty(storagetest.NewMemory(), func(c storagetest.Call) storagetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		calls[c.Op]++
		return storagetest.Fault{}
	})
	if err := storage.Probe(t.Context(), store, root); err != nil {
		t.Fatal(err)
	}
	return calls
}

func TestProbeResolvesALostAnswer(t *testing.T) {
	t.Parallel()
	for op, calls := range countCalls(t) {
		if calls == 0 {
			t.Fatalf("the probe does not call %s", op)
		}
		for n := range calls {
			store := storagetest.NewMemory()
			lossy := storagetest.Faulty(store, storagetest.Nth(op, n, storagetest.Fault{LoseAnswer: true}))
			if err := storage.Probe(t.Context(), lossy, root); err != nil {
				t.Errorf("answer %d of %s lost: %v", n, op, err)
			}
			checkEmpty(t, store)
		}
	}
}

// retrying loses the answer to one write and repeats it, as an S3 client does: the caller gets the
// answer to the repeated request.
type retrying struct {
	storage.Store
	lost   int64
	writes atomic.Int64
}

func (r *retrying) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	if r.writes.Add(1)-1 == r.lost {
		if _, err := r.Store.PutIf(ctx, ref, body, cond); err != nil && !errors.Is(err, storage.ErrPrecondition) {
			return storage.Object{}, err
		}
	}
	return r.Store.PutIf(ctx, ref, body, cond)
}

func TestProbeResolvesALostAnswerThatTheClientRetried(t *testing.T) {
	t.Parallel()
	for n := range countCalls(t)[storagetest.OpPutIf] {
		store := storagetest.NewMemory()
		if err := storage.Probe(t.Context(), &retrying{Store: store, lost: int64(n)}, root); err != nil {
			t.Errorf("answer %d lost: %v", n, err)
		}
		checkEmpty(t, store)
	}
}

func TestProbeRemovesWhatItWroteWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	for n := range countCalls(t)[storagetest.OpPutIf] {
		ctx, stop := context.WithCancel(t.Context())
		store := storagetest.NewMemory()
		interrupted := storagetest.Faulty(store, func(c storagetest.Call) storagetest.Fault {
			if c.Op == storagetest.OpPutIf && c.N == n {
				stop()
			}
			return storagetest.Fault{}
		})
		if err := storage.Probe(ctx, interrupted, root); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at write %d: got %v", n, err)
		}
		checkEmpty(t, store)
	}
}

// silent is a store that stops answering.
type silent struct {
	storage.Store
	answers int64
	asked   atomic.Int64
}

func (s *silent) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	if s.asked.Add(1) > s.answers {
		<-ctx.Done()
		return storage.Object{}, ctx.Err()
	}
	return s.Store.PutIf(ctx, ref, body, cond)
}

func TestProbeOfASilentStoreEnds(t *testing.T) {
	t.Parallel()
	for _, answers := range []int64{0, 2, 7} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			store := storagetest.NewMemory()
			err := storage.Probe(t.Context(), &silent{Store: store, answers: answers}, root)
			if !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want ErrUnavailable", err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("took %s", took)
			}
			checkEmpty(t, store)
		})
	}
}

// The verdict on a slow store counts even if the time ends while the objects are removed.
func TestProbeRefusesASlowStoreByWhatItSaw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := storagetest.Faulty(careless{storagetest.NewMemory()}, func(c storagetest.Call) storagetest.Fault {
			return storagetest.Fault{Delay: map[storagetest.Op]time.Duration{storagetest.OpPutIf: 29 * time.Second, storagetest.OpDelete: 5 * time.Second}[c.Op]}
		})
		if err := storage.Probe(t.Context(), slow, root); !errors.Is(err, storage.ErrNoConditions) || errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("got %v, want ErrNoConditions", err)
		}
	})
}

func TestProbesAtOnceShareNoKey(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	var keys [4]sync.Map
	var probes sync.WaitGroup
	for i := range keys {
		watched := storagetest.Faulty(store, func(c storagetest.Call) storagetest.Fault {
			if c.Op == storagetest.OpPutIf {
				keys[i].Store(c.Ref, true)
			}
			return storagetest.Fault{}
		})
		probes.Go(func() {
			if err := storage.Probe(t.Context(), watched, root); err != nil {
				t.Error(err)
			}
		})
	}
	probes.Wait()
	seen := map[any]int{}
	for i := range keys {
		keys[i].Range(func(ref, _ any) bool {
			if first, there := seen[ref]; there {
				t.Errorf("probes %d and %d write %s", first, i, ref)
			}
			seen[ref] = i
			return true
		})
	}
	checkEmpty(t, store)
}

func TestAwaitProbeWaitsForAnUnavailableStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ err, want error }{
		"unavailable":   {storage.ErrUnavailable, nil},
		"denied":        {storage.ErrDenied, storage.ErrDenied},
		"no conditions": {storage.ErrNoConditions, storage.ErrNoConditions},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &swept{Store: storagetest.NewMemory(), times: 50, err: c.err}
			waits := 0
			err := storage.AwaitProbe(t.Context(), store, root, func(err error, wait time.Duration) {
				if waits++; !errors.Is(err, storage.ErrUnavailable) || wait <= 0 || wait > time.Minute {
					t.Errorf("%s: waits %s after %v", name, wait, err)
				}
			})
			if !errors.Is(err, c.want) || (waits > 0) != (c.want == nil) {
				t.Errorf("%s: got %v after %d waits, want %v", name, err, waits, c.want)
			}
		})
	}
}

func TestAwaitProbeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		away := &swept{Store: storagetest.NewMemory(), times: 1 << 30, err: storage.ErrUnavailable}
		err := storage.AwaitProbe(ctx, away, root, func(error, time.Duration) {})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
