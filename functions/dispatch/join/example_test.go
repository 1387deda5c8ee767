package join_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// A run waits for two events. With the second one it is complete: its training is pinned and gets
// a job, whose id is the same wherever it is computed.
func Example() {
	p, err := pipeline.Parse("penguin.yaml", []byte("pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [examples, transform]}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	examples := join.Event{
		Cause:  events.Cause{Kind: events.KindExamplesReady, Source: "/tfx", ID: "examples-17", Sequence: 1},
		Inputs: events.Inputs{Examples: []events.Examples{{URI: "s3://tfx/penguin/examples/17"}}},
	}
	transform := join.Event{
		Cause:  events.Cause{Kind: events.KindTransformReady, Source: "/tfx", ID: "transform-17", Sequence: 2},
		Inputs: events.Inputs{TransformGraph: "s3://tfx/penguin/graph/17"},
	}

	waiting := join.Decide(p, "17", []join.Event{examples})
	fmt.Println(waiting.State, "for", waiting.Missing(p))

	complete := join.Decide(p, "17", []join.Event{examples, transform})
	stage, due := complete.Due(p)
	fmt.Println(stage.Function, "is due:", due)
	pinned := complete.Pin(p, 1, join.Latest{})
	job, err := pinned.Job(p, events.FunctionTrain, join.Retry{})
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := pinned.Job(p, events.FunctionTrain, join.Retry{})
	fmt.Println(pinned.State, job.Inputs.TransformGraph, len(job.Causes), "causes, same id:", job.ID == again.ID, err)
	// Output:
	// waiting for [transform.ready]
	// train is due: true
	// complete s3://tfx/penguin/graph/17 2 causes, same id: true <nil>
}

// A pipeline processes one run at a time. The others wait in the order of their events.
func ExampleAdmission() {
	limit := &pipeline.Concurrency{Runs: 1, Newest: pipeline.NewestQueue}
	run := func(name string, sequence uint64) join.Join {
		return join.New("penguin", name).Add(join.Event{Cause: events.Cause{Kind: events.KindExamplesReady, Source: "/tfx", ID: name, Sequence: sequence}})
	}
	var a join.Admission
	for i, name := range []string{"monday", "tuesday", "wednesday"} {
		a = a.Add(run(name, uint64(i+1))).Admit(limit)
	}
	ahead, waits := a.Ahead("wednesday")
	fmt.Println("monday:", a.IsAdmitted("monday"), "wednesday:", ahead, "ahead, waits:", waits)

	a = a.Remove("monday").Admit(limit) // it is trained
	fmt.Println("tuesday:", a.IsAdmitted("tuesday"), "wednesday:", a.IsAdmitted("wednesday"))
	// Output:
	// monday: true wednesday: 2 ahead, waits: true
	// tuesday: true wednesday: false
}

// A rolling window holds the latest spans up to the run's own.
func ExampleSpans() {
	var spans join.Spans
	recorded := func(sequence uint64, span int64) events.Recorded {
		data := &events.ExamplesReady{Examples: []events.Examples{{URI: fmt.Sprint("s3://tfx/penguin/span-", span), Span: span}}}
		event := events.Event{ID: fmt.Sprint("span-", span), Source: "/tfx", Pipeline: "penguin", Run: fmt.Sprint(span), Data: data}
		return events.Recorded{Message: events.Message{Sequence: sequence}, Event: event}
	}
	for i := range 4 {
		spans.Add(recorded(uint64(i+1), int64(i+1)))
	}
	event, _ := join.EventOf(recorded(3, 3))
	for _, e := range spans.Window(join.New("penguin", "3").Add(event), 2) {
		fmt.Println(e.URI)
	}
	// Output:
	// s3://tfx/penguin/span-2
	// s3://tfx/penguin/span-3
}
