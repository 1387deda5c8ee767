package events

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Heartbeat keeps a lease. KeepAlive calls Send from one goroutine at a time.
type Heartbeat interface {
	// Left is for how long the lease is still provably ours; 0 or less if it is not.
	Left() time.Duration
	// Send confirms the lease. ErrLeaseLost if it is another's by now; ErrCancelled if it is confirmed and its job cancelled; any
	// other error may pass.
	Send(ctx context.Context) error
	// Changed brings something when someone else may have written the lease's entry, to cancel the job or to take it over: KeepAlive
	// sends a heartbeat then, without waiting for its time. nil if nobody would know.
	Changed() <-chan struct{}
}

// KeepAlive is Claim.KeepAlive for buses to build theirs with: it runs work, sends a heartbeat every pause, and ends work's ctx
// with cause ErrLeaseLost as soon as the lease is lost or can't be proved, or with cause ErrCancelled once its job is cancelled.
// Heartbeats continue after ctx has ended, until work has returned.
func KeepAlive(ctx context.Context, heartbeat Heartbeat, pause time.Duration, work func(context.Context) error) error {
	if heartbeat.Left() <= 0 {
		return ErrLeaseLost
	}
	working, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	returned, kept := make(chan struct{}), make(chan error, 1)
	go func() {
		lost := keep(context.WithoutCancel(ctx), heartbeat, pause, returned, func() { lose(ErrCancelled) })
		lose(lost)
		kept <- lost
	}()
	err := func() error { defer close(returned); return work(working) }()
	if lost := <-kept; lost != nil {
		return lost
	}
	return err
}

// keep beats until work has returned, and returns ErrLeaseLost, with the last failed beat, if the lease is lost before. It calls
// cancel when the job is known to be cancelled, and beats on. After a beat that failed it takes a breath whatever the news: what made
// it fail may be what brings them.
func keep(ctx context.Context, heartbeat Heartbeat, pause time.Duration, returned <-chan struct{}, cancel func()) error {
	var failed error
	for next, news := pause, heartbeat.Changed(); ; {
		timer := time.NewTimer(min(next, heartbeat.Left()))
		select {
		case <-returned:
			timer.Stop()
			return nil
		case <-news:
			timer.Stop()
		case <-timer.C:
		}
		if heartbeat.Left() <= 0 {
			return unconfirmed(failed)
		}
		failed = heartbeat.Send(ctx)
		switch {
		case errors.Is(failed, ErrLeaseLost):
			return failed
		case errors.Is(failed, ErrCancelled):
			cancel()
			failed = nil
		}
		if next, news = pause, heartbeat.Changed(); failed != nil {
			next, news = pause/4, nil // it may pass before the lease runs out
		}
	}
}

// unconfirmed is the loss of a lease that ran out, for the reason why it could not be confirmed, if there was one.
func unconfirmed(failed error) error {
	if failed == nil {
		return ErrLeaseLost
	}
	return fmt.Errorf("%w: %w", ErrLeaseLost, failed)
}
