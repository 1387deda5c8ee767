package join_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// span returns an artifact whose address describes it.
func span(span, version int64, note string) events.Examples {
	return events.Examples{URI: fmt.Sprintf("s3://bkt/%d-%d%s", span, version, note), Span: span, Version: version}
}

func raw(list ...events.Examples) events.Data { return &events.ExamplesReady{Examples: list} }

func through(graph string, list ...events.Examples) events.Data {
	return &events.TransformReady{TransformGraph: graph, TransformedExamples: list}
}

func TestAWindowIsTheLastSpansInTheirNewestVersions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		size int
		log  []events.Data // in the order of the log; the run's own is the last
		want []string
	}{
		"fewer than asked for": {3, []events.Data{raw(span(1, 0, "")), raw(span(2, 0, ""))}, []string{"1-0", "2-0"}},
		"the last ones":        {2, []events.Data{raw(span(1, 0, "")), raw(span(2, 0, "")), raw(span(3, 0, ""))}, []string{"2-0", "3-0"}},
		"gaps don't count": {2, []events.Data{raw(span(3, 0, "")), raw(span(7, 0, "")), raw(span(12, 0, ""))},
			[]string{"7-0", "12-0"}},
		"none above the run's own": {2, []events.Data{raw(span(4, 0, "")), raw(span(9, 0, "")), raw(span(5, 0, ""))},
			[]string{"4-0", "5-0"}},
		"the highest version, not the newest event": {2, []events.Data{raw(span(1, 2, "")), raw(span(1, 1, "")), raw(span(2, 0, ""))},
			[]string{"1-2", "2-0"}},
		"of one version the newest event": {2, []events.Data{raw(span(1, 0, "old")), raw(span(1, 0, "new")), raw(span(2, 0, ""))},
			[]string{"1-0new", "2-0"}},
		"a higher version of the run's own span": {1, []events.Data{raw(span(2, 5, "")), raw(span(2, 1, ""))}, []string{"2-5"}},
		"all artifacts that one event names of a span": {2, []events.Data{raw(span(1, 0, "a"), span(1, 0, "b")), raw(span(2, 0, ""))},
			[]string{"1-0a", "1-0b", "2-0"}},
		"in the order of spans, whatever that of the events": {3, []events.Data{raw(span(2, 0, "")), raw(span(1, 0, "")), raw(span(3, 0, ""))},
			[]string{"1-0", "2-0", "3-0"}},
		"a run of several spans": {3, []events.Data{raw(span(1, 0, "")), raw(span(2, 0, "")), raw(span(3, 0, ""), span(4, 0, ""))},
			[]string{"2-0", "3-0", "4-0"}},
		"no spans at all: the newest alone": {3, []events.Data{raw(span(0, 0, "old")), raw(span(0, 0, "new"))}, []string{"0-0new"}},
		"graphs are never mixed": {3, []events.Data{
			through("s3://bkt/g1", span(1, 0, "")), through("s3://bkt/g2", span(2, 0, "other")), raw(span(3, 0, "raw")), through("s3://bkt/g1", span(4, 0, ""))},
			[]string{"1-0", "4-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log []events.Recorded
			for i, data := range tc.log {
				log = append(log, recorded(uint64(i+1), fmt.Sprint(i), data))
			}
			own, _ := join.EventOf(log[len(log)-1])
			j := join.New("penguin", "monday").Add(own)
			var spans join.Spans
			rand.New(rand.NewPCG(5, 6)).Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
			for _, r := range log {
				spans.Add(r)
			}
			var got []string
			for _, examples := range spans.Window(j, tc.size) {
				got = append(got, examples.URI[len("s3://bkt/"):])
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("window %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAWindowTakesThePlaceOfTheExamplesThatAreTrainedOn(t *testing.T) {
	t.Parallel()
	p := parse(t, head+"trainer: {window: 2}\n")
	event := at(1, "t", &events.TransformReady{
		TransformGraph: "s3://bkt/g", Examples: []events.Examples{span(1, 0, "raw")}, TransformedExamples: []events.Examples{span(1, 0, "")},
	})
	latest := join.Latest{Spans: []events.Examples{span(0, 0, ""), span(1, 0, "")}}
	job, err := join.Decide(p, "monday", []join.Event{event}).Pin(p, 1, latest).Job(p, events.FunctionTrain, join.Retry{})
	if err != nil || len(job.Inputs.TransformedExamples) != 2 || len(job.Inputs.Examples) != 1 {
		t.Errorf("inputs %+v, %v", job.Inputs, err)
	}
}
