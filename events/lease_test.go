package events

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestALeaseCountsItsAttemptsByHowTheyEnded(t *testing.T) {
	t.Parallel()
	lease := Lease{}.Taken("a").Renewed().Released(FailureModule, "it raised\nTraceback").Taken("b")
	if want := (Ended{1, FailureModule, "it raised"}); lease.Ended == nil || *lease.Ended != want {
		t.Errorf("the attempt before ended by %+v, want %+v", lease.Ended, want)
	}
	lease = lease.Taken("c").Renewed().Renewed()
	want := Lease{
		Holder: "c", Number: 3, Heartbeats: 2, Failures: map[FailureKind]int{FailureModule: 1, FailureUnavailable: 1},
		Ended: &Ended{2, FailureUnavailable, "its worker died, or was cut off"}, Lost: []string{"b"},
	}
	if diff := cmp.Diff(want, lease); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An attempt is lost from when its lease is taken over until its worker reports. One that hands its
// job back is not.
func TestALeaseKnowsWhichAttemptsWereLost(t *testing.T) {
	t.Parallel()
	lease := Lease{}.For(41).Taken("a").Taken("b").Released(FailureUnavailable, "drained").Taken("c").Taken("d")
	if got := lease.Attempt().Lost; got != 2 {
		t.Fatalf("%d attempts are lost, want a and c: %v", got, lease.Lost)
	}
	if same, changed := lease.Survived("b", ""); changed || len(same.Lost) != 2 {
		t.Errorf("one that was not lost took back %v", same.Lost)
	}
	after, changed := lease.Survived("a", "")
	if !changed || after.Attempt().Lost != 1 || after.Holder != "d" || len(lease.Lost) != 2 {
		t.Errorf("after a has reported: %+v, was %+v", after, lease)
	}
	free, changed := after.Survived("d", "lease lost")
	if !changed || free.Holder != "" || free.Ended.Why != "lease lost" || free.Attempt().Lost != 1 {
		t.Errorf("after the holder has reported: %+v", free)
	}
	if next := free.For(lease.Message + 1); len(next.Lost) != 0 {
		t.Errorf("another message begins with %v", next.Lost)
	}
}

func TestALeaseThatNobodyCanReadIsNoLostAttempt(t *testing.T) {
	t.Parallel()
	lease, err := DecodeLease(Entry{Value: []byte("garbage")})
	if next := lease.Taken("a"); err == nil || len(next.Lost) != 0 {
		t.Errorf("%v: %+v", err, next)
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

// The record in a lease that a job is given up survives its worker, the worker's late report and a
// release, and ends with the message.
func TestAJobStaysGivenUpForItsMessage(t *testing.T) {
	t.Parallel()
	bad := &Failure{Kind: FailureInput, Err: &Invalid{Field: "run", Expected: "a name"}, LogTail: strings.Repeat("x", 2*maxGivenUp) + "end", Log: "s3://b/log", Execution: "sha256:1"}
	lease := Lease{}.For(1).Taken("a")
	lease.GivenUp = bad.GivenUp()
	later, _ := lease.Renewed().Taken("b").Released(FailureUnavailable, "drained").Taken("c").Survived("a", "")
	given := later.For(1).Attempt().GivenUp
	if given == nil {
		t.Fatal("it is forgotten")
	}
	read := given.Failure()
	if read.Reason() != bad.Reason() || read.Log != bad.Log || read.Execution != bad.Execution || len(read.LogTail) != maxGivenUp || !strings.HasSuffix(read.LogTail, "end") {
		t.Errorf("read back as %+v, a reason %+v", read, read.Reason())
	}
	if later.For(2).GivenUp != nil {
		t.Error("a retried job is given up")
	}
}
