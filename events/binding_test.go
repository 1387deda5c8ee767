package events

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEventsComeBackInBothContentModes(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		want := sampleEvent(kind)
		for mode, encode := range map[string]func(Event) (map[string][]string, []byte, error){"binary": Encode, "structured": EncodeStructured} {
			header, body, err := encode(want)
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, mode, err)
			}
			got, err := Decode(header, body)
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, mode, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", kind, mode, diff)
			}
		}
	}
}

func TestBinaryModeIsPlainASCIIInHeaders(t *testing.T) {
	t.Parallel()
	header, _, err := Encode(sampleEvent(KindExamplesReady))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"ce-specversion": "1.0", "ce-type": "dev.stoker.examples.ready.v1", "ce-id": "id-1", "ce-source": "/upstream/gen", "ce-subject": "penguin",
		"ce-run": "2026-11-21T10:00%20%C3%A4%25", "ce-time": "2026-11-21T10:00:00.123Z", "ce-causationid": "id-0",
		"ce-traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "ce-datacontenttype": "application/json",
	}
	if diff := cmp.Diff(want, lowerCase(header)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// binaryHeader returns the header of a valid message; change modifies it.
func binaryHeader(change func(header map[string][]string)) map[string][]string {
	header := map[string][]string{
		"ce-specversion": {"1.0"}, "ce-type": {"dev.stoker.examples.ready.v1"}, "ce-id": {"1"}, "ce-source": {"/gen"}, "ce-subject": {"penguin"}, "ce-run": {"r"},
	}
	change(header)
	return header
}

const examplesBody = `{"examples":[{"uri":"s3://abc/x"}]}`

func TestShapesThatOtherImplementationsSend(t *testing.T) {
	t.Parallel()
	structured := func(extra string) string {
		return `{"specversion":"1.0","type":"dev.stoker.examples.ready.v1","id":"1","source":"/gen","subject":"penguin","run":"r"` + extra + `}`
	}
	data := `,"data":` + examplesBody
	unknown := map[string]map[string]string{ // passed on
		"binary, with an unknown extension":       {"priority": "7"},
		"structured, integer and null extensions": {"attempt": "3", "urgent": "true"},
	}
	for name, c := range map[string]struct {
		header map[string][]string
		body   string
	}{
		"binary, names that no attribute has": {binaryHeader(func(h map[string][]string) {
			h["ce-"], h["ce-a_b"], h["ce-data"] = []string{"1"}, []string{"2"}, []string{"3"}
		}), examplesBody},
		"structured, names in other case":    {nil, structured(data + `,"Run":"s","":"x"`)},
		"binary to the letter":               {binaryHeader(func(map[string][]string) {}), examplesBody},
		"header names in other case":         {map[string][]string{"Ce-Specversion": {"1.0"}, "CE-TYPE": {"dev.stoker.examples.ready.v1"}, "cE-iD": {"1"}, "CE-Source": {"/gen"}, "Ce-Subject": {"penguin"}, "Ce-Run": {"r"}}, examplesBody},
		"HTTP binary, with its content type": {binaryHeader(func(h map[string][]string) { h["content-type"] = []string{"application/json"} }), examplesBody},
		"datacontenttype over content type": {binaryHeader(func(h map[string][]string) {
			h["content-type"], h["ce-datacontenttype"] = []string{"text/plain"}, []string{"application/json"}
		}), examplesBody},
		"binary, with an unknown extension":       {binaryHeader(func(h map[string][]string) { h["ce-priority"] = []string{"7"} }), examplesBody},
		"structured":                              {map[string][]string{"Content-Type": {"application/cloudevents+json"}}, structured(data)},
		"structured, with parameters, odd case":   {map[string][]string{"content-TYPE": {"Application/CloudEvents+JSON; charset=UTF-8"}}, structured(data)},
		"structured, short media type":            {map[string][]string{"Content-Type": {"application/cloudevents+json"}}, structured(data + `,"datacontenttype":"application/json"`)},
		"structured without any header (sdk-go)":  {nil, " \n" + structured(data)},
		"structured, with an odd header":          {map[string][]string{"Nats-Msg-Id": {"1"}}, structured(data)},
		"structured, data in base64":              {nil, structured(`,"data_base64":"` + base64.StdEncoding.EncodeToString([]byte(examplesBody)) + `"`)},
		"structured, integer and null extensions": {nil, structured(data + `,"attempt":3,"urgent":true,"causationid":null`)},
	} {
		got, err := Decode(c.header, []byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := Event{ID: "1", Source: "/gen", Pipeline: "penguin", Run: "r", Extensions: unknown[name], Data: &ExamplesReady{Examples: []Examples{{URI: "s3://abc/x"}}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRunsAreStringsWhateverTheyWere(t *testing.T) {
	t.Parallel()
	event, err := Decode(nil, []byte(`{"specversion":"1.0","type":"dev.stoker.examples.ready.v1","id":"1","source":"/gen","subject":"penguin","run":42,"data":`+examplesBody+`}`))
	if err != nil || event.Run != "42" {
		t.Errorf("got run %q, %v, want 42", event.Run, err)
	}
}

func TestPercentDecodingLeavesWhatIsNoEscape(t *testing.T) {
	t.Parallel()
	for encoded, want := range map[string]string{
		"a%20b": "a b", "%C3%A4": "ä", "%c3%a4": "ä", "100%": "100%", "%zz": "%zz", "%2": "%2", "%%20": "% ", "%+1": "%+1", "": "",
	} {
		if got := percentDecode(encoded); got != want {
			t.Errorf("%q becomes %q, want %q", encoded, got, want)
		}
	}
}

func TestBadMessagesNameTheAttribute(t *testing.T) {
	t.Parallel()
	without := func(name string) map[string][]string {
		return binaryHeader(func(h map[string][]string) { delete(h, name) })
	}
	with := func(name, value string) map[string][]string {
		return binaryHeader(func(h map[string][]string) { h[name] = []string{value} })
	}
	for name, c := range map[string]struct {
		header map[string][]string
		body   string
		field  string
	}{
		"no type":               {without("ce-type"), examplesBody, "type"},
		"another's type":        {with("ce-type", "com.example.order.v1"), examplesBody, "type"},
		"a later version":       {with("ce-type", "dev.stoker.examples.ready.v2"), examplesBody, "type"},
		"a kind there is not":   {with("ce-type", "dev.stoker.examples.v1"), examplesBody, "type"},
		"old CloudEvents":       {with("ce-specversion", "0.3"), examplesBody, "specversion"},
		"no id":                 {without("ce-id"), examplesBody, "id"},
		"no source":             {without("ce-source"), examplesBody, "source"},
		"source no URI":         {with("ce-source", "%3A//x"), examplesBody, "source"},
		"no subject":            {without("ce-subject"), examplesBody, "subject"},
		"subject no name":       {with("ce-subject", "Pen.guin"), examplesBody, "subject"},
		"no run":                {without("ce-run"), examplesBody, "run"},
		"empty run":             {with("ce-run", ""), examplesBody, "run"},
		"long run":              {with("ce-run", strings.Repeat("r", 257)), examplesBody, "run"},
		"run with control":      {with("ce-run", "a%00b"), examplesBody, "run"},
		"run no UTF-8":          {with("ce-run", "%FF"), examplesBody, "run"},
		"bad time":              {with("ce-time", "yesterday"), examplesBody, "time"},
		"no JSON":               {with("ce-datacontenttype", "application/x-protobuf"), examplesBody, "datacontenttype"},
		"content type no JSON":  {with("content-type", "text/plain"), examplesBody, "datacontenttype"},
		"no data":               {binaryHeader(func(map[string][]string) {}), ``, "data"},
		"null data":             {binaryHeader(func(map[string][]string) {}), `null`, "data"},
		"cut off data":          {binaryHeader(func(map[string][]string) {}), examplesBody[:9], "data"},
		"batch":                 {map[string][]string{"Content-Type": {"application/cloudevents-batch+json"}}, `[]`, "Content-Type"},
		"batch in other case":   {map[string][]string{"content-type": {"Application/CloudEvents-Batch+JSON"}}, `[]`, "Content-Type"},
		"batch without headers": {nil, "\n [{}]", ""},
		"structured protobuf":   {map[string][]string{"Content-Type": {"application/cloudevents+protobuf"}}, `{}`, "Content-Type"},
		"no event at all":       {nil, `hello`, ""},
		"nothing":               {nil, ``, ""},
		"structured, empty":     {nil, `{}`, "specversion"},
		"run no string":         {nil, `{"specversion":"1.0","run":{"a":1}}`, "run"},
		"both data":             {nil, `{"specversion":"1.0","data":{},"data_base64":""}`, "data_base64"},
		"bad base64":            {nil, `{"specversion":"1.0","data_base64":"*"}`, "data_base64"},
	} {
		_, err := Decode(c.header, []byte(c.body))
		wantInvalid(t, name, err, c.field)
	}
}

func TestWhatStokerWritesNeedsNoEncoding(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*Event){
		"id":          func(f *Event) { f.ID = "50%" },
		"source":      func(f *Event) { f.Source = "/a b" },
		"causationid": func(f *Event) { f.Causation = `"1"` },
		"traceparent": func(f *Event) { f.Trace = "ä" },
	} {
		event := sampleEvent(KindExamplesReady)
		change(&event)
		_, _, err := Encode(event)
		wantInvalid(t, field, err, field)
		if err := event.Validate(); err != nil {
			t.Errorf("%s: CloudEvents allows it, so a reader must: %v", field, err)
		}
	}
	_, _, err := Encode(Event{ID: "1", Source: "/s", Pipeline: "p", Run: "r"})
	wantInvalid(t, "no data", err, "data")
}

func FuzzDecode(f *testing.F) {
	for _, kind := range Kinds() {
		for _, encode := range []func(Event) (map[string][]string, []byte, error){Encode, EncodeStructured} {
			header, body, err := encode(sampleEvent(kind))
			if err != nil {
				f.Fatal(err)
			}
			fields := lowerCase(header)
			f.Add(fields["content-type"], fields["ce-type"], fields["ce-run"], "/gen", body)
		}
	}
	f.Add("application/cloudevents-batch+json", "", "", "", []byte("[]"))
	f.Add("", "dev.stoker.examples.ready.v1", "%zz", "HTTP://x/a b%25#ä", []byte(`{"examples":[{"uri":3}]}`))
	f.Fuzz(func(t *testing.T, media, kind, run, source string, body []byte) {
		header := map[string][]string{"Content-Type": {media}}
		if kind != "" {
			maps.Copy(header, map[string][]string{"ce-specversion": {"1.0"}, "ce-type": {kind}, "ce-run": {run}, "ce-id": {"1"}, "ce-source": {source}, "ce-subject": {"p"}, "ce-extra": {source}})
		}
		event, err := Decode(header, body)
		if err != nil {
			if invalid, ok := err.(*Invalid); !ok || invalid.Error() == "" {
				t.Fatalf("got %T %v, want an *Invalid", err, err)
			}
			return
		}
		if err := event.Validate(); err != nil {
			t.Fatalf("decoded, but not valid: %v", err)
		}
		comesBack(t, event)
	})
}

// comesBack checks that a written event is read back equal. Times are written with nanoseconds in
// UTC; JSON does not distinguish an empty list from a missing one.
func comesBack(t *testing.T, event Event) {
	t.Helper()
	header, body, err := Encode(event)
	if err != nil {
		return // it holds values that only readers accept
	}
	again, err := Decode(header, body)
	if err != nil {
		t.Fatalf("written, but not read: %v", err)
	}
	before, err := json.Marshal(event.Data)
	if err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(again.Data)
	if err != nil {
		t.Fatal(err)
	}
	event.Data, again.Data = nil, nil
	if diff := cmp.Diff(event, again, cmp.Comparer(time.Time.Equal)); diff != "" || string(before) != string(after) {
		t.Errorf("(-before +after):\n%s\n%s\n%s", diff, before, after)
	}
}
