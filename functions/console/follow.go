package console

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// The parts of the bus that are followed, in addition to the buckets.
const (
	partEvents   = "FACTS"
	partProgress = "PROGRESS"
	partDead     = "DEAD"
)

// again is the pause before a part of the bus that can't be read is retried.
const again = 2 * time.Second

// follow keeps the model up to date until ctx ends.
func (c *Console) follow(ctx context.Context) error {
	following, ctx := errgroup.WithContext(ctx)
	for name, take := range map[string]func(events.Entry){
		events.KVPipelines: c.model.pipeline, events.KVJoins: c.model.join, events.KVGates: c.model.gate,
		events.KVLeases: c.model.lease,
	} {
		following.Go(func() error {
			return c.keep(ctx, name, func(ctx context.Context) error { return c.followKV(ctx, name, take) })
		})
	}
	var next uint64
	following.Go(func() error {
		return c.keep(ctx, partEvents, func(ctx context.Context) error { return c.followEvents(ctx, &next) })
	})
	following.Go(func() error { return c.keep(ctx, partProgress, c.followProgress) })
	following.Go(func() error { return c.keep(ctx, partDead, c.followDead) })
	following.Go(func() error { return c.keep(ctx, "revisions", c.readRevisions) })
	following.Go(func() error { c.sparks.run(ctx); return nil })
	return following.Wait()
}

// keep restarts do after an error, until ctx ends. A bus that is closed for good ends it.
func (c *Console) keep(ctx context.Context, part string, do func(context.Context) error) error {
	for {
		err := do(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, events.ErrClosed):
			return err
		case err != nil:
			c.model.lost(part, err)
			c.opts.Logger.Warn("part of the bus not followed; retrying", "part", part, "error", err)
		}
		if !sleep(ctx, again) {
			return nil
		}
	}
}

// followFacts resumes behind the last event that was read. The model is complete once the events
// are read that were in the log at the start.
func (c *Console) followEvents(ctx context.Context, next *uint64) error {
	for _, follow := range []bool{false, true} {
		for recorded, err := range c.opts.Bus.Read(ctx, events.Query{From: *next, Follow: follow}) {
			if err != nil {
				return err
			}
			*next = recorded.Message.Sequence + 1
			c.model.event(recorded)
		}
		c.model.whole(partEvents)
	}
	return nil
}

func (c *Console) followKV(ctx context.Context, name string, take func(events.Entry)) error {
	kv, err := c.opts.Bus.KV(ctx, name)
	if err != nil {
		return err
	}
	for entry, err := range kv.Watch(ctx) {
		if err != nil {
			return err
		}
		if entry.Revision == 0 {
			c.model.whole(name)
			continue
		}
		take(events.Entry(entry))
	}
	return nil
}

func (c *Console) followProgress(ctx context.Context) error {
	for p, err := range c.opts.Bus.Watch(ctx, "", "") {
		if err != nil {
			return err
		}
		c.model.progress(p)
	}
	return nil
}

// readRevisions reads the pipelines at older revisions that runs have pinned.
func (c *Console) readRevisions(ctx context.Context) error {
	pipelines, err := c.opts.Bus.KV(ctx, events.KVPipelines)
	if err != nil {
		return err
	}
	for {
		_, changed := c.model.now()
		for _, at := range c.model.wanted() {
			entry, err := pipelines.Revision(ctx, at.pipeline, at.number)
			if err != nil && !errors.Is(err, events.ErrNotFound) {
				return err
			}
			spec, err := pipeline.FromJSON(entry.Value)
			if err != nil {
				spec = pipeline.Pipeline{Name: at.pipeline} // without its settings
			}
			c.model.found(at, spec)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// sleep is false if ctx ended first.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
