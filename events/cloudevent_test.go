package events

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/binding/format"
	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"
)

func TestEventsComeBackFromTheSDKsType(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		want := sampleEvent(kind)
		cloud, err := want.CloudEvent()
		if err != nil {
			t.Fatal(err)
		}
		if err := cloud.Validate(); err != nil {
			t.Errorf("%s: the SDK says: %v", kind, err)
		}
		got, err := FromCloudEvent(cloud)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestTheSDKReadsWhatWeWriteStructured(t *testing.T) {
	t.Parallel()
	want := sampleEvent(KindModelTrained)
	_, body, err := EncodeStructured(want)
	if err != nil {
		t.Fatal(err)
	}
	var cloud cloudevents.Event
	if err := format.JSON.Unmarshal(body, &cloud); err != nil {
		t.Fatal(err)
	}
	got, err := FromCloudEvent(cloud)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWeReadWhatTheSDKWritesStructured(t *testing.T) {
	t.Parallel()
	want := sampleEvent(KindTransformReady)
	cloud, err := want.CloudEvent()
	want.Extensions = map[string]string{"attempt": "3"}
	if err != nil {
		t.Fatal(err)
	}
	cloud.SetExtension("attempt", 3)
	body, err := format.JSON.Marshal(&cloud)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEventsOfTheSDKThatAreNoEventsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := FromCloudEvent(cloudevents.Event{})
	wantInvalid(t, "empty", err, "specversion")
	_, err = FromCloudEvent(cloudevents.New("0.3"))
	wantInvalid(t, "old", err, "specversion")
	other := cloudevents.New()
	other.SetType("com.example.other")
	_, err = FromCloudEvent(other)
	wantInvalid(t, "another's", err, "type")
}

// Extensions of other systems are kept when an event is written again.
func TestExtensionsAreCarriedThrough(t *testing.T) {
	t.Parallel()
	want := sampleEvent(KindExamplesReady)
	want.Extensions = map[string]string{"partitionkey": "a b", "dataref": "s3://abc/ä", "sequence": "7"}
	header, body, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := Decode(header, body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := want.JSON()
	if err != nil {
		t.Fatal(err)
	}
	structured, err := Decode(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	for mode, got := range map[string]Event{"binary": binary, "structured": structured} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
}

func TestExtensionsAreBounded(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprintf("e%d", i)] = "x"
	}
	for name, c := range map[string]struct {
		extensions map[string]string
		field      string
	}{
		"too many":               {many, "extensions"},
		"a long name":            {map[string]string{strings.Repeat("e", 64): "x"}, "extensions"},
		"no name":                {map[string]string{"": "x"}, "extensions"},
		"a name with a dash":     {map[string]string{"a-b": "x"}, "extensions"},
		"an attribute":           {map[string]string{"id": "x"}, "extensions"},
		"data":                   {map[string]string{"data": "x"}, "extensions"},
		"one with a field":       {map[string]string{"run": "x"}, "extensions"},
		"a long value":           {map[string]string{"e": strings.Repeat("x", 4097)}, "e"},
		"a control character":    {map[string]string{"e": "a\nb"}, "e"},
		"an empty value":         {map[string]string{"e": ""}, "e"},
		"a value that's no text": {map[string]string{"e": "\xff"}, "e"},
	} {
		event := sampleEvent(KindExamplesReady)
		event.Extensions = c.extensions
		_, _, err := Encode(event)
		wantInvalid(t, name, err, c.field)
	}
	header := binaryHeader(func(h map[string][]string) { h["ce-e"] = []string{strings.Repeat("x", 4097)} })
	_, err := Decode(header, []byte(examplesBody))
	wantInvalid(t, "read", err, "e")
}

// The SDK keeps a source as a parsed URI: two spellings of one URI are one source.
func TestSourcesAreWrittenInTheirNormalForm(t *testing.T) {
	t.Parallel()
	event := sampleEvent(KindExamplesReady)
	event.Source = "HTTP://example.com/gen"
	_, _, err := Encode(event)
	wantInvalid(t, "scheme", err, "source")
	got, err := Decode(binaryHeader(func(h map[string][]string) { h["ce-source"] = []string{"HTTP://example.com/gen"} }), []byte(examplesBody))
	if err != nil || got.Source != "http://example.com/gen" {
		t.Errorf("got source %q, %v", got.Source, err)
	}
}

// The SDK's setters trim spaces, which would make two ids equal.
func TestSpacesBelongToAnID(t *testing.T) {
	t.Parallel()
	got, err := Decode(binaryHeader(func(h map[string][]string) { h["ce-id"] = []string{" 1"} }), []byte(examplesBody))
	if err != nil || got.ID != " 1" {
		t.Errorf("got id %q, %v", got.ID, err)
	}
	_, err = Decode(binaryHeader(func(h map[string][]string) { h["ce-id"] = []string{"  "} }), []byte(examplesBody))
	wantInvalid(t, "spaces alone", err, "id")
}

// These make the SDK's own readers panic, or read a part of an event as the whole.
func TestEventsThatTheSDKCannotReadAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, field string }{
		"base64 that is a number":    {`{"specversion":"1.0","data_base64":1}`, "data_base64"},
		"an id behind an empty name": {`{"specversion":"1.0","type":"dev.stoker.examples.ready.v1","":"","source":"/gen"}`, "data"},
		"more behind the event":      {`{"specversion":"1.0"} {}`, ""},
	} {
		_, err := Decode(nil, []byte(c.body))
		wantInvalid(t, name, err, c.field)
	}
}

// The attributes of HTTP are percent-encoded like those of NATS; the SDK writes and reads them
// without encoding.
func TestMessagesOfTheSDKsHTTPBindingAreRead(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	for name, value := range map[string]string{
		"specversion": "1.0", "type": "dev.stoker.examples.ready.v1", "id": "1", "source": "/gen", "subject": "penguin", "run": "50%25 %C3%A4", "priority": "7",
	} {
		header.Set("ce-"+name, value)
	}
	header.Set("Content-Type", "application/json")
	want := Event{
		ID: "1", Source: "/gen", Pipeline: "penguin", Run: "50% ä", Extensions: map[string]string{"priority": "7"},
		Data: &ExamplesReady{Examples: []Examples{{URI: "s3://abc/x"}}},
	}
	got, err := DecodeMessage(cehttp.NewMessage(header, io.NopCloser(strings.NewReader(examplesBody))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = DecodeMessage(cehttp.NewMessage(http.Header{}, io.NopCloser(strings.NewReader(examplesBody))))
	wantInvalid(t, "no event", err, "specversion")
	batch := http.Header{"Content-Type": {"application/cloudevents-batch+json"}}
	_, err = DecodeMessage(cehttp.NewMessage(batch, io.NopCloser(strings.NewReader("[]"))))
	wantInvalid(t, "batch", err, "specversion")
}
