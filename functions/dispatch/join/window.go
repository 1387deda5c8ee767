package join

import (
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/events"
)

// Spans are the examples of a pipeline by span, as far as its facts have been added: what rolling
// windows are taken from. Facts may be added in any order, each once.
//
// A window is TFX's rolling_range (tfx/dsl/input_resolution/canned_resolver_functions.py): the
// latest num_spans unique spans, of each span the latest version alone; fewer if there are fewer,
// which is TFX's min_spans of 1. Where a span's version was named by several facts, the one stored
// last counts, with all artifacts that it names of it.
//
// A window over transformed examples holds those that went through the same transform graph: what
// two graphs made must never be mixed. Else it is a window over raw examples.
type Spans struct {
	byGraph map[string]map[int64]spanExamples // raw examples below ""
	count   int
}

// spanExamples is what the fact that counts for a span names of it.
type spanExamples struct {
	version  int64
	sequence uint64
	examples []events.Examples
}

// windowed is the list that a window takes the place of.
func windowed(in *events.Inputs) *[]events.Examples {
	if len(in.TransformedExamples) > 0 {
		return &in.TransformedExamples
	}
	return &in.Examples
}

// Add takes one more fact of the pipeline into account.
func (s *Spans) Add(r events.Recorded) {
	fact, ok := Pin(r)
	if !ok {
		return
	}
	for _, examples := range fact.Inputs.Examples {
		s.add("", examples, fact.Sequence)
	}
	for _, examples := range fact.Inputs.TransformedExamples {
		s.add(fact.Inputs.TransformGraph, examples, fact.Sequence)
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

// Len is how many artifacts were added, which bounds the memory that s takes.
func (s *Spans) Len() int { return s.count }

// Window is the examples of the last size spans up to the join's own, in the order of their spans.
// The join is ready, and s holds the pipeline's facts up to j.Completed(). No span above the run's
// own counts, so that a run which comes late or is done again trains on what it was told for.
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
