package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/infra/chaos/history"
	"github.com/stoker-ml/stoker/infra/cluster"
)

const (
	atOnce  = 6 // runs that are published at once
	tryTime = 5 * time.Second
)

// retry tries with one client after another, from a first one on, until an answer stands: nil, or
// an error that no other try would change.
func (w *servers) retry(ctx context.Context, first int, try func(context.Context, events.Bus) error, final ...error) error {
	for i := 0; ; i++ {
		one, cancel := context.WithTimeout(ctx, tryTime)
		err := try(one, w.clients[(first+i)%cluster.Size])
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		for _, stands := range final {
			if errors.Is(err, stands) {
				return err
			}
		}
		if invalid, _ := errors.AsType[*events.Invalid](err); invalid != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (w *servers) apply(ctx context.Context, client int, name string) error {
	kind := name
	if _, known := pipelineTexts[kind]; !known {
		kind = pipeFresh
	}
	spec, err := pipeline.Parse("chaos.yaml", fmt.Appendf(nil, "pipeline: %s\nmodule: builtin:dnn\n%s\n", name, pipelineTexts[kind]))
	if err != nil {
		return err
	}
	return w.retry(ctx, client, func(ctx context.Context, bus events.Bus) error {
		_, _, err := dispatch.Apply(ctx, bus, spec)
		w.note("apply", fmt.Sprintf("%s: %v", name, err))
		return err
	})
}

// begin applies the pipelines that exist from the start, and pauses one permanently.
func (w *servers) begin(ctx context.Context) error {
	for name := range pipelineTexts {
		if err := w.apply(ctx, 0, name); err != nil {
			return err
		}
	}
	if err := w.pause(ctx, pipeHeld, true); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, pipeHeld)
	return nil
}

func (w *servers) pause(ctx context.Context, name string, paused bool) error {
	return w.retry(ctx, 1, func(ctx context.Context, bus events.Bus) error {
		what, do := "resume", dispatch.Resume
		if paused {
			what, do = "pause", dispatch.Pause
		}
		err := do(ctx, bus, name)
		w.note(what, fmt.Sprintf("%s: %v", name, err))
		return err
	})
}

// load executes the orders, a few at a time.
func (w *servers) load(ctx context.Context, orders []order) error {
	loading, ctx := errgroup.WithContext(ctx)
	loading.SetLimit(atOnce)
	for _, o := range orders {
		loading.Go(func() error {
			if err := w.order(ctx, o); err != nil {
				return fmt.Errorf("run %s of %s: %w", o.run, o.pipeline, err)
			}
			return nil
		})
	}
	return loading.Wait()
}

// order publishes the events of a run, each client its own, and cancels the run if it is to be.
func (w *servers) order(ctx context.Context, o order) error {
	if o.fresh {
		if err := w.apply(ctx, o.messages[0].client, o.pipeline); err != nil {
			return err
		}
	}
	publishing, ctx := errgroup.WithContext(ctx)
	for client := range cluster.Size {
		publishing.Go(func() error {
			for _, m := range o.messages {
				if m.client != client {
					continue
				}
				if err := w.publish(ctx, m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if o.cancel >= 0 {
		publishing.Go(func() error {
			select {
			case <-ctx.Done():
			case <-time.After(o.cancel):
			}
			return w.cancel(ctx, o)
		})
	}
	return publishing.Wait()
}

func (w *servers) publish(ctx context.Context, m message) error {
	sent := time.Now()
	var receipt events.Receipt
	err := w.retry(ctx, m.client, func(ctx context.Context, bus events.Bus) (err error) {
		receipt, err = bus.Publish(ctx, m.event)
		return err
	}, events.ErrConflict)
	w.note("publish", fmt.Sprintf("%s/%s %s: %v", m.event.Pipeline, m.event.Run, m.event.ID, err))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.published = append(w.published, history.Published{
		Run: history.Run{Pipeline: m.event.Pipeline, Run: m.event.Run}, Kind: string(m.event.Data.Kind()), Source: m.event.Source, ID: m.event.ID,
		Sequence: receipt.Sequence, Sent: sent,
	})
	return nil
}

// cancel cancels a run once it is known. A second try, after a first whose answer was lost, may
// come too late.
func (w *servers) cancel(ctx context.Context, o order) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	for {
		var said dispatch.Cancelled
		err := w.retry(ctx, o.messages[0].client, func(ctx context.Context, bus events.Bus) (err error) {
			said, err = dispatch.Cancel(ctx, bus, o.pipeline, o.run)
			return err
		}, events.ErrNotFound, dispatch.ErrTooLate)
		if !errors.Is(err, events.ErrNotFound) {
			w.note("cancel", fmt.Sprintf("%s/%s: %+v %v", o.pipeline, o.run, said, err))
		}
		if err == nil && said.Job == "" {
			w.mu.Lock()
			w.cancelled = append(w.cancelled, history.Run{Pipeline: o.pipeline, Run: o.run})
			w.mu.Unlock()
		}
		if err == nil || errors.Is(err, dispatch.ErrTooLate) {
			return nil
		}
		if !errors.Is(err, events.ErrNotFound) {
			return fmt.Errorf("cancel: %w", err)
		}
		select { // no event of it is known yet
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
