package exit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// The statuses. Those above 100 are the ones of timeout(1) and shells.
const (
	OK         = 0
	Failed     = 1
	WrongUsage = 2
	Missing    = 3
	Away       = 4
	TimedOut   = 124
	Stopped    = 130
)

// Help describes the statuses for users.
const Help = `Exit status: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 bus or store unavailable or permission denied, 124 timed out, 130 interrupted.
Interrupting a command that runs until then (up, worker, dispatch, bridge, console, notify, watch, runs --watch, lineage export --follow) gives 0;
interrupting one that waits for a run or a study gives 130, and the run or study continues.`

// status is an error with its exit status.
type status struct {
	code int
	err  error
}

func (s *status) Error() string { return s.err.Error() }
func (s *status) Unwrap() error { return s.err }

// Usage is the status of a request that no command can carry out.
func Usage(err error) error { return With(WrongUsage, err) }

// NotFound is the status of a name that does not exist.
func NotFound(err error) error { return With(Missing, err) }

// Unreachable is the status of a bus or a store that is unavailable or refuses.
func Unreachable(err error) error { return With(Away, err) }

// With gives an error its status.
func With(code int, err error) error { return &status{code, err} }

// AtMost runs do for at most timeout, unless that is 0. After that, it returns late, with its exit
// status.
func AtMost(ctx context.Context, timeout time.Duration, late error, do func(context.Context) error) error {
	if timeout <= 0 {
		return do(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := do(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return With(TimedOut, late)
	}
	return err
}

// Interrupted adds what continues to run if err means that ctx, which ends on Ctrl-C, has ended.
func Interrupted(ctx context.Context, err error, stays string) error {
	if !IsInterrupt(ctx, err) {
		return err
	}
	return With(Stopped, fmt.Errorf("interrupted; %s", stays))
}

// IsInterrupt reports whether the end of ctx is the cause of an error.
func IsInterrupt(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)))
}

// Code returns the exit status of err, which must not be nil.
func Code(err error) int {
	if s, ok := errors.AsType[*status](err); ok {
		return s.code
	}
	switch {
	case errors.Is(err, events.ErrUnavailable): // before the deadline of its client
		return Away
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case errors.Is(err, events.ErrNotFound), errors.Is(err, storage.ErrNotFound):
		return Missing
	case errors.Is(err, events.ErrRefused), errors.Is(err, storage.ErrDenied), errors.Is(err, storage.ErrUnavailable):
		return Away
	}
	return Failed
}

// ErrOver ends the watching of progress once there is an outcome.
var ErrOver = errors.New("the run has ended")

// IgnoreEnd drops the error of a watch that ended because ctx did.
func IgnoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
