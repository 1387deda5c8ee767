package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// choosy is a bus that does not take the jobs of some runs.
type choosy struct {
	*eventstest.Memory
	refuses map[string]bool
}

func (c *choosy) Offer(ctx context.Context, job events.Job) error {
	if c.refuses[job.Run] {
		return events.ErrRefused
	}
	return c.Memory.Offer(ctx, job)
}

func TestTroubleWithOneRunIsNoOthers(t *testing.T) {
	t.Parallel()
	box, _ := setup(t, fmt.Sprintf(limited, "2"))
	picky := &choosy{box, map[string]bool{"a": true}}
	d, err := dispatch.New(t.Context(), picky, nil)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, box, "a", "t", transform())
	if err := d.Next(t.Context(), 0); !errors.Is(err, events.ErrRefused) {
		t.Fatalf("a: %v", err)
	}
	arrive(t, box, d, "b", "c", "d") // each without an error
	finish(t, box, d, wantJobs(t, box, "b comes", "b")[0])
	if _, err := dispatch.Cancel(t.Context(), picky, "penguin", "d"); err != nil {
		t.Error(err)
	}
	finish(t, box, d, wantJobs(t, box, "b is done", "c")[0])
	arrive(t, box, d, "e")
	wantJobs(t, box, "c is done, d cancelled", "e")
	picky.refuses = nil
	sweep(t, d)
	wantJobs(t, box, "swept", "a", "e") // e was taken off the queue, and nothing told
}
