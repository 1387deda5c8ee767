package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAWorkerLeavesWithinItsGraceTimeWhateverItIsAt(t *testing.T) {
	t.Parallel()
	handedBack := errors.New("handed back")
	for name, tc := range map[string]struct {
		needs time.Duration // to return, once it is told to leave
		takes time.Duration
		says  string
	}{
		"it hands back in time": {7 * time.Second, 7 * time.Second, "handed back"},
		"it does not":           {time.Hour, 25 * time.Second, "still at work 25s after being told to leave"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, tell := context.WithCancel(t.Context())
				var told time.Time
				time.AfterFunc(time.Minute, func() { told = time.Now(); tell() })
				err := leaveWithin(ctx, 25*time.Second, func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(tc.needs)
					return handedBack
				})
				if took := time.Since(told); took != tc.takes || err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("left after %s with %v, want %s and %s", took, err, tc.takes, tc.says)
				}
				time.Sleep(tc.needs) // what was left behind ends with the process, or here
			})
		})
	}
}

func TestAWorkerThatIsNotToldToLeaveHasAllTheTimeThereIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := leaveWithin(t.Context(), time.Second, func(context.Context) error { time.Sleep(time.Hour); return nil })
		if err != nil {
			t.Error(err)
		}
	})
}
