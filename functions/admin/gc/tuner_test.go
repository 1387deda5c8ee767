package gc_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/storage"
)

// search writes what one attempt at a search leaves before its commit.
func (w world) search(attempt string) {
	w.t.Helper()
	dir := w.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "best_hyperparameters.txt"), []byte("{}"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	_, err := storage.Publish(w.t.Context(), w.store, storage.Publication{
		Root: root.Join("penguin", "Tuner"), Execution: execution(9), Attempt: attempt,
		Outputs: map[string]storage.Source{"best_hyperparameters": {Type: "HyperParameters", Dir: dir}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// Hyperparameters are small, and a later run may use them: newer ones do not replace them, as
// models do.
func TestTheResultOfASearchStaysAndItsAttemptsAreRemoved(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		w.search("won")
		tuner := root.Join("penguin", "Tuner")
		if _, _, err := storage.PutCommit(t.Context(), w.store, tuner, storage.Commit{Execution: execution(9), Attempt: "won"}); err != nil {
			t.Fatal(err)
		}
		kept := w.objects()
		w.search("lost")
		place := storage.Place{Root: tuner, Execution: execution(9), Attempt: "lost"}
		if _, err := storage.OpenCheckpoints(w.store, place, "job", 1).Save(t.Context(), w.model, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * day)
		if got := w.collect(gc.Options{OlderThan: day, KeepModels: 1}); !slices.Equal(got, []string{"attempt lost", "checkpoints"}) {
			t.Errorf("removed %q", got)
		}
		if now := w.objects(); !maps.Equal(now, kept) {
			t.Errorf("now %v, want %v", now, kept)
		}
	})
}

// A trial's state belongs to no commit, and its attempt ended long ago: it is removed with the
// search, not before.
func TestTheStateOfTrialsStaysDuringTheirSearch(t *testing.T) {
	inBubble(t, func(t *testing.T, w world) {
		for n, pipeline := range []string{"penguin", "taxi"} {
			place := storage.Place{Root: root.Join(pipeline, "Tuner"), Execution: execution(n), Attempt: "slot"}
			if _, err := storage.OpenCheckpoints(w.store, place, "trial 0000", 1).Save(t.Context(), w.model, 1); err != nil {
				t.Fatal(err)
			}
		}
		there := w.objects()
		w.queued(events.FunctionTune, "waiting")
		time.Sleep(3 * day)
		if got := w.collect(gc.Options{OlderThan: day}); !slices.Equal(got, []string{"checkpoints"}) {
			t.Errorf("removed %q", got)
		}
		left := w.objects()
		if len(left) != len(there)/2 || !strings.Contains(slices.Sorted(maps.Keys(left))[0], "penguin") {
			t.Errorf("%v are left of %v", left, there)
		}
	})
}
