package endpoint_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/integrate/bridge/endpoint"
)

const token = "a-token-of-some-length"

// world is an endpoint with an in-memory bus.
type world struct {
	*testing.T
	log     endpoint.Log
	memory  *bustest.Memory
	handler http.Handler
}

func setup(t *testing.T, change func(*endpoint.Options, *world)) world {
	t.Helper()
	w := world{T: t, memory: bustest.NewMemory(time.Second)}
	w.log = w.memory
	opts := endpoint.Options{Token: func() string { return token }}
	if change != nil {
		change(&opts, &w)
	}
	e, err := endpoint.New(w.log, opts)
	if err != nil {
		t.Fatal(err)
	}
	w.handler = e
	return w
}

const data = `{"examples":[{"uri":"s3://data/penguin/monday"}]}`

// structured returns an event with more members, which replace those of the same name.
func structured(id string, members ...string) string {
	all := map[string]any{
		"specversion": "1.0", "type": "dev.stoker.examples.ready.v1", "id": id, "source": "/etl", "subject": "penguin", "run": "monday", "data": json.RawMessage(data),
	}
	for i := 0; i < len(members); i += 2 {
		if delete(all, members[i]); members[i+1] != "" {
			all[members[i]] = json.RawMessage(members[i+1])
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

const (
	jsonType  = "application/cloudevents+json"
	batchType = "application/cloudevents-batch+json"
)

// post sends a request with the token. Headers are pairs.
func (w world) post(body string, headers ...string) *http.Response {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.do(r)
}

func (w world) do(r *http.Request) *http.Response {
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	return recorder.Result()
}

// problem is the body of an error.
type problem struct {
	Title, Detail  string
	Status, Stored int
	Errors         []struct {
		Index             int
		ID, Field, Detail string
	}
}

func (w world) wantProblem(name string, r *http.Response, status int, field string) problem {
	w.Helper()
	var p problem
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, json.Unmarshal(body, &p)); err != nil {
		w.Errorf("%s: %d %q: %v", name, r.StatusCode, body, err)
	}
	if r.StatusCode != status || p.Status != status || p.Title == "" || r.Header.Get("Content-Type") != "application/problem+json" {
		w.Errorf("%s: %d %+v, want %d", name, r.StatusCode, p, status)
	}
	if field != "" && (len(p.Errors) == 0 || p.Errors[0].Field != field || !strings.Contains(p.Detail, field)) {
		w.Errorf("%s: %+v, want field %s", name, p, field)
	}
	return p
}

func (w world) events() (all []events.Event) {
	w.Helper()
	for recorded, err := range w.memory.Read(w.Context(), events.Query{}) {
		if err = errors.Join(err, recorded.Err); err != nil {
			w.Fatal(err)
		}
		all = append(all, recorded.Event)
	}
	return all
}

func (w world) wantIDs(name string, want ...string) {
	w.Helper()
	var got []string
	for _, f := range w.events() {
		got = append(got, f.ID)
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s: stored %q, want %q", name, got, want)
	}
}

func wantStored(w world, name string, r *http.Response) {
	w.Helper()
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusAccepted || len(body) > 0 {
		w.Errorf("%s: %d %q, want 202 and no body, which Knative refuses", name, r.StatusCode, body)
	}
}

var binaryHeaders = []string{
	"ce-specversion", "1.0", "ce-type", "dev.stoker.examples.ready.v1", "ce-id", "1", "ce-source", "/etl", "ce-subject", "penguin", "ce-run", "monday 50%25",
	"ce-partitionkey", "k", "Content-Type", "application/json",
}

func TestEventsAreStoredInEachContentMode(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	want := events.Event{ID: "1", Source: "/etl", Pipeline: "penguin", Run: "monday", Trace: parent,
		Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://data/penguin/monday"}}}}
	w := setup(t, nil)
	wantStored(w, "structured", w.post(structured("1"), "Content-Type", jsonType+"; charset=utf-8", "traceparent", parent))
	wantStored(w, "again", w.post(structured("1"), "Content-Type", jsonType))
	if diff := cmp.Diff([]events.Event{want}, w.events()); diff != "" {
		t.Errorf("structured (-want +got):\n%s", diff)
	}

	w = setup(t, nil)
	wantStored(w, "binary", w.post(data, append(slices.Clone(binaryHeaders), "ce-traceparent", parent)...))
	binary := want
	binary.Run, binary.Extensions = "monday 50%", map[string]string{"partitionkey": "k"}
	if diff := cmp.Diff([]events.Event{binary}, w.events()); diff != "" {
		t.Errorf("binary (-want +got):\n%s", diff)
	}

	w = setup(t, nil)
	wantStored(w, "batch", w.post(" ["+structured("1")+", "+structured("2")+"]", "Content-Type", batchType))
	wantStored(w, "batch again", w.post("["+structured("2")+","+structured("3")+"]", "Content-Type", batchType))
	wantStored(w, "empty batch", w.post("[]", "Content-Type", batchType))
	w.wantIDs("batch", "1", "2", "3")
}

// The client of the CloudEvents SDK for Go, against a server.
func TestTheSDKsClientPublishes(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	client, err := cloudevents.NewClientHTTP(cloudevents.WithTarget(server.URL), cloudevents.WithHeader("Authorization", "Bearer "+token))
	if err != nil {
		t.Fatal(err)
	}
	event := func(id string, payload any) cloudevents.Event {
		e := cloudevents.NewEvent()
		e.SetID(id)
		e.SetSource("/etl")
		e.SetType("dev.stoker.examples.ready.v1")
		e.SetSubject("penguin")
		e.SetExtension("run", "monday")
		e.SetExtension("attempt", 3)
		if err := e.SetData(cloudevents.ApplicationJSON, payload); err != nil {
			t.Fatal(err)
		}
		return e
	}
	send := func(id string, ctx context.Context, payload any) error { return client.Send(ctx, event(id, payload)) }
	if err := send("1", cloudevents.WithEncodingBinary(t.Context()), json.RawMessage(data)); !cloudevents.IsACK(err) {
		t.Error(err)
	}
	if err := send("2", cloudevents.WithEncodingStructured(t.Context()), json.RawMessage(data)); !cloudevents.IsACK(err) {
		t.Error(err)
	}
	err = send("3", t.Context(), json.RawMessage(`{"examples":[{"uri":"/data"}]}`))
	var result *cehttp.Result
	if !cloudevents.ResultAs(err, &result) || result.StatusCode != http.StatusBadRequest || !strings.Contains(err.Error(), "data.examples[0].uri") {
		t.Errorf("a bad event: %v", err)
	}
	batch := []cloudevents.Event{event("3", json.RawMessage(data)), event("4", json.RawMessage(data))}
	r, err := cehttp.NewHTTPRequestFromEvents(t.Context(), server.URL, batch)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted || r.Header.Get("Content-Type") != batchType {
		t.Errorf("a batch of %q: %d", r.Header.Get("Content-Type"), answer.StatusCode)
	}
	w.wantIDs("client", "1", "2", "3", "4")
	if got := w.events()[0].Extensions["attempt"]; got != "3" {
		t.Errorf("extension attempt is %q", got)
	}
}

func TestBadEventsAreRefusedByTheNameOfTheirField(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for name, c := range map[string]struct {
		body, media string
		status      int
		field       string
	}{
		"no id":                  {structured("1", "id", ""), jsonType, 400, "id"},
		"id with a space":        {structured("1", "id", `"a b"`), jsonType, 400, "id"},
		"bad address":            {structured("1", "data", `{"examples":[{"uri":"/tmp"}]}`), jsonType, 400, "data.examples[0].uri"},
		"no run":                 {structured("1", "run", ""), jsonType, 400, "run"},
		"base64 that is none":    {structured("1", "data", "", "data_base64", "1"), jsonType, 400, "data_base64"},
		"another's type":         {structured("1", "type", `"com.example.x"`), jsonType, 400, "type"},
		"a kind of Stoker's own": {structured("1", "type", `"dev.stoker.training.failed.v1"`, "data", `{"kind":"input","message":"m","attempt":1}`), jsonType, 400, "type"},
		"a source of Stoker's":   {structured("1", "source", `"/stoker/dispatch"`), jsonType, 403, "source"},
		"code":                   {structured("1", "data", `{"examples":[{"uri":"s3://data/x"}],"pipeline_spec":{"pipeline":"penguin"}}`), jsonType, 403, "data.pipeline_spec"},
		"cut off":                {structured("1")[:50], jsonType, 400, ""},
		"more behind it":         {structured("1") + "{}", jsonType, 400, ""},
		"no event":               {data, "application/json", 400, "specversion"},
		"nothing":                {"", "", 400, "specversion"},
		"another format":         {"x", "application/cloudevents+protobuf", 415, "Content-Type"},
		"batch: no list":         {structured("1"), batchType, 400, "batch"},
		"batch: cut off":         {"[" + structured("1"), batchType, 400, "batch"},
		"batch: more behind it":  {"[" + structured("1") + "] []", batchType, 400, "batch"},
		"batch: no events":       {`[1]`, batchType, 400, ""},
		"too large":              {structured("1", "data", `"`+strings.Repeat("x", endpoint.MaxBody)+`"`), jsonType, 413, ""},
		"too long":               {"[" + strings.Repeat(structured("1")+",", endpoint.MaxBatch) + structured("2") + "]", batchType, 413, ""},
	} {
		w.wantProblem(name, w.post(c.body, "Content-Type", c.media), c.status, c.field)
	}
	for name, header := range map[string][2]string{
		"old":     {"ce-specversion", "0.3"},
		"unknown": {"ce-specversion", "9"},
	} {
		w.wantProblem(name, w.post(data, append(slices.Clone(binaryHeaders), header[0], header[1])...), 400, "specversion")
	}
	w.wantProblem("a media type that is no JSON", w.post(data, append(slices.Clone(binaryHeaders), "Content-Type", "text/csv")...), 400, "datacontenttype")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(data))
	for i := 0; i < len(binaryHeaders); i += 2 {
		r.Header.Set(binaryHeaders[i], binaryHeaders[i+1])
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Add("ce-subject", "taxi")
	w.wantProblem("two subjects", w.do(r), 400, "subject")
	w.wantIDs("bad events")
}

// A header of this name makes the SDK's reader panic.
func TestAHeaderWithoutAnAttributesNameIsNoAttribute(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	wantStored(w, "ce-", w.post(data, append(slices.Clone(binaryHeaders), "ce-", "x", "ce-a_b", "y")...))
}

func TestABatchWithABadEventStoresNone(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	p := w.wantProblem("batch", w.post("["+structured("1")+","+structured("2", "run", "")+","+structured("3", "id", "")+"]", "Content-Type", batchType), 400, "run")
	if len(p.Errors) != 2 || p.Errors[0].Index != 1 || p.Errors[1].Index != 2 || p.Errors[1].Field != "id" || p.Stored != 0 {
		t.Errorf("got %+v", p)
	}
	w.wantIDs("batch")
}

// failing is a log that fails for some events.
type failing struct {
	endpoint.Log
	ids map[string]error
}

func (f failing) Publish(ctx context.Context, event events.Event) (events.Receipt, error) {
	if err := f.ids[event.ID]; err != nil {
		return events.Receipt{}, fmt.Errorf("publish to nats://secret-host: %w", err)
	}
	return f.Log.Publish(ctx, event)
}

func TestWhatIsNotStoredOfABatchIsListed(t *testing.T) {
	t.Parallel()
	ids := map[string]error{"2": events.ErrUnavailable, "3": events.ErrConflict}
	w := setup(t, func(_ *endpoint.Options, w *world) { w.log = failing{w.memory, ids} })
	batch := "[" + structured("1") + "," + structured("2") + "," + structured("3") + "," + structured("4") + "]"
	r := w.post(batch, "Content-Type", batchType)
	p := w.wantProblem("batch", r, 503, "")
	if r.Header.Get("Retry-After") == "" || p.Stored != 2 || len(p.Errors) != 2 || p.Errors[0].ID != "2" || p.Errors[1].Index != 2 {
		t.Errorf("got %v %+v", r.Header, p)
	}
	w.wantIDs("a part", "1", "4")
	clear(ids)
	wantStored(w, "the batch again", w.post(batch, "Content-Type", batchType))
	w.wantIDs("the whole", "1", "4", "2", "3")
}

func TestWhatTheBusSaysIsAnswered(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		503: events.ErrUnavailable, 403: events.ErrRefused, 409: events.ErrConflict, 413: events.ErrTooLarge,
	} {
		w := setup(t, func(_ *endpoint.Options, w *world) { w.log = failing{w.memory, map[string]error{"1": err}} })
		r := w.post(structured("1"), "Content-Type", jsonType)
		p := w.wantProblem(err.Error(), r, want, "")
		if away := r.Header.Get("Retry-After") != ""; away != (want == 503) || strings.Contains(p.Detail, "secret-host") {
			t.Errorf("%v: %v %+v", err, r.Header, p)
		}
	}
	w := setup(t, nil)
	wantStored(w, "first", w.post(structured("1"), "Content-Type", jsonType))
	w.wantProblem("other data", w.post(structured("1", "data", `{"examples":[{"uri":"s3://data/other"}]}`), "Content-Type", jsonType), 409, "")
	if err := w.memory.Close(); err != nil {
		t.Fatal(err)
	}
	w.wantProblem("closed", w.post(structured("2"), "Content-Type", jsonType), 503, "")
}

func TestPublishingNeedsTheToken(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for name, given := range map[string]string{
		"none": "", "another": "Bearer other", "a part": "Bearer " + token[:5], "more": "Bearer " + token + "x", "another scheme": "Basic " + token, "bare": token, "empty": "Bearer ",
	} {
		r := w.post(structured("1"), "Content-Type", jsonType, "Authorization", given)
		w.wantProblem(name, r, 401, "")
		if r.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", name)
		}
	}
	w.wantIDs("strangers")
	wantStored(w, "any case", w.post(structured("1"), "Content-Type", jsonType, "Authorization", "bearer "+token))
	basic := func(password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte("anybody:"+password))
	}
	wantStored(w, "a URL with the token", w.post(structured("1"), "Content-Type", jsonType, "Authorization", basic(token)))
	w.wantProblem("a URL with another", w.post(structured("1"), "Content-Type", jsonType, "Authorization", basic("x")), 401, "")
	now := token
	w = setup(t, func(o *endpoint.Options, _ *world) { o.Token = func() string { return now } })
	now = "another-token"
	w.wantProblem("the one before", w.post(structured("1"), "Content-Type", jsonType), 401, "")
	now = ""
	for _, given := range []string{"Bearer ", basic("")} {
		w.wantProblem("a token that is lost", w.post(structured("1"), "Content-Type", jsonType, "Authorization", given), 401, "")
	}
}

func TestAnEndpointPublishesForItsPipelinesAlone(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *endpoint.Options, _ *world) { o.Pipelines = []string{"penguin", "fish"} })
	wantStored(w, "its own", w.post(structured("1"), "Content-Type", jsonType))
	w.wantProblem("another", w.post(structured("2", "subject", `"taxi"`), "Content-Type", jsonType), 403, "subject")
	w.wantIDs("penguin", "1")
	if _, err := endpoint.New(nil, endpoint.Options{Pipelines: []string{"A B"}}); err == nil {
		t.Error("a name that no pipeline has is taken")
	}
}

// Pages displayed by a browser can reach loopback, too.
func TestPagesOfOtherSitesPublishNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *endpoint.Options, _ *world) { o.Token = nil })
	ask := func(host string, headers ...string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(structured("1")))
		r.Host = host
		r.Header.Set("Content-Type", jsonType)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		return w.do(r)
	}
	w.wantProblem("a name that leads here", ask("evil.example:8791"), 421, "")
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		if r := ask("localhost:8791", headers...); r.StatusCode != http.StatusForbidden {
			t.Errorf("%v: %d", headers, r.StatusCode)
		}
	}
	w.wantIDs("other sites")
	for i, host := range []string{"localhost:8791", "127.0.0.1", "[::1]:8791"} {
		wantStored(w, fmt.Sprint(i, host), ask(host))
	}
}

func TestOtherMethodsAndPathsAreNamed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for _, c := range []struct {
		method, path string
		want         int
	}{{"GET", "/", 405}, {"OPTIONS", "/", 405}, {"PUT", "/", 405}, {"POST", "/events", 404}, {"GET", "/metrics", 404}} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		w.wantProblem(c.method+" "+c.path, w.do(r), c.want, "")
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(jsonType, "", "", []byte(structured("1")))
	f.Add(batchType, "", "", []byte("["+structured("1")+"]"))
	f.Add("application/json", "ce-run", "monday%20", []byte(data))
	f.Add("", "ce-", "x", []byte(`{"specversion":"1.0","data_base64":1}`))
	f.Fuzz(func(t *testing.T, media, name, value string, body []byte) {
		w := setup(t, nil)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
		for i := 0; i < len(binaryHeaders) && name != ""; i += 2 {
			r.Header.Set(binaryHeaders[i], binaryHeaders[i+1])
		}
		r.Header.Set("Content-Type", media)
		r.Header.Set(name, value)
		r.Header.Set("Authorization", "Bearer "+token)
		answer := w.do(r)
		stored := w.events()
		text, _ := io.ReadAll(answer.Body)
		if answer.StatusCode == http.StatusAccepted {
			if len(text) > 0 {
				t.Fatalf("202 with a body: %s", text)
			}
			return
		}
		if len(stored) > 0 || answer.StatusCode < 400 || answer.StatusCode >= 500 || !json.Valid(text) {
			t.Fatalf("%d %q, stored %d", answer.StatusCode, text, len(stored))
		}
	})
}
