package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/local/demo"
)

// coldGoal is that of a worker that a scaler starts from zero.
const coldGoal = "< 200"

// cold measures how long a worker takes that is started for a job that waits: from the start of
// `stoker worker --once` to the job being its own, which is its lease on the bus. Bus, store and
// dispatcher run in another process, and the binary is in the disk's cache. Every run has inputs of
// the one before, so that its job takes little beyond that.
func (b bench) cold(ctx context.Context) (figures []figure, err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	err = b.withUp(ctx, dir, func(ctx context.Context, stack up) (err error) {
		figures, err = b.coldRounds(ctx, stack)
		return err
	}, "--slots", "0")
	return figures, err
}

func (b bench) coldRounds(ctx context.Context, stack up) (figures []figure, err error) {
	w, err := newWalker(ctx, stack.pid, stack.connection)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.bus.Close()) }()
	if _, _, err := dispatch.Apply(ctx, w.bus, w.spec); err != nil {
		return nil, err
	}
	var taken, ended samples
	for round := range b.times(50) + 1 {
		took, whole, err := b.coldRound(ctx, w, stack.connection, "cold-"+strconv.Itoa(round))
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", round, err)
		}
		if round > 0 { // the first one trains
			taken.addTime(took)
			ended.addTime(whole)
		}
	}
	return []figure{
		alone("cold-worker-job-taken-p50", milliseconds, taken.quantile(0.5), taken, coldGoal),
		alone("cold-worker-job-taken-p99", milliseconds, taken.quantile(0.99), taken, coldGoal),
		alone("cold-worker-gone-cached-job-p50", milliseconds, ended.quantile(0.5), ended, ""),
	}, nil
}

// coldRound starts a worker for the one job that waits.
func (b bench) coldRound(ctx context.Context, w walker, to local.Connection, run string) (taken, ended time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	job, err := w.queued(ctx, run)
	if err != nil {
		return 0, 0, err
	}
	ready, lease := make(chan struct{}), make(chan error, 1)
	var at time.Time
	go func() { // its end is waited for below
		var err error
		at, err = w.leased(ctx, job, ready)
		lease <- err
	}()
	select {
	case <-ready:
	case err := <-lease:
		return 0, 0, err
	}
	began := time.Now()
	err = b.workOnce(ctx, to)
	ended = time.Since(began)
	if err != nil {
		cancel()
	}
	err = errors.Join(err, <-lease)
	return at.Sub(began), ended, err
}

// queued publishes the events of a run, and waits until its job is on the queue.
func (w walker) queued(ctx context.Context, run string) (job string, err error) {
	for _, event := range demo.Events(w.artifacts, run) {
		if _, err := w.bus.Publish(ctx, event); err != nil {
			return "", err
		}
	}
	for {
		j, err := dispatch.ReadJoin(ctx, w.bus, demo.PipelineName, run)
		switch {
		case err == nil && j.State == join.Dispatched:
			return j.Current().Job, nil
		case err != nil && !errors.Is(err, events.ErrNotFound):
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("run %s: its job did not come: %w", run, context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
}

// leased waits until somebody has a job, and says when it heard of that. It closes ready once it
// watches.
func (w walker) leased(ctx context.Context, job string, ready chan<- struct{}) (time.Time, error) {
	leases, err := w.bus.KV(ctx, events.KVLeases)
	if err != nil {
		return time.Time{}, err
	}
	for entry, err := range leases.Watch(ctx) {
		switch {
		case err != nil:
			return time.Time{}, err
		case entry.Revision == 0: // that was what there was before
			close(ready)
		case entry.Key == job && !entry.Deleted:
			return time.Now(), nil
		}
	}
	return time.Time{}, fmt.Errorf("nobody took job %s: %w", job, context.Cause(ctx))
}

// workOnce runs `stoker worker --once` as a pod would: configured by its environment alone.
func (b bench) workOnce(ctx context.Context, to local.Connection) error {
	cmd := exec.CommandContext(ctx, b.binary, "worker", "--once")
	cmd.Env = append(os.Environ(), "NATS_URL="+to.NATS, "STOKER_ROOT="+to.Root, "AWS_ENDPOINT_URL_S3="+to.S3,
		"AWS_ACCESS_KEY_ID="+to.AccessKey, "AWS_SECRET_ACCESS_KEY="+to.SecretKey)
	cmd.Env = append(cmd.Env, b.env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("stoker worker --once: %w\n%s", err, said.String())
	}
	return nil
}
