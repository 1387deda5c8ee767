package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// Next handles the next event of the log and acknowledges it. It waits up to wait for an event;
// then it returns events.ErrEmpty.
func (d *Dispatcher) Next(ctx context.Context, wait time.Duration) error {
	delivery, err := d.bus.Follow(ctx, Reader, wait)
	if err != nil {
		return err
	}
	ctx, span := d.Telemetry.Event(ctx, delivery.Recorded())
	err = d.handleSafely(ctx, delivery.Recorded())
	handled := err
	defer span.End(&handled)
	if failure, refused := events.AsKind(err, events.FailureInput); refused {
		if err = d.refuse(ctx, delivery, failure); err == nil {
			return nil
		}
	}
	if err != nil {
		return d.handBack(ctx, delivery, err)
	}
	return delivery.Ack(ctx)
}

// handleSafely recovers from a panic that one event causes, so that other events are still handled.
func (d *Dispatcher) handleSafely(ctx context.Context, recorded events.Recorded) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return d.Handle(ctx, recorded)
}

// Handle has the effects of one event of the log, at its first delivery or a later one: effects
// that happened before stay, missing ones are made up for. A *events.Failure of kind input means
// that the event can never have an effect.
func (d *Dispatcher) Handle(ctx context.Context, recorded events.Recorded) error {
	d.rechecked.handle(recorded.Message.Sequence)
	if recorded.Err != nil {
		return events.Fail(events.FailureInput, recorded.Err)
	}
	// Otherwise two events of a run would write its join at once, and one would fail.
	defer d.inTurn.lock(JoinKey(recorded.Event.Pipeline, recorded.Event.Run))()
	if events.EndsJob(recorded.Event) {
		return d.conclude(ctx, recorded)
	}
	event, ok := join.EventOf(recorded)
	if !ok {
		return nil // one of our own, which no run waits for
	}
	// Upstream does not trace: the run's trace begins here.
	if here := telemetry.PlaceOf(ctx); event.Trace == "" {
		event.Trace, event.TraceState = here.Parent, here.State
	}
	if err := refuseInline(recorded.Event.Data); err != nil {
		return err
	}
	current, err := d.pipeline(ctx, recorded.Event.Pipeline)
	if err != nil {
		return err
	}
	if !event.Starts(current.spec) {
		d.warnIgnored(ctx, recorded, join.Meaningless(current.spec, event.Kind))
		return nil
	}
	run, err := d.add(ctx, recorded.Event.Run, event, current)
	if err != nil {
		return err
	}
	d.warnIgnored(ctx, recorded, run.Ignored(current.spec, event))
	return d.advance(ctx, run, current)
}

// warnIgnored logs that an event has no effect on its run, if there is a reason. `stoker runs show`
// derives the same from the join and the log, so the reason is known for as long as both are kept.
func (d *Dispatcher) warnIgnored(ctx context.Context, recorded events.Recorded, why string) {
	if why == "" {
		return
	}
	event := recorded.Event
	d.log.WarnContext(ctx, "event ignored", "pipeline", event.Pipeline, "run", event.Run, "kind", event.Data.Kind(), "id", event.ID,
		"sequence", recorded.Message.Sequence, "why", why)
}

// add adds one event to its run's join, and swaps in the run's new state. It returns the current
// join, whoever wrote it.
func (d *Dispatcher) add(ctx context.Context, run string, event join.Event, current deployed) (held, error) {
	for pause := (events.Pause{}); ; {
		before, err := d.readWhole(ctx, current, run)
		if err != nil || before.State != join.Waiting || before.Has(event) {
			return before, err
		}
		after, err := d.decide(ctx, before.Add(event), current)
		if err != nil {
			return held{}, err
		}
		if after.State == join.Waiting && !after.Has(event) {
			return before, nil // one of its kind was stored before
		}
		written, err := d.swap(ctx, before, after)
		if !errors.Is(err, events.ErrConflict) {
			return written, err
		} // otherwise another dispatcher added an event
		if err := pause.Wait(ctx); err != nil {
			return held{}, err
		}
	}
}

// decide returns the new state of a waiting run, by the events known so far. It reads the log
// first, because several dispatchers don't handle events in the log's order, and a run's state must
// not depend on that. A run whose job has its outcome in the log had a join, which the bus has
// lost: it gets no second job, even if its pipeline has changed.
func (d *Dispatcher) decide(ctx context.Context, j join.Join, current deployed) (join.Join, error) {
	known := j.Decide(current.spec, j.Events)
	if known.State == join.Waiting && !known.Ready(current.spec) && !known.SearchDue() {
		return j, nil
	}
	past, err := d.past(ctx, j.Pipeline, j.Run)
	if err != nil {
		return join.Join{}, err
	}
	if _, had := past.Outcome(); had {
		return d.recall(ctx, past, j.Run, current)
	}
	all := append(slices.Clip(j.Events), past.Events(j.Completed()+1)...)
	return d.pin(ctx, j.Decide(current.spec, all), current)
}

// pin fixes what the jobs of the due stages are made from.
func (d *Dispatcher) pin(ctx context.Context, j join.Join, current deployed) (join.Join, error) {
	j = j.DropNeedlessSearch(current.spec)
	for {
		stage, due := j.Due(current.spec)
		if !due {
			return j, nil
		}
		latest, err := d.latest(ctx, j.At(stage), j.Wants(current.spec, stage.Function))
		if err != nil {
			return join.Join{}, err
		}
		j = j.Pin(current.spec, current.revision, latest)
	}
}

// advance does what the state of a run still requires. It may be called for a run that is partly
// done: each effect can be repeated.
func (d *Dispatcher) advance(ctx context.Context, run held, current deployed) error {
	stage := run.Current()
	switch {
	case run.State == join.Ended:
		_, err := d.announce(ctx, run)
		return errors.Join(err, d.withdraw(ctx, run, events.FunctionTrain, current))
	case !stage.Exists():
		d.log.InfoContext(ctx, "run waits", "pipeline", run.Pipeline, "run", run.Run, "for", run.Missing(current.spec))
		return d.skipSearch(ctx, run, current)
	case run.LacksJob():
		return errors.Join(d.withdrawEarlier(ctx, run, current), d.admit(ctx, run, current))
	case stage.Unconfirmed || run.State == join.Waiting:
		return d.confirm(ctx, run, current)
	}
	return nil
}
