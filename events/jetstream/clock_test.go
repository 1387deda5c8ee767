package jetstream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// jumping returns a clock whose wall time changes to another day at every reading, forward and
// back, as if set by a user or a time server. Its monotonic reading is normal. Package time can't
// make such a reading, so the seconds are written where package time keeps them: in bits 30 to 62
// of the first word.
func jumping() func() time.Time {
	var readings atomic.Int64
	return func() time.Time {
		at := time.Now()
		const day = 24 * 60 * 60
		n := uint64(readings.Add(1))
		days := n * n * 331 % 1000
		wall := (*uint64)(unsafe.Pointer(&at))
		const seconds = (1<<33 - 1) << 30
		*wall = *wall&^seconds | (*wall+days*day<<30)&seconds
		return at
	}
}

func TestTheJumpingClockOfTheseTestsJumps(t *testing.T) {
	t.Parallel()
	now := jumping()
	first, second, third := now(), now(), now()
	if second.Round(0).Sub(first.Round(0)).Abs() < time.Hour || third.Round(0).Sub(second.Round(0)).Abs() < time.Hour {
		t.Errorf("wall clock: %s, %s, %s", first, second, third)
	}
	if took := third.Sub(first); took < 0 || took > time.Minute {
		t.Errorf("monotonic clock: %s", took)
	}
}

// No lease is lost, and none is taken over early, whatever the wall clocks of worker and rival. The
// rival gets the job's message repeatedly, because a zombie sends it back.
func TestAWallClockThatJumpsLosesNoLeaseAndDoublesNone(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	dying := connect(t, server, jetstream.Options{Create: true, Now: jumping()})
	rival := connect(t, server, jetstream.Options{Now: jumping()})
	takeNothing(t, rival, 10*time.Millisecond)
	offer(t, dying)
	claim := take(t, dying, 2*time.Minute)
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		zombie := dial(t, server)
		for range 12 {
			if err := zombie.Publish(ackSubject(t, claim), []byte("-NAK")); err != nil {
				return err
			}
			takeNothing(t, rival, bustest.Lease/5)
		}
		if err := claim.Prove(); err != nil {
			t.Error(err)
		}
		return context.Cause(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	beat := time.Now() // or a little earlier: no heartbeat from here on
	if err := dying.Close(); err != nil {
		t.Fatal(err)
	}
	next := take(t, rival, 20*bustest.Lease)
	if took := time.Since(beat); took < bustest.Lease/2 {
		t.Errorf("taken over after %s, too early for a lease of %s", took, bustest.Lease)
	}
	if attempt := next.Attempt(); attempt.Number != 2 {
		t.Errorf("attempt %+v, want the second", attempt)
	}
	if err := next.Ack(t.Context()); err != nil {
		t.Error(err)
	}
}
