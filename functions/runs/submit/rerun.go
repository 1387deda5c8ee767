package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
)

// ErrTaken reports a name for a new run that another run has.
var ErrTaken = errors.New("a run with this name exists")

// ErrNotApplied reports a run whose pipeline is not applied.
var ErrNotApplied = errors.New("not applied")

// RerunOptions say how a run is to be started again.
type RerunOptions struct {
	As    string // name of the new run; "": the first of RUN-2, RUN-3 and so on that is free
	Force bool   // train even if the same was trained before
}

// Rerun is a new run that starts with the inputs of another one.
type Rerun struct {
	Of       runs.Key
	Run      string         // its name
	Revision uint64         // of the pipeline as it is applied now
	Events   []events.Event // to be published, in this order
	// What the pipeline waits for and they do not contain: it has to be published separately.
	WaitsFor []events.Kind
}

// maxReruns limits how many names are tried for a new run.
const maxReruns = 1000

// PlanRerun returns the events that start the inputs of a run again with the pipeline as it is
// applied now, and publishes nothing. They are those that the run was made from, or would have
// been; an event that was refused is not among them, nor are hyperparameters that Stoker has found
// or reused, unless the pipeline has no tuner now. Their ids follow from the new run's name and the
// old events: a caller that stops between two of them and plans the same again, with As, gets the
// same ones.
//
// The events of the old run and of the new one are read from the leader of the log, which is
// complete. The error is events.ErrNotFound for a run without events, that and ErrNotApplied for a
// pipeline that is not applied, and ErrTaken for a name in use.
func PlanRerun(ctx context.Context, bus events.Bus, of runs.Key, opts RerunOptions) (Rerun, error) {
	s := runs.Open(bus, runs.Options{})
	applied, err := s.AppliedPipeline(ctx, of.Pipeline)
	if errors.Is(err, events.ErrNotFound) {
		return Rerun{}, fmt.Errorf("%w: pipeline %s: %w", ErrNotApplied, of.Pipeline, err)
	}
	if err != nil {
		return Rerun{}, err
	}
	spec := applied.Spec
	inputs, err := inputsOf(ctx, s, of, spec)
	if err != nil {
		return Rerun{}, err
	}
	plan := Rerun{Of: of, Revision: applied.Revision}
	for n := 2; n < maxReruns+2; n++ {
		if plan.Run = opts.As; plan.Run == "" {
			plan.Run = fmt.Sprintf("%s-%d", of.Run, n)
		}
		if err := events.CheckRun("run", plan.Run); err != nil {
			return plan, fmt.Errorf("name the new run: %w", err)
		}
		plan.Events = renamed(inputs, plan.Run, opts.Force)
		free, err := isFree(ctx, bus, of.Pipeline, plan)
		switch {
		case err != nil:
			return plan, err
		case free:
			plan.WaitsFor = missing(spec, plan)
			return plan, nil
		case opts.As != "":
			return plan, fmt.Errorf("start run %s of %s again as %s: %w", of.Run, of.Pipeline, opts.As, ErrTaken)
		}
	}
	return plan, fmt.Errorf("start run %s of %s again: %w, as for all %d names tried", of.Run, of.Pipeline, ErrTaken, maxReruns)
}

// inputsOf returns the events that a run was made from. The join names them; if there is none the
// log decides.
func inputsOf(ctx context.Context, s *runs.Snapshot, of runs.Key, spec pipeline.Pipeline) ([]events.Event, error) {
	j, err := s.Join(ctx, of)
	if errors.Is(err, events.ErrNotFound) {
		j, err = join.New(of.Pipeline, of.Run), nil
	}
	if err != nil {
		return nil, err
	}
	var past join.Past
	stored := map[uint64]events.Event{}
	err = s.ReadLog(ctx, events.Query{Pipeline: of.Pipeline, Run: of.Run}, func(recorded events.Recorded) {
		past.Add(recorded)
		stored[recorded.Message.Sequence] = recorded.Event
	})
	if err != nil {
		return nil, fmt.Errorf("read the events of run %s of %s: %w", of.Run, of.Pipeline, err)
	}
	pinned := slices.Clone(j.Events)
	for _, event := range past.Events(0) { // the join may be lost, or may get more events
		if _, has := j.Event(event.Kind); !has && j.State == join.Waiting {
			pinned, j = append(pinned, event), j.Add(event)
		}
	}
	var inputs []events.Event
	for _, event := range pinned {
		found, kept := stored[event.Sequence]
		if !kept {
			return nil, fmt.Errorf("event %d (%s) of run %s of %s is gone from the log: %w", event.Sequence, event.Kind, of.Run, of.Pipeline, events.ErrNotFound)
		}
		if carried(spec, found) {
			inputs = append(inputs, found)
		}
	}
	if len(inputs) == 0 {
		return nil, fmt.Errorf("run %s of %s has no event that names inputs: %w", of.Run, of.Pipeline, events.ErrNotFound)
	}
	return inputs, nil
}

// carried reports whether an event is among the inputs of the new run: an event of upstream, or a
// result of Stoker that would not be found again.
func carried(spec pipeline.Pipeline, event events.Event) bool {
	switch event.Data.Kind() {
	case events.KindTuningFailed:
		return false
	case events.KindHParamsReady:
		return join.Meaningless(spec, events.KindHParamsReady) == "" && (!events.FoundByStoker(event) || !spec.AwaitsTuning())
	default: // an event of upstream
		return true
	}
}

// renamed returns events of one run as events of another.
func renamed(inputs []events.Event, run string, force bool) []events.Event {
	all := make([]events.Event, len(inputs))
	for i, event := range inputs {
		all[i] = events.NewRerun(event, run, force)
	}
	return all
}

// isFree reports whether the log has no event of the new run, or only a part of those to be
// published, which an interrupted rerun has left.
func isFree(ctx context.Context, bus events.EventLog, pipeline string, rerun Rerun) (bool, error) {
	ours := map[string]bool{}
	for _, event := range rerun.Events {
		ours[event.ID] = true
	}
	for recorded, err := range bus.Read(ctx, events.Query{Pipeline: pipeline, Run: rerun.Run}) {
		if err != nil {
			return false, fmt.Errorf("read the events of run %s of %s: %w", rerun.Run, pipeline, err)
		}
		if recorded.Err != nil || !ours[recorded.Event.ID] {
			return false, nil
		}
		delete(ours, recorded.Event.ID)
	}
	return len(ours) > 0, nil
}

// missing returns the kinds that the pipeline waits for and that neither the new run's events nor
// the tuner provide.
func missing(spec pipeline.Pipeline, rerun Rerun) (kinds []events.Kind) {
	j := join.New(spec.Name, rerun.Run)
	for i, event := range rerun.Events {
		if pinned, ok := join.EventOf(events.Recorded{Event: event, Message: events.Message{Sequence: uint64(i) + 1}}); ok {
			j = j.Add(pinned)
		}
	}
	return slices.DeleteFunc(j.Missing(spec), func(kind events.Kind) bool {
		return kind == events.KindHParamsReady && spec.AwaitsTuning()
	})
}
