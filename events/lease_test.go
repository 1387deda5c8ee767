package events

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestALeaseCountsItsAttemptsByHowTheyEnded(t *testing.T) {
	t.Parallel()
	lease := Lease{}.Taken("a").Beaten().Released(FailureModule, "it raised\nTraceback").Taken("b")
	if want := (Ended{1, FailureModule, "it raised"}); lease.Ended == nil || *lease.Ended != want {
		t.Errorf("the attempt before ended by %+v, want %+v", lease.Ended, want)
	}
	lease = lease.Taken("c").Beaten().Beaten()
	want := Lease{
		Holder: "c", Number: 3, Beats: 2, Failures: map[FailureKind]int{FailureModule: 1, FailureUnavailable: 1},
		Ended: &Ended{2, FailureUnavailable, "its worker died, or was cut off"},
	}
	if diff := cmp.Diff(want, lease); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALeaseIsAValue(t *testing.T) {
	t.Parallel()
	first := Lease{}.Taken("a").Released(FailureModule, "")
	attempt := first.Taken("b").Attempt()
	first.Taken("b").Released(FailureModule, "")
	attempt.Failures[FailureCrash] = 9
	if want := map[FailureKind]int{FailureModule: 1}; !cmp.Equal(first.Failures, want) {
		t.Errorf("what came after changed it: %v", first.Failures)
	}
}

func TestALeaseIsCountedOnForLessThanItLasts(t *testing.T) {
	t.Parallel()
	terms := LeaseTerms{Length: 30 * time.Second, Margin: 3 * time.Second}
	sent := time.Now()
	if got := terms.Until(sent).Sub(sent); got != 27*time.Second {
		t.Errorf("counted on for %s, want 27s", got)
	}
}
