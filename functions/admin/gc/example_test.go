package gc_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/admin/gc"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// An attempt died and left only its log.
func ExampleCollect() {
	ctx := context.Background()
	bus, store := bustest.NewMemory(0), storagetest.NewMemory()
	bucket := storage.Ref{Bucket: "stoker"}
	place := storage.Place{Root: bucket.Join("penguin", "Trainer"), Execution: "sha256:" + strings.Repeat("ab", 32), Attempt: "a1"}
	if _, err := store.Put(ctx, place.Log(), strings.NewReader("it died"), 7); err != nil {
		fmt.Println(err)
	}
	for _, age := range []time.Duration{24 * time.Hour, 0} {
		err := gc.Collect(ctx, bus, store, gc.Options{Root: bucket, OlderThan: age}, func(r gc.Removal) {
			fmt.Printf("%s %s, %d bytes: %s\n", r.What, r.Attempt, r.Bytes, r.Why)
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// attempt a1, 7 bytes: no commit names this attempt
}
