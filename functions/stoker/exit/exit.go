package exit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// The statuses. Those beyond 100 are what timeout(1) and shells use.
const (
	OK         = 0
	Failed     = 1
	WrongUsage = 2
	Missing    = 3
	Away       = 4
	TimedOut   = 124
	Stopped    = 130
)

// Help says the same to users.
const Help = `Exit status: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 bus or store refused or away, 124 timed out, 130 interrupted.
What runs until it is interrupted (up, worker, dispatch, bridge, console, notify, watch, lineage export --follow) ends with 0 then;
what waits for a run or a study with 130, and that goes on.`

// status is an error with the exit status it calls for.
type status struct {
	code int
	err  error
}

func (s *status) Error() string { return s.err.Error() }
func (s *status) Unwrap() error { return s.err }

// Usage is for what was asked in a way that no command can do.
func Usage(err error) error { return With(WrongUsage, err) }

// NotFound is for what was named and is not there.
func NotFound(err error) error { return With(Missing, err) }

// Unreachable is for a bus or a store that is away or refuses.
func Unreachable(err error) error { return With(Away, err) }

// With gives an error its status.
func With(code int, err error) error { return &status{code, err} }

// AtMost runs do for no longer than timeout, where that is not 0. Once that is over the error is late, with its exit status.
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

// Interrupted says what stays when err is that ctx, which ends on Ctrl-C, has ended.
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

// Code is the status that err, which is not nil, calls for.
func Code(err error) int {
	if s, ok := errors.AsType[*status](err); ok {
		return s.code
	}
	switch {
	case errors.Is(err, events.ErrUnavailable): // before the deadline that its client had set
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

// ErrOver ends the watching of progress once the outcome is there.
var ErrOver = errors.New("it is over")

// IgnoreEnd drops the error of a watch that ended because ctx did.
func IgnoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
