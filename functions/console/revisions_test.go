package console

import (
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/plan"
)

// Pages that are built at once, under the lock for readers, may want the same revision: the race detector has nothing to say to it.
func TestPagesThatAreBuiltAtOnceWantARevisionOnce(t *testing.T) {
	t.Parallel()
	m := newModel(10)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for number := range uint64(10) {
				m.mu.RLock()
				pinned := plan.New("penguin", "monday")
				pinned.Revision = number + 1
				if _, err := (known{m}).Spec(pinned); err != errNotRead {
					t.Errorf("revision %d: %v", pinned.Revision, err)
				}
				m.mu.RUnlock()
				m.wanted()
			}
		})
	}
	readers.Wait()
	if wanted := m.wanted(); len(wanted) != 10 {
		t.Errorf("%d revisions are wanted: %v", len(wanted), wanted)
	}
	m.found(revision{"penguin", 1}, pipeline.Pipeline{})
	if wanted := m.wanted(); len(wanted) != 9 {
		t.Errorf("one was found, and %d are wanted", len(wanted))
	}
}
