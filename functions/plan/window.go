package plan

import (
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/events"
)

// Window gathers the examples of a rolling window over a pipeline's spans, as TFX's rolling_range does
// (tfx/dsl/input_resolution/canned_resolver_functions.py): those of the latest num_spans unique spans, of each span the latest
// version alone. Fewer if there are fewer, which is TFX's min_spans of 1. No span above the run's own counts, so that a run which
// comes late or is done again trains on what it was told for. Where a span's version was told several times, the fact stored
// last counts, with all artifacts that it names of it.
//
// A run that brings transformed examples has a window over those that went through the same transform graph: what two
// graphs made must never be mixed. Else it is a window over raw examples.
type Window struct {
	size        int
	graph       string // "" for a window over raw examples
	highestSpan int64
	spans       map[int64]spanExamples
}

// spanExamples is what the fact that counts for a span names of it.
type spanExamples struct {
	version  int64
	sequence uint64
	examples []events.Examples
}

// Window is that of a join which is ready, still empty: the pipeline's facts up to j.Completed() are to be added.
func (j Join) Window(size int) Window {
	in := j.inputs()
	w := Window{size: size, spans: map[int64]spanExamples{}}
	if len(in.TransformedExamples) > 0 {
		w.graph = in.TransformGraph
	}
	for _, examples := range *windowed(&in) {
		w.highestSpan = max(w.highestSpan, examples.Span)
	}
	return w
}

// windowed is the list that a window takes the place of.
func windowed(in *events.Inputs) *[]events.Examples {
	if len(in.TransformedExamples) > 0 {
		return &in.TransformedExamples
	}
	return &in.Examples
}

// Add takes one more fact of the pipeline into account, in any order.
func (w Window) Add(r events.Recorded) {
	fact, ok := Pin(r)
	if !ok {
		return
	}
	list := fact.Inputs.Examples
	if w.graph != "" {
		list = fact.Inputs.TransformedExamples
		if fact.Inputs.TransformGraph != w.graph {
			return
		}
	}
	for _, examples := range list {
		if examples.Span <= w.highestSpan {
			w.take(examples, fact.Sequence)
		}
	}
}

func (w Window) take(examples events.Examples, sequence uint64) {
	have, known := w.spans[examples.Span]
	switch {
	case known && (have.version > examples.Version || have.version == examples.Version && have.sequence > sequence):
		return
	case known && have.version == examples.Version && have.sequence == sequence:
		have.examples = append(have.examples, examples)
	default:
		have = spanExamples{version: examples.Version, sequence: sequence, examples: []events.Examples{examples}}
	}
	w.spans[examples.Span] = have
}

// Examples are those of the window, in the order of their spans.
func (w Window) Examples() []events.Examples {
	spans := slices.Sorted(maps.Keys(w.spans))
	var out []events.Examples
	for _, span := range spans[max(0, len(spans)-w.size):] {
		out = append(out, w.spans[span].examples...)
	}
	return out
}
