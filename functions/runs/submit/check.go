package submit

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/find"
)

// NoEffect is the error for an event that has no effect on its run.
type NoEffect struct {
	Event   events.Event
	Stored  uint64   // its sequence, if it is in the log; 0: it was not published
	Why     string   // why it has none
	Useless bool     // no run of the pipeline, as it is now, takes such an event
	Unknown bool     // no such pipeline is applied
	Applied []string // the pipelines that are, with Unknown
}

func (e *NoEffect) Error() string {
	event := fmt.Sprintf("%s of run %s of pipeline %s", e.Event.Data.Kind(), e.Event.Run, e.Event.Pipeline)
	if e.Stored != 0 {
		return fmt.Sprintf("%s (event %d) is ignored: %s", event, e.Stored, e.Why)
	}
	return fmt.Sprintf("%s would be ignored: %s", event, e.Why)
}

// Effect is what an event does that is not ignored.
type Effect struct {
	Repeats uint64 // sequence of the event in the log that has its id: publishing it again adds nothing. 0: there is none
	Equals  uint64 // sequence of the run's event of this kind that has the same data under another id. 0: there is none
	Note    string // what the publisher may not expect; "" if there is nothing to say
}

// Check returns what an event will do if it is published now, or *NoEffect if that is nothing. An
// event that repeats one in the log is no such error, whatever came of that one: to publish it
// again is success.
//
// What the answer depends on is read where it can only be true: the log is complete at its leader,
// and the join is read from the leader of its bucket. Both only go forward, so that an answer that
// is old, from a leader which has just lost the others, may miss a reason but never gives a wrong
// one. The pipeline may change and be removed: before Check refuses because of it, it syncs its
// bucket, which makes that read linearizable, unless the caller's credentials do not permit the
// write. What is published between Check and the publication of the event is not seen; Ignored says
// afterwards whether it came first.
func Check(ctx context.Context, bus events.Bus, event events.Event) (Effect, error) {
	spec, err := deployed(ctx, bus, event)
	if err != nil {
		return Effect{}, err
	}
	pinned, ok := join.EventOf(events.Recorded{Event: event})
	if !ok {
		return Effect{}, nil // it is not for a run: a model was blessed, say
	}
	past, err := readPast(ctx, bus, event)
	if err != nil {
		return Effect{}, err
	}
	if past.repeats != 0 {
		return Effect{Repeats: past.repeats}, nil
	}
	if same, there := past.earlier(pinned.Kind); there {
		if reflect.DeepEqual(same.Inputs, pinned.Inputs) && same.Force == pinned.Force {
			return Effect{Equals: same.Sequence, Note: fmt.Sprintf("event %d of the run has the same data: this one changes nothing", same.Sequence)}, nil
		}
		return Effect{}, &NoEffect{Event: event, Why: fmt.Sprintf("the run has its %s already: event %d, with other data", pinned.Kind, same.Sequence)}
	}
	why, err := whyOver(ctx, bus, event, spec, past)
	if err != nil {
		return Effect{}, err
	}
	if why != "" {
		return Effect{}, &NoEffect{Event: event, Why: why}
	}
	return Effect{Note: noteOf(spec, pinned)}, nil
}

// deployed returns the pipeline of an event as it is applied now; *NoEffect if there is none, or
// none of its runs takes such an event.
func deployed(ctx context.Context, bus events.Bus, event events.Event) (pipeline.Pipeline, error) {
	spec, why, err := specFor(ctx, bus, event)
	if err != nil || why == nil {
		return spec, err
	}
	pipelines, err := bus.KV(ctx, events.KVPipelines)
	if err != nil {
		return spec, err
	}
	switch err := pipelines.Sync(ctx); {
	case err == nil:
		if spec, why, err = specFor(ctx, bus, event); err != nil || why == nil {
			return spec, err
		}
	case !errors.Is(err, events.ErrRefused): // whose credentials only read has the leader's answer
		return spec, err
	}
	if why.Unknown {
		for listed, err := range pipelines.All(ctx) { // for a hint: a copy will do
			if err != nil {
				break
			}
			why.Applied = append(why.Applied, listed.Key)
		}
	}
	return spec, why
}

func specFor(ctx context.Context, bus events.Bus, event events.Event) (spec pipeline.Pipeline, why *NoEffect, err error) {
	spec, err = dispatch.Spec(ctx, bus, event.Pipeline)
	if errors.Is(err, events.ErrNotFound) {
		return spec, &NoEffect{Event: event, Why: "no pipeline " + event.Pipeline + " is applied", Useless: true, Unknown: true}, nil
	}
	if err != nil {
		return spec, nil, err
	}
	if meaningless := join.Meaningless(spec, event.Data.Kind()); meaningless != "" {
		return spec, &NoEffect{Event: event, Why: meaningless, Useless: true}, nil
	}
	return spec, nil, nil
}

// past is what the log holds of the run of an event.
type past struct {
	join.Past
	repeats uint64 // sequence of the event that has the id of the one to be published
	last    runs.LastOutcome
}

func readPast(ctx context.Context, bus events.Bus, event events.Event) (*past, error) {
	var p past
	for recorded, err := range bus.Read(ctx, events.Query{Pipeline: event.Pipeline, Run: event.Run}) {
		if err != nil {
			return &p, fmt.Errorf("read the events of run %s of %s: %w", event.Run, event.Pipeline, err)
		}
		if recorded.Err != nil {
			continue
		}
		if recorded.Event.ID == event.ID && recorded.Event.Data.Kind() == event.Data.Kind() {
			p.repeats = recorded.Message.Sequence
		}
		switch recorded.Event.Data.(type) {
		case *events.ModelTrained, *events.TrainingFailed:
			p.last = p.last.Then(runs.OutcomeOf(recorded))
		}
		p.Add(recorded)
	}
	return &p, nil
}

// earlier is the first event of a kind that the run takes.
func (p *past) earlier(kind events.Kind) (join.Event, bool) {
	for _, have := range p.Events(0) {
		if have.Kind == kind {
			return have, true
		}
	}
	return join.Event{}, false
}

// whatEnded are the states that a run does not leave because of another event, in words.
var whatEnded = map[string]string{
	runs.Trained: "the run was trained before", runs.Failed: "the run has failed", runs.Cancelled: "the run was cancelled", runs.Expired: "the run has expired",
}

// whyOver returns why a run takes no more events; "" if it waits for some. Of a run that has no
// join, or whose join waits, the log may know more than the dispatchers have come to.
func whyOver(ctx context.Context, bus events.Bus, event events.Event, spec pipeline.Pipeline, p *past) (string, error) {
	j, err := dispatch.ReadJoin(ctx, bus, event.Pipeline, event.Run)
	lost := errors.Is(err, events.ErrNotFound)
	if err != nil && !lost {
		return "", err
	}
	if how, over := whatEnded[p.last.State.State]; lost && over && !p.last.OfEvent {
		return how, nil
	}
	if lost || j.State == join.Waiting {
		if j = join.Decide(spec, event.Run, p.Events(0)); j.Ready(spec) {
			return fmt.Sprintf("the run has all that it waits for with event %d", j.Completed()), nil
		}
		return "", nil
	}
	state, err := find.Now(ctx, bus, find.Key{Pipeline: event.Pipeline, Run: event.Run}, p.last)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return "", err
	}
	if how, over := whatEnded[state.State]; over {
		return how, nil
	}
	return fmt.Sprintf("the run has all that it waits for with event %d", j.Completed()), nil
}

// noteOf is what a publisher may not expect of an event that its run takes.
func noteOf(spec pipeline.Pipeline, event join.Event) string {
	switch {
	case join.Awaits(spec, event.Kind):
		return ""
	case event.Kind == events.KindHParamsReady:
		return fmt.Sprintf("runs of pipeline %s do not wait for %s, and none starts from it: runs that have all they wait for after it may use it", spec.Name, event.Kind)
	}
	return fmt.Sprintf("runs of pipeline %s do not wait for %s, and it alone starts no training: this run waits for %s, and uses it only if it comes before those",
		spec.Name, event.Kind, spec.Trainer.WaitFor)
}
