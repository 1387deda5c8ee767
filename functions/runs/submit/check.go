// Package submit predicts the effect of an event before it is published, finds out whether a
// published one was ignored, and starts the inputs of a run again as a new run. Read Check first,
// then Checker, Ignored and PlanRerun.
package submit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
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
	Useless bool     // no run of the pipeline, as it is now, uses such an event
	Unknown bool     // no such pipeline is applied
	Applied []string // with Unknown, the pipelines that are applied
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
	// Sequence of the event in the log with the same id, so that publishing it again adds nothing;
	// 0: there is none.
	Repeats uint64
	// Sequence of the run's event of this kind with the same data and another id; 0: there is none.
	Equals uint64
	Note   string // what the publisher may not expect; "" if there is nothing to say
}

// Check returns the effect that an event will have if it is published now, or *NoEffect if it will
// have none. An event that repeats one in the log is not such an error, whatever the effect of that
// one was: publishing it again succeeds.
//
// Check reads the log from its leader, where it is complete, and the join from the leader of its
// bucket. Both only advance, so that an old answer, from a leader that has just lost the other
// servers, may miss a reason but never gives a wrong one. The pipeline may be changed and removed:
// before Check refuses an event because of it, it syncs the bucket, which makes that read
// linearizable, unless the caller's credentials do not permit the write. Check does not see events
// that are published between it and the publication of the event; Ignored finds out afterwards
// whether one was first.
func Check(ctx context.Context, bus events.Bus, event events.Event) (Effect, error) {
	s := runs.Open(bus, runs.Options{Timelines: true})
	spec, err := deployed(ctx, s, event)
	if err != nil {
		return Effect{}, err
	}
	pinned, ok := join.EventOf(events.Recorded{Event: event})
	if !ok {
		return Effect{}, nil // it does not belong to a run: for example, a model was blessed
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
		return Effect{}, &NoEffect{Event: event, Why: fmt.Sprintf("the run already has its %s: event %d, with other data", pinned.Kind, same.Sequence)}
	}
	if why := whyOver(run, spec, inputs); why != "" {
		return Effect{}, &NoEffect{Event: event, Why: why}
	}
	return Effect{Note: noteOf(spec, pinned)}, nil
}

// deployed returns the pipeline of an event as it is applied now; *NoEffect if there is none, or if
// none of its runs uses such an event.
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
	case !errors.Is(err, events.ErrRefused): // read-only credentials have only the leader's answer
		return spec, err
	}
	if why.Unknown && s.List(ctx, events.KVPipelines) == nil { // for a hint, a copy is enough
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

// firstOf returns the first event of a kind.
func firstOf(inputs []join.Event, kind events.Kind) (join.Event, bool) {
	for _, have := range inputs {
		if have.Kind == kind {
			return have, true
		}
	}
	return join.Event{}, false
}

// whatEnded describes the states that no other event makes a run leave.
var whatEnded = map[string]string{
	runs.Trained: "the run was trained before", runs.Failed: "the run has failed", runs.Cancelled: "the run was cancelled", runs.Expired: "the run has expired",
}

// whyOver returns why a run takes no more events; "" if it waits for some. If a run has no join, or
// its join waits, the log may have events that the dispatchers have not handled yet.
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
	return fmt.Sprintf("the run is complete with event %d", j.Completed())
}

// noteOf returns what a publisher may not expect of an event that its run uses.
func noteOf(spec pipeline.Pipeline, event join.Event) string {
	switch {
	case join.Awaits(spec, event.Kind):
		return ""
	case event.Kind == events.KindHParamsReady:
		return fmt.Sprintf("runs of pipeline %s do not wait for %s, so it starts no run: runs that become complete after it may use it", spec.Name, event.Kind)
	}
	return fmt.Sprintf("runs of pipeline %s do not wait for %s: this run waits for %s, and uses the event only if it arrives before those",
		spec.Name, event.Kind, strings.Join(spec.Trainer.WaitFor, " and "))
}

// Ignored returns a *NoEffect if an event that was stored at sequence has no effect on its run,
// because another one was first. nil means that it has one, or that no dispatcher has handled it
// yet; callers then ask again. The join is read from the leader of its bucket, and only advances: a
// reason stays true.
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

// Checker checks the events that a bridge publishes for others. It may be used by several
// goroutines at once; a nil Checker checks nothing.
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

// Check returns *NoEffect for an event that would have no effect if it were published now, as the
// function Check does; for another one it returns what its publisher may not expect. With anyway an
// event without effect is not an error.
//
// The credentials of an upstream may permit publishing, but not reading pipelines and runs: then
// nothing is checked, and a warning in the log says so once.
func (c *Checker) Check(ctx context.Context, event events.Event, anyway bool) (note string, err error) {
	if c == nil || c.blind.Load() {
		return "", nil
	}
	effect, err := Check(ctx, c.bus, event)
	none, ignored := errors.AsType[*NoEffect](err)
	switch {
	case errors.Is(err, events.ErrRefused):
		if !c.blind.Swap(true) {
			c.logger.WarnContext(ctx, "events are published without a check of their effect: these credentials do not permit reading pipelines and runs",
				"error", err)
		}
		return "", nil
	case ignored && (anyway || c.anyway):
		note, err = "published nevertheless, but ignored unless this changes: "+none.Why, nil
	case err != nil:
		return "", err
	default:
		note = effect.Note
	}
	if note != "" {
		c.logger.WarnContext(ctx, "event may not have the expected effect", "kind", event.Data.Kind(), "pipeline", event.Pipeline,
			"run", event.Run, "event", event.ID, "note", note)
	}
	return note, nil
}
