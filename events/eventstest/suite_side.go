package eventstest

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func sideTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"progress reaches who watches":          watchProgress,
		"watching ends with its context":        watchCancelled,
		"nothing works after its context ended": endedContext,
		"what is too large for the bus says so": tooLarge,
	}
}

func watchProgress(t *testing.T, box Box) {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	all, one := box.Watch(ctx, "", ""), box.Watch(ctx, "penguin", "run 1")
	report := func(pipeline, run, job string) events.Progress {
		p := events.Progress{Job: job, Pipeline: pipeline, Run: run, Phase: "training", Step: 3, Steps: 9, Metrics: map[string]float64{"loss": 0.5}}
		must(t, box.Report(ctx, p))
		return p
	}
	wanted := report("penguin", "run 1", "job-1")
	report("penguin", "run.2", "job-2")
	report("taxi", "run 1", "job-3")
	last := report("penguin", "run 1", "job-4")
	var seen []string
	for p, err := range all {
		must(t, err)
		if seen = append(seen, p.Job); len(seen) == 4 {
			break
		}
	}
	wantSame(t, seen, []string{"job-1", "job-2", "job-3", "job-4"})
	var selected []events.Progress
	for p, err := range one {
		must(t, err)
		if selected = append(selected, p); p.Job == last.Job {
			break
		}
	}
	wantSame(t, selected, []events.Progress{wanted, last})
}

func watchCancelled(t *testing.T, box Box) {
	ctx, cancel := context.WithCancel(t.Context())
	watch := box.Watch(ctx, "", "")
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

func endedContext(t *testing.T, box Box) {
	joins := open(t, box, events.RegisterJoins)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, publish := box.Publish(ctx, exampleFact("run 1", "1"))
	_, get := joins.Get(ctx, "k")
	_, create := joins.Create(ctx, "k", nil)
	offer := box.Offer(ctx, exampleJob("job-1", "cpu"))
	_, study := box.AppendStudy(ctx, search, nil, 0)
	reading := firstError(box.ReadStudy(ctx, search, 0, false))
	for _, err := range []error{publish, get, create, offer, study, reading} {
		wantError(t, err, context.Canceled)
	}
}

// tooLarge tries what no bus takes in one message.
func tooLarge(t *testing.T, box Box) {
	joins := open(t, box, events.RegisterJoins)
	revision, err := joins.Create(t.Context(), "k", []byte("small"))
	must(t, err)
	large := bytes.Repeat([]byte("x"), 9<<20)
	spec := fmt.Appendf(nil, `{"x":"%s"}`, large)
	fact, job := exampleFact("run 1", "1"), exampleJob("job-1", "cpu")
	fact.Data.(*events.ExamplesReady).PipelineSpec, job.Spec = spec, spec
	_, publish := box.Publish(t.Context(), fact)
	_, create := joins.Create(t.Context(), "large", large)
	_, update := joins.Update(t.Context(), "k", large, revision)
	for _, err := range []error{publish, create, update, box.Offer(t.Context(), job)} {
		wantError(t, err, events.ErrTooLarge)
	}
	takeNothing(t, box, "cpu")
	entry, err := joins.Get(t.Context(), "k")
	must(t, err)
	wantSame(t, entry.Revision, revision)
}
