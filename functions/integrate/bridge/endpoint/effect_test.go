package endpoint_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/integrate/bridge/endpoint"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs/submit"
)

// checked returns an endpoint that checks the effect of events. Runs of its pipeline wait for
// examples.
func checked(t *testing.T, anyway bool, see func(events.Bus) events.Bus) world {
	t.Helper()
	return setup(t, func(opts *endpoint.Options, w *world) {
		spec, err := pipeline.Parse("p.yaml", []byte("pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [examples], hyperparameters: none}\n"))
		if err == nil {
			_, _, err = dispatch.Apply(t.Context(), w.memory, spec)
		}
		if err != nil {
			t.Fatal(err)
		}
		opts.Checker = submit.NewChecker(see(w.memory), anyway, nil)
	})
}

func all(bus events.Bus) events.Bus { return bus }

const (
	otherData = `{"examples":[{"uri":"s3://data/penguin/other"}]}`
	hparams   = `{"hyperparameters":"s3://data/hp"}`
	graph     = `{"transform_graph":"s3://data/graph"}`
)

func TestEventsWithoutEffectAreRefused(t *testing.T) {
	t.Parallel()
	w := checked(t, false, all)
	if r := w.post(structured("1"), "Content-Type", jsonType); r.StatusCode != http.StatusAccepted {
		t.Fatalf("the first: %d", r.StatusCode)
	}
	if r := w.post(structured("1"), "Content-Type", jsonType); r.StatusCode != http.StatusAccepted {
		t.Errorf("the same again: %d", r.StatusCode)
	}
	if r := w.post(structured("2"), "Content-Type", jsonType); r.StatusCode != http.StatusAccepted || !strings.Contains(r.Header.Get("Stoker-Note"), "the same data") {
		t.Errorf("the same data under another id: %d %v", r.StatusCode, r.Header)
	}
	for name, tt := range map[string]struct {
		event  string
		status int
		want   string
	}{
		"other data":                         {structured("3", "data", otherData), http.StatusConflict, "already has its examples.ready: event 1, with other data"},
		"another kind, nothing missing":      {structured("4", "type", `"dev.stoker.transform.ready.v1"`, "data", graph), http.StatusConflict, "is complete"},
		"a kind that the pipeline can't use": {structured("5", "type", `"dev.stoker.hparams.ready.v1"`, "run", `"tuesday"`, "data", hparams), http.StatusUnprocessableEntity, "uses no hyperparameters"},
		"an unknown pipeline":                {structured("6", "subject", `"pengiun"`), http.StatusUnprocessableEntity, "no pipeline pengiun is applied"},
	} {
		if p := w.wantProblem(name, w.post(tt.event, "Content-Type", jsonType), tt.status, ""); !strings.Contains(p.Detail, tt.want) || p.Stored != 0 {
			t.Errorf("%s: %+v, want %q", name, p, tt.want)
		}
	}
	w.wantIDs("only what has an effect, or repeats data", "1", "2")
}

// The events of a batch are checked in order: the effect of one depends on those before it.
func TestABatchIsCheckedInOrder(t *testing.T) {
	t.Parallel()
	w := checked(t, false, all)
	batch := "[" + structured("1") + "," + structured("2", "data", otherData) + "," + structured("3", "run", `"tuesday"`) + "]"
	p := w.wantProblem("a batch", w.post(batch, "Content-Type", batchType), http.StatusConflict, "")
	if p.Stored != 2 || len(p.Errors) != 1 || p.Errors[0].Index != 1 {
		t.Errorf("%+v", p)
	}
	w.wantIDs("the others", "1", "3")
}

func TestEventsWithoutEffectAreStoredAnyway(t *testing.T) {
	t.Parallel()
	w := checked(t, false, all)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/?anyway=true", strings.NewReader(structured("1", "subject", `"later"`)))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", jsonType)
	if answer := w.do(r); answer.StatusCode != http.StatusAccepted || !strings.Contains(answer.Header.Get("Stoker-Note"), "no pipeline later is applied") {
		t.Errorf("by the request: %d %v", answer.StatusCode, answer.Header)
	}
	w.wantIDs("by the request", "1")
	w = checked(t, true, all)
	if answer := w.post(structured("1", "subject", `"later"`), "Content-Type", jsonType); answer.StatusCode != http.StatusAccepted {
		t.Errorf("by the endpoint: %d", answer.StatusCode)
	}
}

// closed is a bus whose credentials do not permit reading key-value buckets, like those of an
// upstream.
type closed struct{ events.Bus }

func (closed) KV(context.Context, string) (events.KV, error) {
	return nil, events.ErrRefused
}

// away is a bus that does not answer requests for key-value buckets.
type away struct{ events.Bus }

func (away) KV(context.Context, string) (events.KV, error) {
	return nil, events.ErrUnavailable
}

func TestTheKeyOfAnUpstreamPublishesUnchecked(t *testing.T) {
	t.Parallel()
	w := checked(t, false, func(bus events.Bus) events.Bus { return closed{bus} })
	for _, id := range []string{"1", "2"} {
		if r := w.post(structured(id, "data", `{"examples":[{"uri":"s3://data/`+id+`"}]}`), "Content-Type", jsonType); r.StatusCode != http.StatusAccepted {
			t.Errorf("event %s: %d", id, r.StatusCode)
		}
	}
}

func TestAnEventThatCannotBeCheckedNowIsToBeRepeated(t *testing.T) {
	t.Parallel()
	w := checked(t, false, func(bus events.Bus) events.Bus { return away{bus} })
	r := w.post(structured("1"), "Content-Type", jsonType)
	if w.wantProblem("the bus is away", r, http.StatusServiceUnavailable, ""); r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.wantIDs("the bus is away")
}
