package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Exit statuses, for scripts.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitUnreachable = 4
	exitTimeout     = 124
	exitInterrupted = 130
)

const exitCodesHelp = `Exit status: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 bus or store refused or away, 124 timed out, 130 interrupted.
What runs until it is interrupted (up, worker, dispatch, bridge, notify) ends with 0 then.`

// status is an error with the exit status it calls for.
type status struct {
	code int
	err  error
}

func (s *status) Error() string { return s.err.Error() }
func (s *status) Unwrap() error { return s.err }

func usage(err error) error       { return &status{exitUsage, err} }
func notFound(err error) error    { return &status{exitNotFound, err} }
func unreachable(err error) error { return &status{exitUnreachable, err} }

// atMost runs do for no longer than timeout, where that is not 0. Once that is over the error is late, with its exit status.
func atMost(ctx context.Context, timeout time.Duration, late error, do func(context.Context) error) error {
	if timeout <= 0 {
		return do(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := do(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return &status{exitTimeout, late}
	}
	return err
}

// interrupted says what stays when err is that ctx, which ends on Ctrl-C, has ended.
func interrupted(ctx context.Context, err error, stays string) error {
	if !isInterrupt(ctx, err) {
		return err
	}
	return &status{exitInterrupted, fmt.Errorf("interrupted; %s", stays)}
}

func isInterrupt(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)))
}

// exitCode finds the status that err calls for.
func exitCode(err error) int {
	if s, ok := errors.AsType[*status](err); ok {
		return s.code
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case errors.Is(err, events.ErrNotFound), errors.Is(err, storage.ErrNotFound):
		return exitNotFound
	case errors.Is(err, events.ErrRefused), errors.Is(err, storage.ErrDenied), errors.Is(err, storage.ErrUnavailable):
		return exitUnreachable
	}
	return exitFailed
}
