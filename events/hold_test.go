package events

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// fakeHeart keeps a lease of 10 s; beat says what a heartbeat comes to.
type fakeHeart struct {
	until time.Time
	beats int
	beat  func(n int) error
}

const fakeLease = 10 * time.Second

func (h *fakeHeart) Left() time.Duration { return time.Until(h.until) }

func (h *fakeHeart) Cancelled() <-chan struct{} { return nil }

func (h *fakeHeart) Beat(context.Context) error {
	h.beats++
	if err := h.beat(h.beats); err != nil {
		return err
	}
	h.until = time.Now().Add(fakeLease)
	return nil
}

// hold works for at most a minute, and returns what Hold did and how long the work was let go on.
func hold(ctx context.Context, beat func(n int) error) (worked time.Duration, err error) {
	began := time.Now()
	heart := &fakeHeart{until: began.Add(fakeLease), beat: beat}
	err = Hold(ctx, heart, fakeLease/3, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		worked = time.Since(began)
		return context.Cause(ctx)
	})
	return worked, err
}

func TestHoldLastsForAsLongAsTheHeartBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if worked, err := hold(t.Context(), func(int) error { return nil }); err != nil || worked != time.Minute {
			t.Errorf("got %v after %s, want the whole minute", err, worked)
		}
	})
}

func TestHoldEndsWhenTheLeaseCannotBeProved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("bus away")
		worked, err := hold(t.Context(), func(int) error { return away })
		if !errors.Is(err, ErrLeaseLost) || !errors.Is(err, away) || worked != fakeLease {
			t.Errorf("got %v after %s, want a lost lease, and why, after %s and not later", err, worked, fakeLease)
		}
	})
}

func TestHoldOutlastsAHeartbeatThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("bus away")
		worked, err := hold(t.Context(), func(n int) error {
			if n%3 != 0 { // two of three fail
				return away
			}
			return nil
		})
		if err != nil || worked != time.Minute {
			t.Errorf("got %v after %s, want the whole minute", err, worked)
		}
	})
}

func TestHoldEndsAtOnceWhenAnotherHasTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		worked, err := hold(t.Context(), func(int) error { return ErrLeaseLost })
		if !errors.Is(err, ErrLeaseLost) || worked != fakeLease/3 {
			t.Errorf("got %v after %s, want a lost lease at the first heartbeat", err, worked)
		}
	})
}

func TestALeaseLostWhileWindingDownIsStillLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		heart := &fakeHeart{until: time.Now().Add(fakeLease), beat: func(int) error { return ErrLeaseLost }}
		err := Hold(ctx, heart, fakeLease/3, func(context.Context) error { time.Sleep(fakeLease); return nil })
		if !errors.Is(err, ErrLeaseLost) {
			t.Errorf("got %v", err)
		}
	})
}
