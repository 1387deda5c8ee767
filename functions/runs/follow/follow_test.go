package follow_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs/follow"
	"github.com/stoker-ml/stoker/functions/runs/submit"
)

// raced is a bus on which another publisher is faster, and the dispatcher is faster than both.
type raced struct {
	*bustest.Memory
	rival      events.Event
	dispatcher *dispatch.Dispatcher
}

func (r raced) Publish(ctx context.Context, event events.Event) (events.Receipt, error) {
	if _, err := r.Memory.Publish(ctx, r.rival); err != nil {
		return events.Receipt{}, err
	}
	receipt, err := r.Memory.Publish(ctx, event)
	return receipt, errors.Join(err, r.dispatcher.Next(ctx, 0), r.dispatcher.Next(ctx, 0))
}

func TestAnEventThatLostARaceEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := bustest.NewMemory(0)
		spec, err := pipeline.Parse("p.yaml", []byte("pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, applied := dispatch.Apply(t.Context(), bus, spec)
		dispatcher, err := dispatch.New(t.Context(), bus, nil)
		if err := errors.Join(applied, err); err != nil {
			t.Fatal(err)
		}
		rival := transformed("rival")
		rival.Data = &events.TransformReady{TransformGraph: "s3://bkt/other"}
		_, err = follow.Events(t.Context(), raced{bus, rival, dispatcher}, []events.Event{transformed("1")}, follow.Listener{
			Progress: func(events.Progress) {}, Waits: func(string) {},
		})
		none, ok := errors.AsType[*submit.NoEffect](err)
		if !ok || none.Stored != 2 || !strings.Contains(none.Why, "already has its transform.ready: event 1") {
			t.Errorf("%+v, %v", none, err)
		}
	})
}

// unwatchable is a bus for a user who may not follow runs.
type unwatchable struct{ *bustest.Memory }

func (unwatchable) Watch(context.Context, string, string) iter.Seq2[events.Progress, error] {
	return func(yield func(events.Progress, error) bool) { yield(events.Progress{}, events.ErrRefused) }
}

func TestAUserWhoMayNotFollowRunsIsTold(t *testing.T) {
	t.Parallel()
	_, err := follow.Events(t.Context(), unwatchable{bustest.NewMemory(0)}, []events.Event{transformed("1")}, follow.Listener{})
	if !errors.Is(err, follow.ErrNotPermitted) || !errors.Is(err, events.ErrRefused) {
		t.Errorf("error %v, want that following is not permitted", err)
	}
}

const digest = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

func transformed(id string) events.Event {
	return events.Event{ID: id, Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
}

func trained() events.Event {
	return events.NewModelTrained(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: "monday"}, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bkt/model", Digest: digest, Formats: []string{"Format-Serving"}},
		Execution: digest, Inputs: []events.Artifact{}, Module: "m",
	})
}

func TestEventsReportsWhatTheRunWaitsForAndReturnsItsOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := bustest.NewMemory(0)
		var why string
		waits := func(said string) {
			why = said
			if _, err := bus.Publish(t.Context(), trained()); err != nil {
				t.Error(err)
			}
		}
		outcome, err := follow.Events(t.Context(), bus, []events.Event{transformed("1")}, follow.Listener{Progress: func(events.Progress) {}, Waits: waits})
		if err != nil || outcome.Data.Kind() != events.KindModelTrained {
			t.Errorf("%+v, %v", outcome, err)
		}
		if !strings.HasPrefix(why, "waits for a dispatcher") {
			t.Errorf("reported that it %q", why)
		}
	})
}

func TestAnEndOfTheWaitIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		_, err := follow.Events(ctx, bustest.NewMemory(0), []events.Event{transformed("1")}, follow.Listener{
			Progress: func(events.Progress) {}, Waits: func(string) { stop(enough) },
		})
		if !errors.Is(err, enough) && !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}
