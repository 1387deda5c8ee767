package events_test

import (
	"fmt"

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
