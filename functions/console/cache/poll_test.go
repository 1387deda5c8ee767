package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A reader waits a short time for an answer that doesn't come.
func TestAReaderDoesNotWaitForABusThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPoll(time.Now, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		ctx, stop := context.WithCancel(t.Context())
		go p.Run(ctx, func() { t.Error("something changed") })
		began := time.Now()
		if got := p.Read(t.Context()); got.Known || got.Err != nil || time.Since(began) != pollPatient {
			t.Errorf("%+v after %v", got, time.Since(began))
		}
		stop()
	})
}

// One query answers all readers of a while, and an error leaves the last answer.
func TestAPollAsksWhileItIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, changes, fault := 0, 0, error(nil)
		p := NewPoll(time.Now, func(context.Context) (int, error) { asked++; return 7, fault })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx, func() { changes++ }) }()
		for range 5 {
			if got := p.Read(t.Context()); !got.Known || got.Value != 7 || got.Err != nil {
				t.Errorf("%+v", got)
			}
		}
		// It asked for the first reader, and once for the others.
		time.Sleep(time.Minute)
		synctest.Wait() // for what Run wrote
		if asked != 2 || changes != 1 {
			t.Errorf("asked %d times for five readers at once, with %d changes", asked, changes)
		}
		fault = errors.New("away")
		if got := p.Read(t.Context()); got.Value != 7 || got.Err == nil {
			t.Errorf("after an error: %+v", got)
		}
		stop()
		<-ended
	})
}
