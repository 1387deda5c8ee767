package events

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// asyncAPI describes the bus in AsyncAPI 3. Channels are NATS subjects; payloads are the schemas
// next to the document.
func asyncAPI(t *testing.T) []byte {
	t.Helper()
	channels, operations, messages := yaml.MapSlice{}, yaml.MapSlice{}, yaml.MapSlice{}
	for _, kind := range Kinds() {
		name := newDataName(kind)
		messages = append(messages, item(name, append(eventMessage(kind, name), exampleOf(t, kind)...)))
		channels = append(channels, item(name, eventChannel(kind, name)))
		action := "send"
		if slices.Contains(PublishedBy(ByUpstream), kind) {
			action = "receive"
		}
		operations = append(operations, item(action+name, operation(action, name)))
	}
	channels, messages = others(channels, messages)
	for _, name := range []string{"Job", "DeadLetter", "Progress", "Worker"} {
		operations = append(operations, item("send"+name, operation("send", name)))
	}
	text, err := yaml.MarshalWithOptions(yaml.MapSlice{
		item("asyncapi", "3.0.0"),
		item("info", yaml.MapSlice{
			item("title", "Stoker"),
			item("version", "1.0.0"),
			item("description", "What Stoker reads and publishes on NATS JetStream. Events are CloudEvents 1.0 by the CloudEvents NATS protocol binding: "+
				"binary mode is written; binary and structured mode are read. In a subject, letters, digits, _, - and / stand for themselves; "+
				"every other byte is written as = and two hexadecimal digits (upper case)."),
			item("license", yaml.MapSlice{item("name", "Apache-2.0")}),
		}),
		item("defaultContentType", "application/json"),
		item("channels", channels),
		item("operations", operations),
		item("components", yaml.MapSlice{item("messages", messages)}),
	}, yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("# Made from the Go types by `go generate ./events`.\n"), text...)
}

func item(key string, value any) yaml.MapItem { return yaml.MapItem{Key: key, Value: value} }

func ref(to string) yaml.MapSlice { return yaml.MapSlice{item("$ref", to)} }

func eventChannel(kind Kind, name string) yaml.MapSlice {
	return channel(eventToken+"."+kindToken(kind)+".{pipeline}.{run}.{id}", name, "pipeline", "run", "id")
}

func channel(address, message string, parameters ...string) yaml.MapSlice {
	described := yaml.MapSlice{}
	for _, name := range parameters {
		described = append(described, item(name, yaml.MapSlice{item("description", parameterText()[name])}))
	}
	return yaml.MapSlice{
		item("address", address),
		item("messages", yaml.MapSlice{item(message, ref("#/components/messages/"+message))}),
		item("parameters", described),
	}
}

func parameterText() map[string]string {
	return map[string]string{
		"pipeline": "The CloudEvents subject: a pipeline's name.",
		"run":      "The run key, escaped; the extension attribute run.",
		"id":       "The CloudEvents id, escaped. Publish with the header Nats-Expected-Last-Subject-Sequence: 0, and the bus holds each event once: a second publication is refused with err_code 10071 (10164 by replicated streams). Don't set Nats-Msg-Id: publishers with equal ids drop each other's events. A publisher may leave this token out, and its event may be there twice.",
		"function": "train, tune or trial.",
		"class":    "The resource class: cpu, gpu, ...",
		"job":      "The job's id.",
		"worker":   "The worker's id: of the process, new after each start.",
		"stream":   "The stream that the message was taken from.",
		"sequence": "The message's sequence there.",
		"digest":   "Of the message's subject, time and body: a stream that was made again has its sequences again.",
	}
}

func eventMessage(kind Kind, name string) yaml.MapSlice {
	required := []string{"ce-specversion", "ce-type", "ce-id", "ce-source", "ce-subject", "ce-run"}
	properties := yaml.MapSlice{
		item("ce-specversion", yaml.MapSlice{item("const", specVersion)}),
		item("ce-type", yaml.MapSlice{item("const", kind.Type())}),
		item("ce-id", text("Unique with ce-source.")),
		item("ce-source", text("URI reference of the publisher.")),
		item("ce-subject", yaml.MapSlice{item("type", "string"), item("pattern", namePattern), item("maxLength", maxName)}),
		item("ce-run", text(fmt.Sprintf("The key on which events are joined: 1 to %d bytes of UTF-8, percent-encoded.", maxRun))),
		item("ce-time", yaml.MapSlice{item("type", "string"), item("format", "date-time")}),
		item("ce-causationid", text("Id of the event that led here.")),
		item("ce-traceparent", text("W3C trace context.")),
		item("ce-tracestate", text("W3C trace context: what tracing systems add.")),
		item("ce-datacontenttype", yaml.MapSlice{item("const", "application/json")}),
	}
	return yaml.MapSlice{
		item("name", kind.Type()),
		item("contentType", "application/json"),
		item("headers", yaml.MapSlice{item("type", "object"), item("required", required), item("properties", properties)}),
		item("payload", ref("./"+string(kind)+".v1.json")),
	}
}

// exampleOf returns an event of examples or of a transform graph as upstream publishes it, with
// more than the required members.
func exampleOf(t *testing.T, kind Kind) yaml.MapSlice {
	t.Helper()
	examples := []Examples{{URI: "s3://tfx/penguin/examples/17", Splits: []string{"train", "eval"}}}
	var event Event
	var name, summary string
	switch kind {
	case KindExamplesReady:
		name, summary = "again", "Examples are ready. Train on them even if the same was trained before."
		event = Event{ID: "example-gen-17", Source: "/tfx/example-gen", Data: &ExamplesReady{Examples: examples, Request: Request{Force: true}}}
	case KindTransformReady:
		name, summary = "whole", "A transform graph is ready, with the examples before and after it and with their statistics."
		event = Event{ID: "transform-17", Source: "/tfx/transform", Data: &TransformReady{
			TransformGraph: "s3://tfx/penguin/transform_graph/17", Examples: examples, Statistics: "s3://tfx/penguin/statistics/17",
			TransformedExamples: []Examples{{URI: "s3://tfx/penguin/transformed_examples/17", Splits: []string{"train", "eval"}}},
		}}
	default:
		return nil
	}
	event.Pipeline, event.Run = "penguin", "2026-11-21"
	header, body, err := Encode(event)
	if err != nil {
		t.Fatal(err)
	}
	headers := yaml.MapSlice{}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		headers = append(headers, item(name, header[name][0]))
	}
	var payload map[string]any
	if err := json.Unmarshal(body, &payload); err != nil {
		t.Fatal(err)
	}
	return yaml.MapSlice{item("examples", []any{yaml.MapSlice{
		item("name", name),
		item("summary", summary),
		item("headers", headers),
		item("payload", payload),
	}})}
}

// The examples are read like a publisher's message.
func TestTheExamplesOfAsyncAPIAreEvents(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct {
			Messages map[string]struct {
				Examples []struct {
					Headers map[string]string `yaml:"headers"`
					Payload map[string]any    `yaml:"payload"`
				} `yaml:"examples"`
			} `yaml:"messages"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(AsyncAPI(), &document); err != nil {
		t.Fatal(err)
	}
	forced := 0
	for name, message := range document.Components.Messages {
		for _, example := range message.Examples {
			header := map[string][]string{}
			for key, value := range example.Headers {
				header[key] = []string{value}
			}
			body, err := json.Marshal(example.Payload)
			if err != nil {
				t.Fatal(err)
			}
			event, err := Decode(header, body)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if RequestOf(event.Data).Force {
				forced++
			}
		}
	}
	if forced == 0 {
		t.Error("no example asks for force")
	}
}

func text(description string) yaml.MapSlice {
	return yaml.MapSlice{item("type", "string"), item("description", description)}
}

// others adds the channels of the bus that carry no events.
func others(channels, messages yaml.MapSlice) (yaml.MapSlice, yaml.MapSlice) {
	channels = append(channels,
		item("Job", channel(jobToken+".{function}.{class}.{job}", "Job", "function", "class", "job")),
		item("DeadLetter", channel(deadToken+".{stream}.{sequence}.{digest}", "DeadLetter", "stream", "sequence", "digest")),
		item("Progress", channel(progressToken+".{pipeline}.{run}.{job}", "Progress", "pipeline", "run", "job")),
		item("Worker", channel(workerToken+".{class}.{worker}", "Worker", "class", "worker")),
	)
	messages = append(messages,
		item("Job", yaml.MapSlice{item("payload", ref("./job.v1.json"))}),
		item("DeadLetter", yaml.MapSlice{item("payload", ref("./dead-letter.v1.json"))}),
		item("Progress", yaml.MapSlice{item("payload", yaml.MapSlice{item("type", "object")})}),
		item("Worker", yaml.MapSlice{item("summary", "The heartbeat of a worker. The last of each is kept for two minutes."),
			item("payload", yaml.MapSlice{item("type", "object"), item("required", []string{"id", "host", "functions", "classes", "slots", "version", "started", "beat"})})}),
	)
	return channels, messages
}

func operation(action, name string) yaml.MapSlice {
	return yaml.MapSlice{
		item("action", action),
		item("channel", ref("#/channels/"+name)),
		item("messages", []any{ref("#/channels/" + name + "/messages/" + name)}),
	}
}

func TestAsyncAPIRefersOnlyToWhatIsThere(t *testing.T) {
	t.Parallel()
	var document map[string]any
	if err := yaml.Unmarshal(AsyncAPI(), &document); err != nil {
		t.Fatal(err)
	}
	for _, to := range refs(document) {
		if file, ok := strings.CutPrefix(to, "./"); ok {
			if readSchema("schema/"+file) == nil {
				t.Errorf("%s is not there", to)
			}
			continue
		}
		var at any = document
		for _, step := range strings.Split(strings.TrimPrefix(to, "#/"), "/") {
			at, _ = at.(map[string]any)[step]
		}
		if at == nil {
			t.Errorf("%s is not there", to)
		}
	}
}

func refs(node any) (found []string) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if to, ok := value.(string); ok && key == "$ref" {
				found = append(found, to)
			}
			found = append(found, refs(value)...)
		}
	case []any:
		for _, value := range node {
			found = append(found, refs(value)...)
		}
	}
	return found
}

// The address of dead letters is that of DeadSubject.
func TestTheAddressOfDeadLettersIsTheirSubject(t *testing.T) {
	t.Parallel()
	var api struct {
		Channels map[string]struct {
			Address string `yaml:"address"`
		} `yaml:"channels"`
	}
	if err := yaml.Unmarshal(AsyncAPI(), &api); err != nil {
		t.Fatal(err)
	}
	address, subject := api.Channels["DeadLetter"].Address, DeadSubject(Message{Stream: StreamJobs, Sequence: 7})
	if strings.Count(address, ".") != strings.Count(subject, ".") || !strings.HasPrefix(address, deadToken+".") {
		t.Errorf("%s is none of %s", subject, address)
	}
}
