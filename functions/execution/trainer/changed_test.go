package trainer_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// An artifact that changes between listing and staging is a different input: the attempt ends, and
// the next attempt's execution is that of the new content.
func TestAnInputThatChangesBeforeItIsStagedIsTriedAgain(t *testing.T) {
	t.Parallel()
	const data = "up/tx/Split-train/data-0"
	for name, change := range map[string]func(t *testing.T, b *bench){
		"other bytes":      func(t *testing.T, b *bench) { b.put(t, data, "TRAIN ROWS") },
		"other length":     func(t *testing.T, b *bench) { b.put(t, data, "more train rows") },
		"under other keys": func(t *testing.T, b *bench) { b.lose(t, data); b.put(t, data+"-of-1", "train rows") },
	} {
		b := setup(t, writesModel)
		before, err := b.shift(t, b.store, b.runner, "a0", 1).handle(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.lose(t, "penguin/")
		changed := false
		store := storagetest.Faulty(b.store, func(c storagetest.Call) storagetest.Fault {
			// The artifact is listed, and is about to be read.
			if c.Op == storagetest.OpOpen && c.Ref.Key == data && !changed {
				changed = true
				change(t, b)
			}
			return storagetest.Fault{}
		})
		_, err = b.shift(t, store, b.runner, "a1", 1).handle(t.Context())
		if kindOf(err) != events.FailureUnavailable || !strings.Contains(err.Error(), storage.ErrChanged.Error()) {
			t.Errorf("%s: kind %q of %v", name, kindOf(err), err)
		}
		after, err := b.shift(t, store, b.runner, "a2", 2).handle(t.Context())
		if err != nil || after.Execution == before.Execution {
			t.Errorf("%s: published %+v, %v", name, after, err)
		}
	}
}
