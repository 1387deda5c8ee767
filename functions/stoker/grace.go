package main

import (
	"context"
	"fmt"
	"time"
)

// defaultGrace fits into the 30 s that Kubernetes gives a pod, and far into the 90 s of systemd.
const defaultGrace = 25 * time.Second

// moduleGrace is what a module has of the grace time to write its checkpoint: 3/5 of it, 15 s by default. The trainer sends
// checkpoints until 3/2 of that are over, 9/10 of the grace time; the rest is for the log, and for handing the job back.
func moduleGrace(grace time.Duration) time.Duration { return grace * 3 / 5 }

// leaveWithin runs do, and once ctx has ended waits no longer than grace for it to return. Nothing is lost by leaving then,
// for every effect can be cut off anywhere: the job is another worker's when its lease has run out. The process must end with
// the error that says so, since do may still be running.
func leaveWithin(ctx context.Context, grace time.Duration, do func(context.Context) error) error {
	returned := make(chan error, 1)
	go func() { returned <- do(ctx) }()
	select {
	case err := <-returned:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-returned:
		return err
	case <-timer.C:
		return fmt.Errorf("still at work %s after being told to leave; another worker has the job when its lease has run out", grace)
	}
}
