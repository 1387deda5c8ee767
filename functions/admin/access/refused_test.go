package access_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/local/demo"
)

// quick is far below the timeout of an unanswered request.
const quick = 3 * time.Second

// try is an operation that a role may not do, and the subject that the refusal must name.
type try struct {
	name, subject string
	do            func(context.Context, *jetstream.Bus) error
}

// forbidden returns what each role's programs could try that belongs to others.
func forbidden() map[access.Role][]try {
	return map[access.Role][]try{
		access.Upstream: {
			publishing("another pipeline's event", "events.examples-ready.taxi.monday", examples("taxi")),
			publishing("an event of Stoker's", "events.model-trained.penguin", model),
			publishing("hyperparameters, where its scope has none", "events.hparams-ready.penguin", demo.Events(place.Inputs[0], "monday")[0]),
			{"a job", "jobs.train.cpu", offer(events.FunctionTrain)},
			{"all events", "$JS.acme.API.CONSUMER.CREATE.EVENTS", readEvents},
			{"a pipeline", "$JS.acme.API.STREAM.INFO.KV_PIPELINES", open(events.KVPipelines)},
			{"a dead letter's dead letter", "dead.EVENTS.1", deadLetter},
			{"progress", "progress.", watch},
		},
		access.Dispatcher: {
			publishing("an event of upstream's", "events.examples-ready.penguin", examples("penguin")),
			publishing("a model", "events.model-trained.penguin", model),
			{"a job to work on", "$JS.API.CONSUMER.INFO.JOBS.train-cpu", take},
			{"a pipeline to change", "$KV.PIPELINES.penguin", change(events.KVPipelines)},
			{"a study", "studies.penguin", study},
		},
		access.Worker: {
			publishing("an event of upstream's", "events.examples-ready.penguin", examples("penguin")),
			{"a training", "jobs.train.cpu", offer(events.FunctionTrain)},
			{"the dispatcher's place", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.dispatch", follow},
			{"a pipeline", "$JS.API.STREAM.INFO.KV_PIPELINES", open(events.KVPipelines)},
			{"a dead letter to drop", "$JS.API.STREAM.MSG.GET.DEAD", drop},
		},
		access.Bridge: {
			publishing("a model", "events.model-trained.penguin", model),
			{"a job", "jobs.train.cpu", offer(events.FunctionTrain)},
			{"a notice", "buckets.me", notice},
		},
		access.Console: {
			publishing("an event of upstream's", "events.examples-ready.penguin", examples("penguin")),
			{"a job", "jobs.train.cpu", offer(events.FunctionTrain)},
			{"a job to work on", "$JS.API.CONSUMER.MSG.NEXT.JOBS.train-cpu", take},
			{"the dispatcher's place", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.dispatch", follow},
			{"a pipeline to change", "$KV.PIPELINES.penguin", change(events.KVPipelines)},
			{"a gate to close", "$KV.GATES.penguin", change(events.KVGates)},
			{"a job to cancel", "$KV.LEASES.", cancel},
			{"a dead letter's dead letter", "dead.EVENTS.1", deadLetter},
			{"a dead letter to drop", "$JS.API.STREAM.MSG.DELETE.DEAD", drop},
			{"a listener's place", "$JS.API.CONSUMER.CREATE.EVENTS.notify-default", listen("notify-default")},
		},
		access.Notifier: {
			publishing("an event of upstream's", "events.examples-ready.penguin", examples("penguin")),
			publishing("a model", "events.model-trained.penguin", model),
			{"a job", "jobs.train.cpu", offer(events.FunctionTrain)},
			{"all events", "$JS.API.CONSUMER.CREATE.EVENTS", readEvents},
			{"the dispatcher's place", "$JS.API.CONSUMER.INFO.EVENTS.dispatch", follow},
			{"the exporter's place", "$JS.API.CONSUMER.INFO.EVENTS.openlineage", listen("openlineage")},
			{"a pipeline", "$JS.API.STREAM.INFO.KV_PIPELINES", open(events.KVPipelines)},
			{"a dead letter's dead letter", "dead.EVENTS.1", deadLetter},
			{"a dead letter to drop", "$JS.API.CONSUMER.CREATE.DEAD", drop},
			{"progress", "progress.", watch},
		},
		access.Exporter: {
			publishing("an event of upstream's", "events.examples-ready.penguin", examples("penguin")),
			publishing("a model", "events.model-trained.penguin", model),
			{"a job", "jobs.train.cpu", offer(events.FunctionTrain)},
			{"the dispatcher's place", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.dispatch", follow},
			{"the notifier's place", "$JS.API.CONSUMER.CREATE.EVENTS.notify-default", listen("notify-default")},
			{"a pipeline to change", "$KV.PIPELINES.penguin", change(events.KVPipelines)},
			{"a dead letter to drop", "$JS.API.STREAM.INFO.DEAD", drop},
		},
	}
}

func TestWhatARoleMayNotDoIsRefusedAtOnceAndByName(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	operator := server.as(t, "acme", access.Operator)
	for _, event := range []events.Event{examples("penguin"), examples("taxi")} {
		if _, err := operator.Publish(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	if err := offer(events.FunctionTrain)(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
	if err := deadLetter(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
	for role, tries := range forbidden() {
		for _, try := range tries {
			t.Run(string(role)+" "+try.name, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				err := try.do(t.Context(), server.as(t, "acme", role))
				if !errors.Is(err, events.ErrRefused) || !strings.Contains(err.Error(), "not permitted to ") || !strings.Contains(err.Error(), try.subject) {
					t.Errorf("got %v, want a refusal that names %s", err, try.subject)
				}
				if took := time.Since(began); took > quick {
					t.Errorf("took %s", took)
				}
			})
		}
	}
}

func examples(pipeline string) events.Event {
	return events.Event{
		ID: "1", Source: "/test", Pipeline: pipeline, Run: "monday",
		Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://uploads/acme/1", Splits: []string{"train", "eval"}}}},
	}
}
