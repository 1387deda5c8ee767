package events

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Heartbeat keeps a lease. KeepAlive never calls Send concurrently.
type Heartbeat interface {
	// Left returns how long the lease is still provably held; 0 or less if it is not.
	Left() time.Duration
	// Send confirms the lease. It returns ErrLeaseLost if another attempt has it, and ErrCancelled
	// if it is confirmed and its job cancelled; any other error may be transient.
	Send(ctx context.Context) error
	// Changed receives a value when another process may have written the lease's entry, to cancel
	// the job or to take it over: KeepAlive then sends a heartbeat at once. It is nil if such
	// writes are not observed.
	Changed() <-chan struct{}
}

// KeepAlive implements Claim.KeepAlive for buses: it runs work, sends a heartbeat every pause, and
// ends work's ctx with cause ErrLeaseLost as soon as the lease is lost or can't be proved, or with
// cause ErrCancelled once its job is cancelled. Heartbeats continue after ctx has ended, until work
// has returned.
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

// keep sends heartbeats until work has returned, and returns ErrLeaseLost, with the last failed
// heartbeat, if the lease is lost before. It calls cancel when the job is known to be cancelled,
// and continues. After a failed heartbeat it pauses even if the entry has changed, since the cause
// of the failure may be what reports changes.
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
			next, news = pause/4, nil // it may succeed before the lease expires
		}
	}
}

// unconfirmed returns the loss of an expired lease, with the error that prevented its confirmation,
// if there was one.
func unconfirmed(failed error) error {
	if failed == nil {
		return ErrLeaseLost
	}
	return fmt.Errorf("%w: %w", ErrLeaseLost, failed)
}
