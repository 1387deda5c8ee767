package run

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func TestAttemptsAndProgressAreDescribed(t *testing.T) {
	t.Parallel()
	lost := events.Lease{Number: 3, Failures: map[events.FailureKind]int{events.FailureUnavailable: 2}}
	if got := attemptLine(lost); got != "number 3, 2 ended: handed back or lost" {
		t.Error(got)
	}
	if got := progressLine(events.Progress{Phase: "resuming", Step: 60}); !strings.HasSuffix(got, "resuming from step 60") {
		t.Error(got)
	}
}
