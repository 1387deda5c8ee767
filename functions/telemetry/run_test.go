package telemetry_test

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/local/demo"
)

func hexOf(id []byte) string { return hex.EncodeToString(id) }

// searched trains on hyperparameters that it searches for, so that every kind of job occurs.
const searched = `pipeline: penguin
module: builtin:dnn
trainer:
  wait_for: [transform, hparams]
  train_args: {num_steps: 5}
  custom_config: {label_key: species, num_classes: 3}
tuner:
  when: always
  tune_args: {num_parallel_trials: 1}
  custom_config: {label_key: species, num_classes: 3, space: {learning_rate: {min: 0.001, max: 0.1, sampling: log}}}
  study: {algorithm: random, max_trials: 2}
`

const (
	upstreamTrace = "0af7651916cd43dd8448eb211c80319c"
	upstreamSpan  = "b7ad6b7169203331"
)

// A run is one trace, from upstream's event to its model's event, on a real bus and with real
// training. A second run on the same inputs finds the model, and is a trace of its own, whether
// upstream names one or not.
func TestARunIsOneTrace(t *testing.T) {
	spans := startSink(t)
	tele, err := telemetry.Open(t.Context(), telemetry.Options{Service: "stoker-test"})
	if err != nil {
		t.Fatal(err)
	}
	options := stack.Options{DataDir: t.TempDir(), Builtins: builtin.Digests(), Slots: 2, Telemetry: tele}
	var first, second events.Event
	err = stack.With(t.Context(), options, func(ctx context.Context, s *stack.Stack) error {
		spec, err := pipeline.Parse("penguin.yaml", []byte(searched))
		if err != nil {
			return err
		}
		if _, _, err := dispatch.Apply(ctx, s.Bus, spec); err != nil {
			return err
		}
		if err := demo.Upload(ctx, s.Store, s.Root.Join("demo")); err != nil {
			return err
		}
		traced, plain := demo.Events(s.Root.Join("demo"), "monday")[1], demo.Events(s.Root.Join("demo"), "tuesday")[1]
		traced.Trace, traced.TraceState = "00-"+upstreamTrace+"-"+upstreamSpan+"-01", "rojo=1"
		first = outcome(ctx, t, s, traced)
		second = outcome(ctx, t, s, plain)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := tele.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.Trace, "00-"+upstreamTrace+"-") || first.TraceState != "rojo=1" {
		t.Errorf("model.trained has the trace %q with %q, want that of upstream's event", first.Trace, first.TraceState)
	}
	got := spans.tree(upstreamTrace, map[string]string{upstreamSpan: "upstream"})
	tuning := "upstream/process events.transform.ready/send jobs.tune/process jobs.tune"
	training := tuning + "/send events.hparams.ready/process events.hparams.ready/send jobs.train/process jobs.train"
	for _, want := range []string{
		"upstream/process events.transform.ready", tuning, tuning + "/identify", tuning + "/stage", tuning + "/trial", tuning + "/trial/module",
		tuning + "/publish", tuning + "/commit", training, training + "/identify", training + "/stage", training + "/module",
		training + "/check", training + "/publish", training + "/commit", training + "/send events.model.trained",
		training + "/send events.model.trained/process events.model.trained",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing %s", want)
		}
	}
	if t.Failed() {
		t.Log("\n" + strings.Join(got, "\n"))
	}
	cached := spans.tree(strings.Split(second.Trace+"--", "-")[1], nil)
	if !slices.ContainsFunc(cached, func(p string) bool {
		return strings.HasPrefix(p, "process events.transform.ready/") && strings.HasSuffix(p, "send events.model.trained")
	}) {
		t.Errorf("a run whose model was there, and that upstream did not trace, is the trace %q:\n%s", second.Trace, strings.Join(cached, "\n"))
	}
	if slices.ContainsFunc(cached, func(p string) bool { return strings.HasSuffix(p, "/process jobs.train/module") }) {
		t.Error("a model that was there was trained again")
	}
}

// outcome publishes an event and waits for the outcome of its run.
func outcome(ctx context.Context, t *testing.T, s *stack.Stack, event events.Event) events.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 8*time.Minute)
	defer cancel()
	if _, err := s.Bus.Publish(ctx, event); err != nil {
		t.Fatal(err)
	}
	query := events.Query{Kinds: events.OutcomeKinds(), Pipeline: event.Pipeline, Run: event.Run, Follow: true}
	for recorded, err := range s.Bus.Read(ctx, query) {
		if err != nil {
			t.Fatal(err)
		}
		if recorded.Event.Data.Kind() != events.KindModelTrained {
			t.Fatalf("run %s: %+v", event.Run, recorded.Event.Data)
		}
		return recorded.Event
	}
	t.Fatal("nothing came of run ", event.Run)
	return events.Event{}
}
