// Package submit says what an event will do before it is published, whether a published one was
// ignored, and starts the inputs of a run again as a new run. Read Check first, then Checker,
// Ignored and PlanRerun.
package submit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
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
	s := runs.Open(bus, runs.Options{Timelines: true})
	spec, err := deployed(ctx, s, event)
	if err != nil {
		return Effect{}, err
	}
	pinned, ok := join.EventOf(events.Recorded{Event: event})
	if !ok {
		return Effect{}, nil // it is not for a run: a model was blessed, say
	}
	run, err := s.Load(ctx, runs.Key{Pipeline: event.Pipeline, Run: event.Run})
	if errors.Is(err, events.ErrNotFound) {
		return Effect{Note: noteOf(spec, pinned)}, nil
	}
	if err != nil {
		return Effect{}, err
	}
	if earlier, repeats := run.Timeline.Find(event); repeats {
		return Effect{Repeats: earlier.Sequence}, nil
	}
	inputs := run.Timeline.Past.Events(0)
	if same, there := firstOf(inputs, pinned.Kind); there {
		if reflect.DeepEqual(same.Inputs, pinned.Inputs) && same.Force == pinned.Force {
			return Effect{Equals: same.Sequence, Note: fmt.Sprintf("event %d of the run has the same data: this one changes nothing", same.Sequence)}, nil
		}
		return Effect{}, &NoEffect{Event: event, Why: fmt.Sprintf("the run has its %s already: event %d, with other data", pinned.Kind, same.Sequence)}
	}
	if why := whyOver(run, spec, inputs); why != "" {
		return Effect{}, &NoEffect{Event: event, Why: why}
	}
	return Effect{Note: noteOf(spec, pinned)}, nil
}

// deployed returns the pipeline of an event as it is applied now; *NoEffect if there is none, or
// none of its runs takes such an event.
func deployed(ctx context.Context, s *runs.Snapshot, event events.Event) (pipeline.Pipeline, error) {
	spec, why, err := specFor(ctx, s, event)
	if err != nil || why == nil {
		return spec, err
	}
	switch err := s.Sync(ctx, events.KVPipelines); {
	case err == nil:
		if spec, why, err = specFor(ctx, s, event); err != nil || why == nil {
			return spec, err
		}
	case !errors.Is(err, events.ErrRefused): // whose credentials only read has the leader's answer
		return spec, err
	}
	if why.Unknown && s.List(ctx, events.KVPipelines) == nil { // for a hint: a copy will do
		for name := range s.Applied() {
			why.Applied = append(why.Applied, name)
		}
		slices.Sort(why.Applied)
	}
	return spec, why
}

func specFor(ctx context.Context, s *runs.Snapshot, event events.Event) (spec pipeline.Pipeline, why *NoEffect, err error) {
	p, err := s.ReadPipeline(ctx, event.Pipeline, 0)
	if errors.Is(err, events.ErrNotFound) {
		return spec, &NoEffect{Event: event, Why: "no pipeline " + event.Pipeline + " is applied", Useless: true, Unknown: true}, nil
	}
	if err != nil {
		return spec, nil, err
	}
	if meaningless := join.Meaningless(p.Spec, event.Data.Kind()); meaningless != "" {
		return p.Spec, &NoEffect{Event: event, Why: meaningless, Useless: true}, nil
	}
	return p.Spec, nil, nil
}

// firstOf is the first event of a kind.
func firstOf(inputs []join.Event, kind events.Kind) (join.Event, bool) {
	for _, have := range inputs {
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
func whyOver(run runs.Run, spec pipeline.Pipeline, inputs []join.Event) string {
	j, state := run.Join, run.State
	if !run.HasJoin && run.Last.Ends() > 0 {
		state = run.Last.State
	}
	waits := !run.HasJoin || j.State == join.Waiting
	if how, over := whatEnded[state]; over && (!run.HasJoin || !waits) {
		return how
	}
	if waits {
		if j = join.Decide(spec, run.Run, inputs); !j.Ready(spec) {
			return ""
		}
	}
	return fmt.Sprintf("the run has all that it waits for with event %d", j.Completed())
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

// Ignored returns a *NoEffect if an event that was stored at sequence has no effect on its run,
// because another one came first. nil says that it has one, or that no dispatcher has come to it
// yet: callers ask again then. The join is read from the leader of its bucket, and only goes
// forward: a reason that is given once stays true.
func Ignored(ctx context.Context, bus events.Bus, event events.Event, sequence uint64) error {
	pinned, ok := join.EventOf(events.Recorded{Event: event, Message: events.Message{Sequence: sequence}})
	if !ok {
		return nil
	}
	s := runs.Open(bus, runs.Options{})
	j, err := s.Join(ctx, runs.Key{Pipeline: event.Pipeline, Run: event.Run})
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := s.ReadPipeline(ctx, event.Pipeline, 0)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return err
	}
	if why := j.Ignored(p.Spec, pinned); why != "" {
		return &NoEffect{Event: event, Stored: sequence, Why: why}
	}
	return nil
}

// Checker checks the events that a bridge publishes for others. It is safe for concurrent use; a
// nil Checker checks nothing.
type Checker struct {
	bus    events.Bus
	anyway bool
	logger *slog.Logger
	blind  atomic.Bool // the credentials don't permit the reads
}

// NewChecker returns a checker. With anyway it only warns of events without effect. A nil logger
// logs nothing.
func NewChecker(bus events.Bus, anyway bool, logger *slog.Logger) *Checker {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Checker{bus: bus, anyway: anyway, logger: logger}
}

// Check returns *NoEffect for an event that would do nothing if it were published now, as the
// function Check does, and what the publisher of another one may not expect. With anyway an event
// without effect is no error.
//
// Credentials that permit publishing, and no reads of pipelines and runs, are those of an upstream:
// nothing is checked then, and a warning in the log says so once.
func (c *Checker) Check(ctx context.Context, event events.Event, anyway bool) (note string, err error) {
	if c == nil || c.blind.Load() {
		return "", nil
	}
	effect, err := Check(ctx, c.bus, event)
	none, ignored := errors.AsType[*NoEffect](err)
	switch {
	case errors.Is(err, events.ErrRefused):
		if !c.blind.Swap(true) {
			c.logger.WarnContext(ctx, "events are published without a check of what they will do: these credentials permit no reads of pipelines and runs",
				"error", err)
		}
		return "", nil
	case ignored && (anyway || c.anyway):
		note, err = "published all the same, and ignored unless that changes: "+none.Why, nil
	case err != nil:
		return "", err
	default:
		note = effect.Note
	}
	if note != "" {
		c.logger.WarnContext(ctx, "event has less effect than its publisher may expect", "kind", event.Data.Kind(), "pipeline", event.Pipeline,
			"run", event.Run, "event", event.ID, "note", note)
	}
	return note, nil
}
