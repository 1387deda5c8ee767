package events_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// An upstream component announces examples. Any NATS client can publish the message on the subject.
func ExampleEncode() {
	event := events.Event{
		ID: "example-gen-17", Source: "/tfx/example-gen", Pipeline: "penguin", Run: "2026-11-21 morning",
		Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/examples/17"}}},
	}
	header, body, err := events.Encode(event)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(events.EventSubject(event))
	fmt.Println(header["ce-type"][0], header["ce-run"][0])
	fmt.Println(string(body))
	// Output:
	// events.examples-ready.penguin.2026-11-21=20morning.example-gen-17
	// dev.stoker.examples.ready.v1 2026-11-21%20morning
	// {"examples":[{"uri":"s3://tfx/penguin/examples/17"}]}
}

// Both content modes are read; the error names the invalid field.
func ExampleDecode() {
	body := []byte(`{"specversion": "1.0", "type": "dev.stoker.examples.ready.v1", "id": "1", "source": "/gen",
		"subject": "penguin", "run": 7, "data": {"examples": [{"uri": "s3://tfx/penguin"}, {"uri": "/home/me/penguin"}]}}`)
	_, err := events.Decode(map[string][]string{"Content-Type": {"application/cloudevents+json"}}, body)
	fmt.Println(err)
	// Output:
	// data.examples[1].uri: expected an address s3://bucket/key (bucket: 3 to 63 of a-z, 0-9, . and -; no empty, "." or ".." element; no control characters), got "/home/me/penguin"
}

func ExampleEscape() {
	token := events.Escape("nightly build #3.1")
	text, err := events.Unescape(token)
	fmt.Println(token, "stands for", text, err)
	// Output: nightly=20build=20=233=2E1 stands for nightly build #3.1 <nil>
}

func ExampleEventFilters() {
	fmt.Println(events.EventFilters(events.Query{Kinds: []events.Kind{events.KindModelTrained}, Pipeline: "penguin"}))
	// Output: [events.model-trained.penguin.>]
}

func ExampleFail() {
	err := events.Fail(events.FailureInput, fmt.Errorf("stage examples: %w", events.ErrNotFound))
	fmt.Println(err)
	// Output: stage examples: not found
}

// An event is checked before it is published: the error names the field.
func ExampleEvent_Validate() {
	event := events.Event{ID: "bless-17", Source: "/tfx/evaluator", Pipeline: "penguin", Run: "17", Data: &events.ModelBlessed{Model: "s3://artifacts/penguin/model"}}
	fmt.Println(event.Validate())
	blessed := true
	event.Data = &events.ModelBlessed{Model: "s3://artifacts/penguin/model", Blessed: &blessed}
	fmt.Println(event.Validate())
	// Output:
	// data.blessed: missing, expected true or false
	// <nil>
}

// A job is one unit of work. Its message is read back by the worker that claims it.
func ExampleDecodeJob() {
	body, err := json.Marshal(events.Job{
		ID: "5f3a", Function: events.FunctionTrain, Class: "gpu", Pipeline: "penguin", Run: "17", Spec: []byte(`{}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/tfx/example-gen", ID: "example-gen-17", Sequence: 1}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	job, err := events.DecodeJob(body)
	fmt.Println(events.JobSubject(job), err)

	_, err = events.DecodeJob([]byte(`{"id": "5f3a", "function": "train", "class": "GPU"}`))
	fmt.Println(err)
	// Output:
	// jobs.train.gpu.5f3a <nil>
	// class: expected 1 to 21 characters of a-z, 0-9 and -, beginning and ending with a letter or digit, got "GPU"
}

// A lease is only replaced by compare-and-swap. An attempt whose lease another one has taken over
// counts as lost.
func ExampleLease() {
	var lease events.Lease
	lease = lease.Taken("attempt-1").Renewed().Renewed()
	fmt.Println(lease.Holder, "has sent", lease.Heartbeats, "heartbeats")

	lease = lease.Taken("attempt-2") // the worker of attempt-1 has died
	attempt := lease.Attempt()
	fmt.Println("number", attempt.Number, "lost", attempt.Lost)

	lease = lease.Released(events.FailureModule, "the module raised")
	fmt.Printf("holder %q, failures %v\n", lease.Holder, lease.Failures)
	// Output:
	// attempt-1 has sent 2 heartbeats
	// number 2 lost 1
	// holder "", failures map[module:1 unavailable:1]
}

// A worker relies on its lease until a margin before the end, and renews it several times before.
func ExampleLeaseTerms() {
	terms := events.LeaseTerms{Length: 30 * time.Second, Margin: 3 * time.Second}
	sent := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	fmt.Println("heartbeat every", terms.HeartbeatInterval(), "provable until", terms.Until(sent).Format(time.TimeOnly))
	// Output: heartbeat every 10s provable until 09:00:27
}

// A message that can never be handled is kept with the reason. The size of one message limits it.
func ExampleDeadLetter() {
	letter := events.DeadLetter{
		Message: events.Message{Stream: events.StreamEvents, Sequence: 7, Subject: "events.examples-ready.penguin.17.x", Body: []byte("not JSON")},
		Reason:  events.DeadReason{Kind: events.FailureInput, Message: "data: expected an object", Field: "data"},
	}
	text, err := letter.Encode(events.RequestBytes)
	if err != nil {
		fmt.Println(err)
		return
	}
	var again events.DeadLetter
	if err := json.Unmarshal(text, &again); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s of message %d: %s\n%s\n", again.Reason.Kind, again.Message.Sequence, again.Reason.Message, again.Message.Body)
	// Output:
	// input of message 7: data: expected an object
	// not JSON
}

// The kind of a failure is found in a chain of errors. It decides whether a job is retried.
func ExampleAsKind() {
	err := fmt.Errorf("train: %w", events.Fail(events.FailureCrash, errors.New("killed by signal 11")))
	failure, ok := events.AsKind(err, events.FailureCrash)
	fmt.Println(failure.Kind, "-", failure.Err, ok)
	_, ok = events.AsKind(err, events.FailureInput)
	fmt.Println(ok)
	// Output:
	// crash - killed by signal 11 true
	// false
}

// The files of a split are those in its folder, unless the artifact names a pattern of its own.
func ExampleExamples_Files() {
	for _, artifact := range []events.Examples{
		{URI: "s3://tfx/penguin/17"},
		{URI: "s3://spark/penguin", CustomSplitPattern: map[string]string{"train": "out/train-*"}},
	} {
		folder, pattern := artifact.Files("train")
		fmt.Printf("%q %q\n", folder, pattern)
	}
	// Output:
	// "Split-train" ""
	// "out" "train-*"
}

func ExampleParseEventSubject() {
	pipeline, run, ok := events.ParseEventSubject("events.examples-ready.penguin.2026-11-21=20morning.example-gen-17")
	fmt.Printf("%s %q %v\n", pipeline, run, ok)
	// Output: penguin "2026-11-21 morning" true
}

// The schema of each kind of event is generated from its Go type.
func ExampleSchema() {
	var schema struct {
		Required []string `json:"required"`
	}
	for _, kind := range []events.Kind{events.KindExamplesReady, events.KindModelTrained} {
		if err := json.Unmarshal(events.Schema(kind), &schema); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(kind.Type(), schema.Required)
	}
	// Output:
	// dev.stoker.examples.ready.v1 [examples]
	// dev.stoker.model.trained.v1 [model execution inputs module]
}
