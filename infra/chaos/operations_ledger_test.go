//go:build cluster

package chaos

import (
	"slices"
	"sync"

	"github.com/stoker-ml/stoker/infra/chaos/history"
)

// ledger records what publishers and operators know, and the outcomes of runs that they intend. Its
// methods may be called by many goroutines.
type ledger struct {
	mu      sync.Mutex
	history history.History // only what no bus holds
}

func newLedger() *ledger {
	return &ledger{history: history.History{Skew: maxOperationSkew, Intended: &history.Intended{Stopped: map[history.Run]bool{}, Failing: map[history.Run]bool{}}}}
}

func (l *ledger) do(what func(*history.History)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what(&l.history)
}

func (l *ledger) acked(p history.Published) {
	l.do(func(h *history.History) { h.Published = append(h.Published, p) })
}

// trains records that a run will not be stopped.
func (l *ledger) trains(r history.Run) {
	l.do(func(h *history.History) { h.Intended.Trained = append(h.Intended.Trained, r) })
}

// stopped notes, before that is done, that a run is cancelled or may be superseded.
func (l *ledger) stopped(r history.Run) {
	l.do(func(h *history.History) { h.Intended.Stopped[r] = true })
}

// cancelled notes that cancelling reported the end of a run.
func (l *ledger) cancelled(r history.Run) {
	l.do(func(h *history.History) { h.Cancelled = append(h.Cancelled, r) })
}

// failing notes that a run's job can't be done.
func (l *ledger) failing(r history.Run) {
	l.do(func(h *history.History) { h.Intended.Failing[r] = true })
}

// spoiled records the subject of a message that can't be handled.
func (l *ledger) spoiled(subject string) {
	l.do(func(h *history.History) { h.Spoiled = append(h.Spoiled, subject) })
}

// complete adds to what a bus holds what it doesn't.
func (l *ledger) complete(h history.History) history.History {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.Published, h.Cancelled, h.Spoiled = slices.Clone(l.history.Published), slices.Clone(l.history.Cancelled), slices.Clone(l.history.Spoiled)
	h.Skew, h.Intended = l.history.Skew, l.history.Intended
	return h
}
