package events

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// fakeHeartbeat keeps a lease of 10 s; beat returns the result of each heartbeat.
type fakeHeartbeat struct {
	until time.Time
	beats int
	beat  func(n int) error
	news  chan struct{}
}

const fakeLease = 10 * time.Second

func (h *fakeHeartbeat) Left() time.Duration { return time.Until(h.until) }

func (h *fakeHeartbeat) Changed() <-chan struct{} { return h.news }

func (h *fakeHeartbeat) Send(context.Context) error {
	h.beats++
	if err := h.beat(h.beats); err != nil {
		return err
	}
	h.until = time.Now().Add(fakeLease)
	return nil
}

// hold works for at most a minute, and returns the result of KeepAlive and how long the work ran.
func hold(ctx context.Context, beat func(n int) error) (worked time.Duration, err error) {
	began := time.Now()
	heartbeat := &fakeHeartbeat{until: began.Add(fakeLease), beat: beat}
	err = KeepAlive(ctx, heartbeat, fakeLease/3, func(ctx context.Context) error {
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
		heartbeat := &fakeHeartbeat{until: time.Now().Add(fakeLease), beat: func(int) error { return ErrLeaseLost }}
		err := KeepAlive(ctx, heartbeat, fakeLease/3, func(context.Context) error { time.Sleep(fakeLease); return nil })
		if !errors.Is(err, ErrLeaseLost) {
			t.Errorf("got %v", err)
		}
	})
}

func TestHoldEndsWithItsCauseWhenTheJobIsCancelledAndKeepsTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		heartbeat := &fakeHeartbeat{until: time.Now().Add(fakeLease), beat: func(n int) error {
			if n == 2 {
				return ErrCancelled
			}
			return nil
		}}
		began := time.Now()
		cancelled := errors.New("cancelled by the owner")
		err := KeepAlive(t.Context(), heartbeat, fakeLease/3, func(ctx context.Context) error {
			<-ctx.Done()
			if took := time.Since(began); took != fakeLease*2/3 || !errors.Is(context.Cause(ctx), ErrCancelled) {
				t.Errorf("ended after %s for %v, want the second heartbeat's cancelling", took, context.Cause(ctx))
			}
			time.Sleep(2 * fakeLease) // cancelling takes a while
			return cancelled
		})
		if !errors.Is(err, cancelled) || heartbeat.beats < 6 || heartbeat.Left() <= 0 {
			t.Errorf("got %v after %d beats, want what work said, and the lease kept meanwhile", err, heartbeat.beats)
		}
	})
}

func TestHoldLooksAtOnceWhenThereIsNews(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]error{"cancelled": ErrCancelled, "another has it": ErrLeaseLost, "nothing new": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				heartbeat := &fakeHeartbeat{until: time.Now().Add(fakeLease), beat: func(int) error { return found }, news: make(chan struct{}, 1)}
				began := time.Now()
				err := KeepAlive(t.Context(), heartbeat, fakeLease/3, func(ctx context.Context) error {
					time.Sleep(time.Second)
					heartbeat.news <- struct{}{}
					if found == nil {
						synctest.Wait()
						return ctx.Err()
					}
					<-ctx.Done()
					return context.Cause(ctx)
				})
				if took := time.Since(began); !errors.Is(err, found) || took != time.Second || heartbeat.beats != 1 {
					t.Errorf("got %v after %s and %d beats, want %v at the news", err, took, heartbeat.beats, found)
				}
			})
		})
	}
}

func TestABeatThatFailsIsNotRepeatedAtEveryNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("bus away")
		heartbeat := &fakeHeartbeat{until: time.Now().Add(fakeLease), news: make(chan struct{}, 1)}
		heartbeat.beat = func(n int) error {
			if n > 100 {
				return ErrLeaseLost // otherwise this would never end
			}
			select {
			case heartbeat.news <- struct{}{}: // like a write that seems to be another process's
			default:
			}
			return away
		}
		err := KeepAlive(t.Context(), heartbeat, fakeLease/3, func(ctx context.Context) error { <-ctx.Done(); return nil })
		// A third of the lease, then every twelfth.
		if most := 9; !errors.Is(err, away) || heartbeat.beats > most {
			t.Errorf("got %v after %d beats, want at most %d", err, heartbeat.beats, most)
		}
	})
}
