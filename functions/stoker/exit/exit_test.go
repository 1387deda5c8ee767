package exit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

func TestExitStatusesSayWhatWentWrong(t *testing.T) {
	t.Parallel()
	for want, errs := range map[int][]error{
		exit.Failed:     {errors.New("some error")},
		exit.WrongUsage: {fmt.Errorf("outer: %w", exit.Usage(errors.New("wrong flag")))},
		exit.Missing:    {fmt.Errorf("stage: %w", storage.ErrNotFound), events.ErrNotFound, exit.NotFound(errors.New("no run"))},
		exit.Away: {
			fmt.Errorf("publish: %w", events.ErrRefused), storage.ErrDenied, storage.ErrUnavailable, exit.Unreachable(errors.New("bus")),
			fmt.Errorf("publish: %w: nats: no responders available for request", events.ErrUnavailable),
			fmt.Errorf("read events: %w: %w", events.ErrUnavailable, context.DeadlineExceeded),
			fmt.Errorf("open KV bucket LEASES: %w: nats: API error: code=503", events.ErrUnavailable),
		},
		exit.TimedOut: {fmt.Errorf("follow: %w", context.DeadlineExceeded)},
	} {
		for _, err := range errs {
			if got := exit.Code(err); got != want {
				t.Errorf("%v: exit status %d, want %d", err, got, want)
			}
		}
		if !strings.Contains(exit.Help, fmt.Sprintf(" %d ", want)) {
			t.Errorf("status %d is not documented for users", want)
		}
	}
}

func TestWhatTakesTooLongIsNotAnInterruption(t *testing.T) {
	t.Parallel()
	stay := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	late := errors.New("late")
	if err := exit.AtMost(t.Context(), time.Nanosecond, late, stay); !errors.Is(err, late) || exit.Code(err) != exit.TimedOut {
		t.Errorf("too late is %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := exit.Interrupted(ctx, exit.AtMost(ctx, time.Hour, late, stay), "the run goes on")
	if exit.Code(err) != exit.Stopped || err.Error() != "interrupted; the run goes on" {
		t.Errorf("Ctrl-C is %v", err)
	}
	broken := errors.New("broken")
	if err := exit.Interrupted(ctx, broken, ""); err != broken {
		t.Errorf("an error together with Ctrl-C is %v", err)
	}
}
