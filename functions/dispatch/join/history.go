package join

import (
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Past is what the log holds of one run, as far as its join depends on it.
type Past struct {
	events  []pastEvent
	refused map[string]bool  // by id of the event that reports the refusal
	outcome *events.Recorded // the first outcome of a job of the run
	ended   *events.Recorded // the event that says that the run ended without a job
}

type pastEvent struct {
	Event
	refusal string // id of the event that would report the refusal of this one
}

// Add adds the next event of the run, in the order of the log.
func (p *Past) Add(r events.Recorded) {
	if r.Err != nil {
		return
	}
	if r.Event.Data.Kind() == events.KindTrainingFailed {
		if p.refused == nil {
			p.refused = map[string]bool{}
		}
		p.refused[r.Event.ID] = true
	}
	if r.Event.ID == events.EndedID(r.Event.Pipeline, r.Event.Run) {
		p.ended = &r
	}
	if p.outcome == nil && events.EndsJob(r.Event) {
		p.outcome = &r
	}
	if event, ok := EventOf(r); ok && !bringsPipeline(r.Event) {
		p.events = append(p.events, pastEvent{event, events.RefusedID(r.Event)})
	}
}

// bringsPipeline reports whether an event is always refused for its content.
func bringsPipeline(f events.Event) bool { return len(events.RequestOf(f.Data).PipelineSpec) > 0 }

// Events returns the events below a sequence, 0 for all, that were not refused at first. An event
// that was refused counts only if it was handled again since, which the run's join knows.
func (p *Past) Events(until uint64) []Event {
	return p.where(func(e pastEvent) bool { return !p.refused[e.refusal] && (until == 0 || e.Sequence < until) })
}

// Join returns the run's join, not pinned, if the bus has lost it. The outcome of a job names the
// event that completed the run: later events did not count. If the run could not have its job
// without an event that was refused, that event must have been handled again.
func (p *Past) Join(spec pipeline.Pipeline, run string) Join {
	if p.outcome == nil {
		return Decide(spec, run, p.Events(p.endedBy()))
	}
	last := p.completedBy()
	j := Decide(spec, run, p.Events(last+1))
	if j.State == Waiting && !j.Ready(spec) {
		j = Decide(spec, run, p.where(func(e pastEvent) bool { return e.Sequence <= last }))
	}
	return j
}

// endedBy returns the sequence after the last event that counted for a run that ended without a
// job; 0 if it hasn't ended, or if that is not known.
func (p *Past) endedBy() uint64 {
	if p.ended == nil {
		return 0
	}
	if failed, ok := p.ended.Event.Data.(*events.TrainingFailed); ok && failed.Through != 0 {
		return failed.Through + 1
	}
	return 0
}

// Ended returns the run's join if the log says that the run ended without a job.
func (p *Past) Ended(j Join) (Join, bool) {
	if p.ended == nil {
		return j, false
	}
	failed, ok := p.ended.Event.Data.(*events.TrainingFailed)
	if !ok {
		return j, false
	}
	return j.End(failed.Reason, failed.Message, p.ended.Event.Time).Announced(), true
}

// Outcome returns the first outcome of a job of the run; false if there is none.
func (p *Past) Outcome() (events.Recorded, bool) {
	if p.outcome == nil {
		return events.Recorded{}, false
	}
	return *p.outcome, true
}

// completedBy returns the sequence of the event that the outcome names as its cause; the outcome's
// own sequence if it names none.
func (p *Past) completedBy() uint64 {
	last := p.outcome.Message.Sequence
	for _, event := range p.events {
		if event.Sequence < p.outcome.Message.Sequence && events.CausedBy(p.outcome.Event, event.Cause) {
			last = event.Sequence
		}
	}
	return last
}

func (p *Past) where(counts func(pastEvent) bool) (all []Event) {
	for _, event := range p.events {
		if counts(event) {
			all = append(all, event.Event)
		}
	}
	return all
}

// Spans are the examples of a pipeline by span, from which rolling windows are made. Events may be
// added in any order, each once.
//
// A window is TFX's rolling_range (tfx/dsl/input_resolution/canned_resolver_functions.py): the
// latest num_spans unique spans, of each span only the latest version; fewer if there are fewer,
// which is TFX's min_spans of 1. If several events named the same version of a span, the one stored
// last counts, with all artifacts of the version that it names.
//
// A window over transformed examples holds those of one transform graph, because the outputs of two
// graphs must never be mixed. Otherwise it is a window over raw examples.
type Spans struct {
	byGraph map[string]map[int64]spanExamples // raw examples below ""
	count   int
}

// spanExamples are the examples of a span that the event which counts for it names.
type spanExamples struct {
	version  int64
	sequence uint64
	examples []events.Examples
}

// windowed returns the list that a window replaces.
func windowed(in *events.Inputs) *[]events.Examples {
	if len(in.TransformedExamples) > 0 {
		return &in.TransformedExamples
	}
	return &in.Examples
}

// Add adds one more event of the pipeline.
func (s *Spans) Add(r events.Recorded) {
	event, ok := EventOf(r)
	if !ok {
		return
	}
	for _, examples := range event.Inputs.Examples {
		s.add("", examples, event.Sequence)
	}
	for _, examples := range event.Inputs.TransformedExamples {
		s.add(event.Inputs.TransformGraph, examples, event.Sequence)
	}
}

func (s *Spans) add(graph string, examples events.Examples, sequence uint64) {
	if s.byGraph == nil {
		s.byGraph = map[string]map[int64]spanExamples{}
	}
	spans := s.byGraph[graph]
	if spans == nil {
		spans = map[int64]spanExamples{}
		s.byGraph[graph] = spans
	}
	have, known := spans[examples.Span]
	switch {
	case known && (have.version > examples.Version || have.version == examples.Version && have.sequence > sequence):
		return
	case known && have.version == examples.Version && have.sequence == sequence:
		have.examples = append(have.examples, examples)
	default:
		have = spanExamples{version: examples.Version, sequence: sequence, examples: []events.Examples{examples}}
	}
	s.count++
	spans[examples.Span] = have
}

// Len returns how many artifacts were added, which determines the memory that s uses.
func (s *Spans) Len() int { return s.count }

// Window is the examples of the last size spans up to the join's own, in the order of their spans.
// The join is ready, and s holds the pipeline's events up to j.Completed(). No span above the run's
// own counts, so a run that is late or is retried trains on the data that it was meant for.
func (s *Spans) Window(j Join, size int) []events.Examples {
	in, graph, highest := j.inputs(), "", int64(0)
	if len(in.TransformedExamples) > 0 {
		graph = in.TransformGraph
	}
	for _, examples := range *windowed(&in) {
		highest = max(highest, examples.Span)
	}
	known := s.byGraph[graph]
	spans := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(span int64) bool { return span > highest })
	var out []events.Examples
	for _, span := range spans[max(0, len(spans)-size):] {
		out = append(out, known[span].examples...)
	}
	return out
}
