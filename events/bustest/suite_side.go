package bustest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func sideTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"progress reaches who watches":          watchProgress,
		"watching ends with its context":        watchCancelled,
		"nothing works after its context ended": endedContext,
		"what is too large for the bus says so": tooLarge,
	}
}

func watchProgress(t *testing.T, bus Bus) {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	all, one := bus.Watch(ctx, "", ""), bus.Watch(ctx, "penguin", "run 1")
	var reports []events.Progress
	for range 20 { // some of them may be lost
		for _, of := range []events.Progress{
			{Job: "job-1", Pipeline: "penguin", Run: "run 1"}, {Job: "job-2", Pipeline: "penguin", Run: "run.2"},
			{Job: "job-3", Pipeline: "taxi", Run: "run 1"}, {Job: "job-4", Pipeline: "penguin", Run: "run 1"},
		} {
			of.Phase, of.Step, of.Steps, of.Metrics = "training", len(reports), 100, map[string]float64{"loss": 0.5}
			reports = append(reports, of)
			must(t, bus.Report(ctx, of))
		}
	}
	wantReports(t, all, reports, "job-1", "job-2", "job-3", "job-4")
	wantReports(t, one, reports, "job-1", "job-4")
}

// wantReports reads until it has progress of each job, in order and as reported, and checks that
// there is none of others.
func wantReports(t *testing.T, watch iter.Seq2[events.Progress, error], reports []events.Progress, jobs ...string) {
	t.Helper()
	last, seen := -1, map[string]bool{}
	for p, err := range watch {
		must(t, err)
		if p.Step <= last || !slices.Contains(jobs, p.Job) {
			t.Fatalf("after report %d comes %+v, want one of %v", last, p, jobs)
		}
		wantSame(t, p, reports[p.Step])
		if last, seen[p.Job] = p.Step, true; len(seen) == len(jobs) {
			return
		}
	}
	t.Errorf("progress of %v, want of %v", seen, jobs)
}

func watchCancelled(t *testing.T, bus Bus) {
	ctx, cancel := context.WithCancel(t.Context())
	watch := bus.Watch(ctx, "", "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for p, err := range watch {
			t.Errorf("got %+v, %v", p, err)
		}
	}()
	cancel()
	<-ended
}

func endedContext(t *testing.T, bus Bus) {
	joins := open(t, bus, events.KVJoins)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, publish := bus.Publish(ctx, exampleEvent("run 1", "1"))
	_, get := joins.Get(ctx, "k")
	_, create := joins.Create(ctx, "k", nil)
	offer := bus.Enqueue(ctx, exampleJob("job-1", "cpu"))
	_, study := bus.AppendStudy(ctx, search, nil, 0)
	reading := firstError(bus.ReadStudy(ctx, search, 0, false))
	for _, err := range []error{publish, get, create, offer, study, reading} {
		wantError(t, err, context.Canceled)
	}
}

// tooLarge tries messages that no bus accepts.
func tooLarge(t *testing.T, bus Bus) {
	joins := open(t, bus, events.KVJoins)
	revision, err := joins.Create(t.Context(), "k", []byte("small"))
	must(t, err)
	large := bytes.Repeat([]byte("x"), 9<<20)
	spec := fmt.Appendf(nil, `{"x":"%s"}`, large)
	event, job := exampleEvent("run 1", "1"), exampleJob("job-1", "cpu")
	event.Data.(*events.ExamplesReady).PipelineSpec, job.Spec = spec, spec
	_, publish := bus.Publish(t.Context(), event)
	_, create := joins.Create(t.Context(), "large", large)
	_, update := joins.Update(t.Context(), "k", large, revision)
	for _, err := range []error{publish, create, update, bus.Enqueue(t.Context(), job)} {
		wantError(t, err, events.ErrTooLarge)
	}
	takeNothing(t, bus, "cpu")
	entry, err := joins.Get(t.Context(), "k")
	must(t, err)
	wantSame(t, entry.Revision, revision)
}
