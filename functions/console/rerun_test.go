package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
)

func TestARetryNamesItsRevisionAndARerunUsesTheOneThatIsApplied(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	w.publish(ready("monday"))
	other := ready("monday")
	other.ID, other.Data = "second", &events.TransformReady{TransformGraph: "s3://bkt/other"}
	w.publish(other)
	w.dispatched()
	claim, err := w.bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Term(t.Context(), events.DeadReason{Kind: events.FailureModule, Message: "boom"}); err != nil {
		t.Fatal(err)
	}
	w.publish(failed("monday", "boom"))
	w.apply(strings.Replace(penguin, "hyperparameters: none", "hyperparameters: none, seed: 7", 1))
	if err := w.model.readDead(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.sees("/dead-letter?number=1", "A retry uses revision 1 of pipeline penguin", "Revision 2 is applied now", "Retry it with revision 1 of the pipeline",
		"runs rerun monday --pipeline penguin")
	const page = "/run?pipeline=penguin&run=monday"
	body := w.sees(page, "Retry it with revision 1 of the pipeline", "again with revision 2 of the pipeline, which is applied now",
		"ignored: the run already has its transform.ready: event 1")
	if strings.Contains(body, `action="/rerun"`) {
		t.Error("the button is shown without permission to act")
	}
	config := w.sees(page, "Revision 1 of pipeline penguin, with its defaults", "expire_after: &#34;168h&#34;  # default<", "seed: 0  # default<", "    label: species\n")
	if strings.Contains(config, "hunter2") {
		t.Error("the configuration shows a secret")
	}
	for _, path := range []string{page, "/dead-letter?number=1", "/dead?by=letter"} {
		if _, body := w.get(path, w.trusted); !strings.Contains(body, `action="/rerun"`) || !strings.Contains(body, "Rerun with revision 2") {
			t.Errorf("%s offers no rerun", path)
		}
		if _, body := w.get(path, w.trusted); path != page && !strings.Contains(body, ">Retry with revision 1</button>") {
			t.Errorf("%s does not show the revision of a retry", path)
		}
	}
	form := url.Values{"pipeline": {"penguin"}, "run": {"monday"}}
	if status, _ := w.post("/rerun", form); status != http.StatusUnauthorized {
		t.Errorf("rerun without the token: %d", status)
	}
	status, _, header := w.ask(http.MethodPost, "/rerun", form, w.trusted)
	if status != http.StatusSeeOther || header.Get("Location") != "/run?pipeline=penguin&run=monday-2" {
		t.Fatalf("%d, to %s", status, header.Get("Location"))
	}
	w.dispatched()
	join, err := runs.Open(w.bus, runs.Options{}).Join(t.Context(), runs.Key{Pipeline: "penguin", Run: "monday-2"})
	if err != nil || join.Current().Revision != 2 || join.Events[0].Inputs.TransformGraph != "s3://bkt/graph" {
		t.Errorf("%+v, %v", join, err)
	}
	w.sees("/run?pipeline=penguin&run=monday-2", "revision 2", "/stoker/rerun")
	if status, _ := w.post("/rerun", url.Values{"pipeline": {"penguin"}, "run": {"nobody"}}, w.trusted); status != http.StatusNotFound {
		t.Errorf("a run that never was: %d", status)
	}
}

func TestARerunIsOfferedForAnEndedRunOfAnAppliedPipeline(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	w.publish(ready("monday"), ready("tuesday"))
	w.dispatched()
	w.publish(failed("monday", "boom"))
	offered := func(run string) bool {
		_, body := w.get("/run?pipeline=penguin&run="+run, w.trusted)
		return strings.Contains(body, `action="/rerun"`)
	}
	w.sees("/run?pipeline=penguin&run=monday", "boom")
	w.sees("/run?pipeline=penguin&run=tuesday", "queued")
	if !offered("monday") || offered("tuesday") {
		t.Errorf("offered of the run that failed: %v, of the one that is queued: %v", offered("monday"), offered("tuesday"))
	}
	if _, _, err := dispatch.Remove(t.Context(), w.bus, "penguin", true); err != nil {
		t.Fatal(err)
	}
	w.eventually("the removal is known", func() bool { return !offered("monday") })
}

// full is a bus that accepts no events.
type full struct{ *bustest.Memory }

func (full) Publish(context.Context, events.Event) (events.Receipt, error) {
	return events.Receipt{}, events.ErrRefused
}

func TestARerunThatTheBusRefusesIsAnError(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *Options) { o.Bus = full{o.Bus.(*bustest.Memory)} })
	w.apply(penguin)
	w.publish(ready("monday"), failed("monday", "boom"))
	form := url.Values{"pipeline": {"penguin"}, "run": {"monday"}}
	if status, _ := w.post("/rerun", form, w.trusted); status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
}

func TestARunShowsWhatItsModelWasTrainedWith(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.publish(ready("monday"))
	event := trained("monday")
	event.Data.(*events.ModelTrained).Settings = json.RawMessage(`{"batch_size": 32, "api_token": "hunter2", "note": "<b>"}`)
	w.publish(event)
	body := w.sees("/run?pipeline=penguin&run=monday", "Trained with", `<code>batch_size</code></th><td class="num"><code>32</code>`, "&lt;b&gt;")
	if strings.Contains(body, "hunter2") {
		t.Error("the settings show a secret")
	}
}
