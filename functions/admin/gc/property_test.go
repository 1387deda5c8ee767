package gc_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// history is a random history of a few executions, and the part of it that must still exist after
// any collection.
type history struct {
	world
	random    *rand.Rand
	committed map[int]storage.Place
	cancelled map[int]bool
	announced []int // executions, oldest first
	leased    map[string]bool
	attempts  int
}

const executions = 6

// step does one thing that may have happened.
func (h *history) step() {
	n := h.random.IntN(executions)
	h.attempts++
	attempt := fmt.Sprintf("a%d", h.attempts)
	switch h.random.IntN(7) {
	case 0:
		h.attempt(n, attempt)
	case 1, 2:
		h.settle(n, attempt)
	case 3:
		h.checkpoint(n, attempt)
	case 4:
		h.lease(attempt)
		h.leased[attempt] = true
		h.attempt(n, attempt)
		h.checkpoint(n, attempt)
	case 5:
		if place, ok := h.committed[n]; ok {
			var base storage.Place
			if m := h.random.IntN(executions); m != n {
				base = h.committed[m]
			}
			h.world.announce(attempt, place, base)
			h.announced = append(h.announced, n)
		}
	case 6:
		h.put(root.Join("upstream", attempt), "an input")
	}
	time.Sleep(time.Duration(h.random.IntN(20)) * time.Hour)
}

// settle commits an execution, cancels it, or replaces an existing commit.
func (h *history) settle(n int, attempt string) {
	place := h.attempt(n, attempt)
	next := storage.Commit{Execution: place.Execution, Attempt: attempt, Cancelled: h.random.IntN(5) == 0}
	var won bool
	var err error
	if old, readErr := storage.CommitOf(h.t.Context(), h.store, trainer, place.Execution); readErr == nil {
		_, won, err = storage.Recommit(h.t.Context(), h.store, trainer, old, next)
	} else {
		_, won, err = storage.PutCommit(h.t.Context(), h.store, trainer, next)
	}
	if err != nil || !won {
		h.t.Fatal(won, err)
	}
	delete(h.committed, n)
	if h.cancelled[n] = next.Cancelled; !next.Cancelled {
		h.committed[n] = place
	}
}

// keeps reports whether retention must keep an execution, by the plainest reading of its contract.
func (h *history) keeps(n, models int) bool {
	if models == 0 || !slices.Contains(h.announced, n) {
		return true
	}
	newest := map[int]bool{}
	for i := len(h.announced) - 1; i >= 0 && len(newest) < models; i-- {
		newest[h.announced[i]] = true
	}
	return newest[n]
}

// After any collection, of any history, every execution that is committed and kept is as valid as
// before, and nothing is gone that is young, leased or not Stoker's. A second collection finds
// nothing more.
func TestNoCollectionRemovesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	histories := 400
	if testing.Short() {
		histories = 60
	}
	for seed := range uint64(histories) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			h := &history{world: setup(t), random: random, committed: map[int]storage.Place{}, cancelled: map[int]bool{}, leased: map[string]bool{}}
			for range 10 + random.IntN(40) {
				h.step()
			}
			opts := gc.Options{Root: root, OlderThan: time.Duration(random.IntN(72)) * time.Hour, KeepModels: random.IntN(3)}
			before := h.objects()
			h.collectDespiteFaults(opts)
			h.check(before, opts)
			if t.Failed() {
				t.Fatalf("seed %d, options %+v", seed, opts)
			}
		})
	}
}

// collectDespiteFaults collects on a store that fails at random, until it succeeds.
func (h *history) collectDespiteFaults(opts gc.Options) {
	store := storagetest.Faulty(h.store, storagetest.OneIn(30, h.random.Uint64(), storagetest.Fault{Refuse: storage.ErrUnavailable}))
	for range 1000 {
		if gc.Collect(h.t.Context(), h.bus, store, opts, func(gc.Removal) {}) == nil {
			return
		}
	}
	h.t.Fatal("no collection got through")
}

func (h *history) check(before map[string]int64, opts gc.Options) {
	now := h.objects()
	for n := range executions {
		if _, committed := h.committed[n]; committed && h.keeps(n, opts.KeepModels) && !h.valid(n) {
			h.t.Errorf("execution %d is no longer valid", n)
		}
		if h.cancelled[n] && !h.valid(n) {
			h.t.Errorf("the cancellation of execution %d is forgotten", n)
		}
	}
	for key := range before {
		_, there := now[key]
		if !there && !strings.Contains(key, "/Trainer/") {
			h.t.Errorf("%s is gone, which is not ours", key)
		}
		for attempt := range h.leased {
			if !there && strings.Contains(key, "/"+attempt+"/") {
				h.t.Errorf("%s is gone, whose attempt is at work", key)
			}
		}
	}
	if again := h.collect(opts); len(again) > 0 || !maps.Equal(h.objects(), now) {
		h.t.Errorf("collected again: %q", again)
	}
	for recorded, err := range h.bus.Read(h.t.Context(), events.Query{}) {
		if err != nil || recorded.Err != nil {
			h.t.Errorf("event %d: %v %v", recorded.Message.Sequence, err, recorded.Err)
		}
	}
}
