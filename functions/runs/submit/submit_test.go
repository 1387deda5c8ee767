package submit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/functions/runs/submit"
)

const (
	both   = "pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform, hparams], hyperparameters: run}\n"
	digest = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)

// world is a bus with a pipeline and a dispatcher that is behind until handle is called.
type world struct {
	t          *testing.T
	bus        *bustest.Memory
	dispatcher *dispatch.Dispatcher
}

func newWorld(t *testing.T, text string) world {
	t.Helper()
	w := world{t: t, bus: bustest.NewMemory(0)}
	w.apply(text)
	var err error
	if w.dispatcher, err = dispatch.New(t.Context(), w.bus, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w world) apply(text string) {
	w.t.Helper()
	spec, err := pipeline.Parse("p.yaml", []byte(text))
	if err == nil {
		_, _, err = dispatch.Apply(w.t.Context(), w.bus, spec)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w world) publish(event events.Event) uint64 {
	w.t.Helper()
	receipt, err := w.bus.Publish(w.t.Context(), event)
	if err != nil {
		w.t.Fatal(err)
	}
	return receipt.Sequence
}

// handle has the dispatcher handle all published events.
func (w world) handle() {
	w.t.Helper()
	for {
		if err := w.dispatcher.Next(w.t.Context(), 0); errors.Is(err, events.ErrEmpty) {
			return
		} else if err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w world) train(run string) {
	w.t.Helper()
	w.publish(events.NewModelTrained(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: run}, &events.ModelTrained{
		Model:     events.Model{URI: "s3://bkt/model", Digest: digest, Formats: []string{"Format-Serving"}},
		Execution: digest, Inputs: []events.Artifact{}, Module: "m",
	}))
	w.handle()
}

func graph(id, uri string) events.Event {
	return events.Event{ID: id, Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: uri}}
}

func hparams(id string) events.Event {
	return events.Event{ID: id, Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.HParamsReady{Hyperparameters: "s3://bkt/hp"}}
}

func raw(id string) events.Event {
	return events.Event{ID: id, Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}}}
}

// refusal returns what Check says about an event; "" if it has an effect.
func (w world) refusal(event events.Event) string {
	w.t.Helper()
	_, err := submit.Check(w.t.Context(), w.bus, event)
	none, ok := errors.AsType[*submit.NoEffect](err)
	if err != nil && !ok {
		w.t.Fatal(err)
	}
	if !ok {
		return ""
	}
	return none.Why
}

func (w world) want(what string, event events.Event, why string) {
	w.t.Helper()
	if got := w.refusal(event); why == "" && got != "" || !strings.Contains(got, why) {
		w.t.Errorf("%s: %q, want %q", what, got, why)
	}
}

func TestAnEventThatChangesNothingIsRefused(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]bool{"handled": false, "the dispatcher is behind": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, both)
			settle := func() {
				if !behind {
					w.handle()
				}
			}
			w.want("the first", graph("t", "s3://bkt/graph"), "")
			w.publish(graph("t", "s3://bkt/graph"))
			settle()
			w.want("the same again", graph("t", "s3://bkt/graph"), "")
			w.want("the same data under another id", graph("t2", "s3://bkt/graph"), "")
			w.want("other data", graph("t2", "s3://bkt/other"), "already has its transform.ready: event 1, with other data")
			w.want("what it waits for", hparams("h"), "")
			w.publish(hparams("h"))
			settle()
			w.want("examples, when nothing is missing", raw("e"), "is complete with event 2")
			w.handle()
			w.train("monday")
			w.want("examples, when it is trained", raw("e"), "was trained before")
			w.publish(graph("t2", "s3://bkt/other"))
			w.want("the same again, though it was ignored", graph("t2", "s3://bkt/other"), "")
			w.want("the same again, when it is trained", graph("t", "s3://bkt/graph"), "")
		})
	}
}

func TestEventsOfNoPipelineAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, both)
	event := graph("t", "s3://bkt/graph")
	event.Pipeline = "pengiun"
	_, err := submit.Check(t.Context(), w.bus, event)
	none, ok := errors.AsType[*submit.NoEffect](err)
	if !ok || !none.Unknown || len(none.Applied) != 1 || none.Applied[0] != "penguin" || !strings.Contains(err.Error(), "no pipeline pengiun is applied") {
		t.Errorf("%+v, %v", none, err)
	}
}

// stale is a bus whose buckets return old values until they are synced.
type stale struct {
	*bustest.Memory
	hidden bool
}

func (s *stale) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := s.Memory.KV(ctx, name)
	return staleKV{kv, s}, err
}

type staleKV struct {
	events.KV
	of *stale
}

func (r staleKV) Get(ctx context.Context, key string) (events.Entry, error) {
	if r.of.hidden {
		return events.Entry{}, events.ErrNotFound
	}
	return r.KV.Get(ctx, key)
}

func (r staleKV) Sync(ctx context.Context) error {
	r.of.hidden = false
	return r.KV.Sync(ctx)
}

func TestAPipelineThatWasAppliedJustNowIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, both)
	if _, err := submit.Check(t.Context(), &stale{w.bus, true}, graph("t", "s3://bkt/graph")); err != nil {
		t.Errorf("a leader that does not know the pipeline yet refuses its events: %v", err)
	}
}

func TestKindsThatNoRunWaitsForAreNoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform], hyperparameters: none}\n")
	w.want("hyperparameters that are never used", hparams("h"), "uses no hyperparameters")
	effect, err := submit.Check(t.Context(), w.bus, raw("e"))
	if err != nil || !strings.Contains(effect.Note, "do not wait for examples.ready") || !strings.Contains(effect.Note, "waits for transform,") {
		t.Errorf("%+v, %v", effect, err)
	}
	w.apply("pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform], hyperparameters: latest}\n")
	effect, err = submit.Check(t.Context(), w.bus, hparams("h"))
	if err != nil || !strings.Contains(effect.Note, "so it starts no run") {
		t.Errorf("%+v, %v", effect, err)
	}
}

func TestARunThatWasCancelledTakesNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, both)
	w.publish(graph("t", "s3://bkt/graph"))
	w.handle()
	if _, err := dispatch.Cancel(t.Context(), w.bus, "penguin", "monday"); err != nil {
		t.Fatal(err)
	}
	w.want("what it waited for", hparams("h"), "was cancelled")
}

func TestAnEventThatLostARaceIsKnownToBeIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, both)
	first, second := graph("t", "s3://bkt/graph"), graph("t2", "s3://bkt/other")
	w.publish(first)
	late := w.publish(second)
	if err := submit.Ignored(t.Context(), w.bus, second, late); err != nil {
		t.Errorf("before a dispatcher comes to it: %v", err)
	}
	w.handle()
	err := submit.Ignored(t.Context(), w.bus, second, late)
	if none, ok := errors.AsType[*submit.NoEffect](err); !ok || none.Stored != late || !strings.Contains(none.Why, "event 1") {
		t.Errorf("after that: %v", err)
	}
	if err := submit.Ignored(t.Context(), w.bus, first, 1); err != nil {
		t.Errorf("the one that won: %v", err)
	}
	detail, err := query.Of(t.Context(), w.bus, runs.Key{Pipeline: "penguin", Run: "monday"})
	if err != nil || len(detail.Events) != 2 || detail.Events[0].Ignored != "" || !strings.Contains(detail.Events[1].Ignored, "event 1") {
		t.Errorf("shown as %+v, %v", detail.Events, err)
	}
}

func plan(t *testing.T, w world, opts submit.RerunOptions) submit.Rerun {
	t.Helper()
	rerun, err := submit.PlanRerun(t.Context(), w.bus, runs.Key{Pipeline: "penguin", Run: "monday"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return rerun
}

func TestARerunStartsTheSameInputsWithThePipelineAsItIsNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, both)
	w.publish(graph("t", "s3://bkt/graph"))
	w.publish(hparams("h"))
	w.publish(graph("ignored", "s3://bkt/other"))
	w.handle()
	w.train("monday")
	w.publish(raw("late"))
	w.handle()
	w.apply(strings.Replace(both, "hyperparameters: run", "hyperparameters: run, seed: 7", 1))

	first := plan(t, w, submit.RerunOptions{})
	if first.Run != "monday-2" || first.Revision != 2 || len(first.Events) != 2 || len(first.WaitsFor) != 0 {
		t.Fatalf("%+v", first)
	}
	w.publish(first.Events[0]) // then the command was interrupted
	if again := plan(t, w, submit.RerunOptions{}); again.Run != first.Run || again.Events[1].ID != first.Events[1].ID {
		t.Errorf("the interrupted rerun is not continued: %+v", again)
	}
	for _, event := range first.Events {
		w.publish(event)
	}
	w.handle()
	join, err := runs.Open(w.bus, runs.Options{}).Join(t.Context(), runs.Key{Pipeline: "penguin", Run: "monday-2"})
	if err != nil || join.State != "dispatched" || join.Current().Revision != 2 || join.Events[0].Inputs.TransformGraph != "s3://bkt/graph" {
		t.Errorf("%+v, %v", join, err)
	}
	if next := plan(t, w, submit.RerunOptions{Force: true}); next.Run != "monday-3" || !events.RequestOf(next.Events[0].Data).Force {
		t.Errorf("%+v", next)
	}
	if _, err := submit.PlanRerun(t.Context(), w.bus, runs.Key{Pipeline: "penguin", Run: "monday"}, submit.RerunOptions{As: "monday-2"}); !errors.Is(err, submit.ErrTaken) {
		t.Errorf("a name in use: %v", err)
	}
	if _, err := submit.PlanRerun(t.Context(), w.bus, runs.Key{Pipeline: "penguin", Run: "monday"}, submit.RerunOptions{As: "a\x00b"}); err == nil {
		t.Error("an invalid name is accepted")
	}
	if _, err := submit.PlanRerun(t.Context(), w.bus, runs.Key{Pipeline: "penguin", Run: "nobody"}, submit.RerunOptions{}); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("an unknown run: %v", err)
	}
}

func TestARerunSaysWhatItStillWaitsFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform], hyperparameters: none}\n")
	w.publish(graph("t", "s3://bkt/graph"))
	w.handle()
	w.apply(both)
	if rerun := plan(t, w, submit.RerunOptions{As: "other"}); rerun.Run != "other" || len(rerun.WaitsFor) != 1 || rerun.WaitsFor[0] != events.KindHParamsReady {
		t.Errorf("%+v", rerun)
	}
}

func TestHyperparametersThatStokerFoundAreSearchedForAgain(t *testing.T) {
	t.Parallel()
	tuned := "pipeline: penguin\nmodule: ./mine\ntrainer: {wait_for: [transform, hparams], hyperparameters: run}\ntuner: {when: always}\n"
	w := newWorld(t, tuned)
	w.publish(graph("t", "s3://bkt/graph"))
	w.handle()
	claim, err := w.bus.Claim(t.Context(), events.FunctionTune, []string{"cpu"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	job, err := claim.Job()
	if err != nil {
		t.Fatal(err)
	}
	w.publish(events.NewHParamsFound(job, &events.HParamsReady{Hyperparameters: "s3://bkt/hp", Execution: digest}, time.Unix(1, 0)))
	w.handle()
	if rerun := plan(t, w, submit.RerunOptions{}); len(rerun.Events) != 1 || len(rerun.WaitsFor) != 0 {
		t.Errorf("with a tuner: %+v", rerun)
	}
	w.apply(both)
	rerun := plan(t, w, submit.RerunOptions{})
	if len(rerun.Events) != 2 || len(rerun.WaitsFor) != 0 {
		t.Fatalf("without: %+v", rerun)
	}
	if data := rerun.Events[1].Data.(*events.HParamsReady); data.Job != "" || data.Hyperparameters != "s3://bkt/hp" {
		t.Errorf("%+v", data)
	}
}
