package dispatch

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// Handle brings one fact of the log to its effect, whether it has just come or is handled again: what was done for it before stays
// as it is, what is missing is done. A *events.Failure of kind input means that it never will have an effect.
func (d *Dispatcher) Handle(ctx context.Context, recorded events.Recorded) error {
	d.rechecked.handle(recorded.Message.Sequence)
	if recorded.Err != nil {
		return events.Fail(events.FailureInput, recorded.Err)
	}
	defer d.inTurn.lock(JoinKey(recorded.Fact.Pipeline, recorded.Fact.Run))() // else two events of a run write its join at once, and one in vain
	if events.EndsJob(recorded.Fact) {
		return d.conclude(ctx, recorded)
	}
	fact, ok := join.Pin(recorded)
	if !ok {
		return nil // one of our own, which no run waits for
	}
	if here := telemetry.PlaceOf(ctx); fact.Trace == "" { // upstream traces nothing: the run's trace begins here
		fact.Trace, fact.TraceState = here.Parent, here.State
	}
	if err := refuseInline(recorded.Fact.Data); err != nil {
		return err
	}
	current, err := d.pipeline(ctx, recorded.Fact.Pipeline)
	if err != nil {
		return err
	}
	if !fact.Starts(current.spec) {
		d.warnIgnored(ctx, recorded, join.Meaningless(current.spec, fact.Kind))
		return nil
	}
	run, err := d.join(ctx, recorded.Fact.Run, fact, current)
	if err != nil {
		return err
	}
	d.warnIgnored(ctx, recorded, run.Ignored(current.spec, fact))
	return d.advance(ctx, run, current)
}

// warnIgnored logs that an event has no effect on its run, if there is a reason. `stoker runs show` derives the same from the join and the
// log, so that it is known for as long as both are kept.
func (d *Dispatcher) warnIgnored(ctx context.Context, recorded events.Recorded, why string) {
	if why == "" {
		return
	}
	event := recorded.Fact
	d.log.WarnContext(ctx, "event ignored", "pipeline", event.Pipeline, "run", event.Run, "kind", event.Data.Kind(), "id", event.ID,
		"sequence", recorded.Message.Sequence, "why", why)
}

// advance does what the state of a run still asks for. Whoever finds a run half done may call it: each effect can be repeated.
func (d *Dispatcher) advance(ctx context.Context, run held, current deployed) error {
	switch run.State {
	case join.Waiting:
		if run.Tuning != nil {
			return d.tune(ctx, run, current)
		}
		d.log.InfoContext(ctx, "run waits", "pipeline", run.Pipeline, "run", run.Run, "for", run.Missing(current.spec))
		return d.skipTuning(ctx, run, current)
	case join.Complete:
		return errors.Join(d.withdrawTuning(ctx, run), d.enter(ctx, run, current))
	case join.Dispatched:
		if run.Unconfirmed {
			return d.confirm(ctx, run, current)
		}
	case join.Ended:
		return errors.Join(d.tell(ctx, run), d.withdraw(ctx, run, current))
	}
	return nil
}
