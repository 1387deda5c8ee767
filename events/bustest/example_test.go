package bustest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
)

// Inside testing/synctest the clock is the test's own: a lease of half a minute expires at once.
func TestMemoryOnTheTestsOwnClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := bustest.NewMemory(0)
		job := events.Job{
			ID: "5f3a", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "17", Spec: []byte(`{}`),
			Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/gen", ID: "1", Sequence: 1}},
		}
		if err := bus.Enqueue(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for want := 1; want <= 3; want++ { // each worker dies at once
			claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Hour)
			if err != nil || claim.Attempt().Number != want {
				t.Fatal(claim, err)
			}
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("two leases took %s, want a minute", took)
		}
	})
}
