package stack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/stoker/stack"
	"github.com/stoker-ml/stoker/local/demo"
	"github.com/stoker-ml/stoker/storage"
)

// shared is the stack of all tests: a process can run one embedded S3 server. Each test uses its
// own runs.
var shared *stack.Stack

// lost is a folder of a killed stack.
var lost string

// TestMain is also the child process of runner: this test binary replaces stoker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "module" {
		os.Exit(module.Process(context.Background(), builtin.Module()))
	}
	os.Exit(withStack(m))
}

func withStack(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "stoker-local-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	lost = filepath.Join(dir, "work", "stoker-scratch-1", "train-1", "in")
	if err := os.MkdirAll(lost, 0o700); err != nil {
		panic(err)
	}
	options := stack.Options{DataDir: dir, Builtins: builtin.Digests(), Slots: 2, Bridge: &bridge.Options{}}
	err = stack.With(context.Background(), options, func(ctx context.Context, s *stack.Stack) error {
		shared = s
		if err := prepare(ctx); err != nil {
			return err
		}
		code = m.Run()
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// prepare deploys the demo's pipeline and uploads its artifacts, which every test needs.
func prepare(ctx context.Context) error {
	spec, err := pipeline.Parse(demo.PipelineFile())
	if err != nil {
		return err
	}
	if _, _, err := dispatch.Apply(ctx, shared.Bus, spec); err != nil {
		return err
	}
	return demo.Upload(ctx, shared.Store, penguins())
}

func penguins() storage.Ref { return shared.Root.Join("demo", demo.PipelineName) }

// patience limits how long a test waits for a run; a machine that compiles at the same time is
// slow.
const patience = 8 * time.Minute

// outcome publishes events and returns the outcome of their run.
func outcome(t *testing.T, evs ...events.Event) events.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, event := range evs {
		if _, err := shared.Bus.Publish(ctx, event); err != nil {
			t.Fatal(err)
		}
	}
	query := events.Query{
		Kinds:    events.OutcomeKinds(),
		Pipeline: evs[0].Pipeline, Run: evs[0].Run, Follow: true,
	}
	for recorded, err := range shared.Bus.Read(ctx, query) {
		if err != nil {
			t.Fatal(err)
		}
		return recorded.Event
	}
	t.Fatal("nothing came of the run: ", context.Cause(ctx))
	return events.Event{}
}

// trained returns the outcome of events that must lead to a model.
func trained(t *testing.T, evs ...events.Event) *events.ModelTrained {
	t.Helper()
	event := outcome(t, evs...)
	if failed, ok := event.Data.(*events.TrainingFailed); ok {
		t.Fatalf("training failed: %s: %s\n%s", failed.Reason, failed.Message, failed.LogTail)
	}
	return event.Data.(*events.ModelTrained)
}

func TestWhatAKilledStackLeftBehindIsRemoved(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(lost); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v, want none", lost, err)
	}
}

func TestEventsBecomeAModel(t *testing.T) {
	t.Parallel()
	got := trained(t, demo.Events(penguins(), "becomes-a-model")...)
	if got.Metrics["accuracy"] < 0.9 {
		t.Errorf("accuracy %v on the eval split", got.Metrics["accuracy"])
	}
	if s := got.Skew; s == nil || !s.Raw || s.Rows != 100 || s.NotCompared != "" {
		t.Errorf("skew %+v, want raw rows to be compared", s)
	}
	ref, err := storage.ParseRef(got.Model.URI)
	if err != nil {
		t.Fatal(err)
	}
	staged, err := storage.StageIn(t.Context(), shared.Store, ref, t.TempDir(), storage.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if staged.Digest != got.Model.Digest {
		t.Errorf("model digest %s, the event says %s", staged.Digest, got.Model.Digest)
	}
}

const raw = `
pipeline: penguin-raw
module: builtin:dnn
trainer:
  wait_for: [examples]
  train_args: {num_steps: 100}
  custom_config: {label: species, batch_size: 20, hidden_units: [8], learning_rate: 0.01}
`

func TestRawExamplesAndASchemaBecomeAModel(t *testing.T) {
	t.Parallel()
	spec, err := pipeline.Parse("raw.yaml", []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dispatch.Apply(t.Context(), shared.Bus, spec); err != nil {
		t.Fatal(err)
	}
	got := trained(t, events.Event{ID: "raw", Source: "/test", Pipeline: "penguin-raw", Run: "raw", Data: &events.ExamplesReady{
		Examples: []events.Examples{{URI: penguins().Join("examples").String(), Splits: []string{"train", "eval"}}},
		Schema:   penguins().Join("schema").String(),
	}})
	if got.Metrics["accuracy"] < 0.9 {
		t.Errorf("accuracy %v on the eval split", got.Metrics["accuracy"])
	}
}

// damaged uploads the demo's transformed examples under another address, with the train split
// changed.
func damaged(t *testing.T, name string, change func(file []byte) []byte) string {
	t.Helper()
	root := shared.Root.Join("damaged", name)
	for _, split := range []string{"train", "eval"} {
		file := "Split-" + split + "/transformed_examples-00000-of-00001.gz"
		body, err := os.ReadFile(filepath.Join("..", "..", "..", "local", "demo", "data", "transformed_examples", file))
		if err != nil {
			t.Fatal(err)
		}
		if split == "train" {
			body = change(body)
		}
		if _, err := shared.Store.Put(t.Context(), root.Join(file), bytes.NewReader(body), int64(len(body))); err != nil {
			t.Fatal(err)
		}
	}
	return root.String()
}

// rewritten replaces one record of a gzip TFRecord file.
func rewritten(t *testing.T, file []byte, number int, replace func(payload []byte) []byte) []byte {
	t.Helper()
	reader := tfrecord.NewReader("file", bytes.NewReader(file))
	defer reader.Close()
	var out bytes.Buffer
	writer := tfrecord.NewGzipWriter(&out)
	for i := 0; ; i++ {
		payload, err := reader.Next()
		if err != nil {
			break
		}
		if i == number {
			payload = replace(bytes.Clone(payload))
		}
		if err := writer.Append(payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ofAnotherType returns a penguin whose culmen depth is an integer.
func ofAnotherType() []byte {
	var b example.Builder
	return b.Float("body_mass_g_xf", 0).Int64("culmen_depth_mm_xf", 1).Float("culmen_length_mm_xf", 0).
		Float("flipper_length_mm_xf", 0).Int64("species_xf", 1).Build()
}

func TestBadInputEndsInOneClearErrorAndTheWorkerLivesOn(t *testing.T) {
	t.Parallel()
	data := func(change func(*events.TransformReady)) *events.TransformReady {
		ready := *demo.Events(penguins(), "x")[1].Data.(*events.TransformReady)
		change(&ready)
		return &ready
	}
	examples := func(uri string) func(*events.TransformReady) {
		return func(r *events.TransformReady) {
			r.TransformedExamples = []events.Examples{{URI: uri, Splits: []string{"train", "eval"}}}
		}
	}
	upload := func(key, body string) string {
		ref := shared.Root.Join("damaged", key)
		if _, err := shared.Store.Put(t.Context(), ref, strings.NewReader(body), int64(len(body))); err != nil {
			t.Fatal(err)
		}
		return ref.String()
	}
	const file = "transformed_examples-00000-of-00001.gz"
	for name, tc := range map[string]struct {
		data *events.TransformReady
		says []string
	}{
		"a truncated file": {
			data(examples(damaged(t, "truncated", func(b []byte) []byte { return b[:len(b)/2] }))), []string{file, "record"},
		},
		"a flipped bit": {
			data(examples(damaged(t, "flipped", func(b []byte) []byte { b[len(b)/2] ^= 0x10; return b }))), []string{file, "record"},
		},
		"a file that is no gzip": {
			data(examples(damaged(t, "text", func([]byte) []byte { return []byte("these are no examples") }))), []string{file, "gzip"},
		},
		"a feature of another type": {
			data(examples(damaged(t, "type", func(b []byte) []byte {
				return rewritten(t, b, 7, func([]byte) []byte { return ofAnotherType() })
			}))), []string{file, "record 7", "culmen_depth_mm_xf", "int64", "float"},
		},
		"a feature that is not there": {
			data(examples(damaged(t, "absent", func(b []byte) []byte {
				return rewritten(t, b, 7, func(payload []byte) []byte {
					return bytes.Replace(payload, []byte("culmen_depth_mm_xf"), []byte("culmen_depth_mm_xg"), 1)
				})
			}))), []string{file, "record 7", "culmen_depth_mm_xf"},
		},
		"a missing split": {
			data(func(r *events.TransformReady) {
				r.TransformedExamples[0].URI = upload("nosplit/Split-train/data", "x")[:len("s3://stoker/damaged/nosplit")]
			}),
			[]string{`split "eval"`, "Split-train"},
		},
		"a schema that does not parse": {
			data(func(r *events.TransformReady) { r.Schema = upload("schema/schema.pbtxt", "feature {\n  name: \n}") }),
			[]string{"schema.pbtxt", "line"},
		},
		"an artifact that is not there": {
			data(func(r *events.TransformReady) { r.TransformGraph = "s3://stoker/nowhere" }), []string{"transform_graph", "s3://stoker/nowhere"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := "bad " + name
			evs := demo.Events(penguins(), run)
			evs[0].ID, evs[1].ID = "h-"+strings.ReplaceAll(name, " ", "-"), "t-"+strings.ReplaceAll(name, " ", "-")
			evs[1].Data = tc.data
			event := outcome(t, evs...)
			failed, ok := event.Data.(*events.TrainingFailed)
			if !ok {
				t.Fatalf("it became a model: %+v", event.Data)
			}
			if failed.Reason != events.FailureInput {
				t.Errorf("kind %s", failed.Reason)
			}
			for _, part := range tc.says {
				if !strings.Contains(failed.Message, part) {
					t.Errorf("%q does not say %q", failed.Message, part)
				}
			}
			deadLetteredWith(t, run, failed.Message)
			nothingVisible(t, failed.Execution)
		})
	}
}

// deadLetteredWith finds the run's job in DEAD, with the reason and the events it was made from.
func deadLetteredWith(t *testing.T, run, reason string) {
	t.Helper()
	for deadLetter, err := range shared.Bus.DeadLetters(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		job, err := events.DecodeJob(deadLetter.Message.Body)
		if err != nil || job.Run != run {
			continue
		}
		if deadLetter.Reason.Message != reason || len(deadLetter.Causes) != 2 {
			t.Errorf("dead letter says %q, with %d events", deadLetter.Reason.Message, len(deadLetter.Causes))
		}
		return
	}
	t.Errorf("no dead letter for run %q", run)
}

// nothingVisible checks that there is nothing that a reader could take for an artifact of the
// execution, or for its commit. A failure without an execution has no objects in the store: its
// inputs were rejected before.
func nothingVisible(t *testing.T, execution string) {
	t.Helper()
	if execution == "" {
		return
	}
	hex := strings.TrimPrefix(execution, "sha256:")
	for object, err := range shared.Store.List(t.Context(), shared.Root.Join(demo.PipelineName, "Trainer/")) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(object.Ref.Key, hex) && filepath.Base(object.Ref.Key) != "log.txt" {
			t.Errorf("visible: %s", object.Ref)
		}
	}
}

func TestEventsThatAreNoEventsBecomeDeadLettersAsTheyCame(t *testing.T) {
	t.Parallel()
	nc, err := nats.Connect(shared.Connection().NATS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	for name, tc := range map[string]struct{ body, field string }{
		"unknown type": {`{"specversion":"1.0","id":"1","source":"/up","type":"dev.stoker.examples.eaten.v1","subject":"penguin","run":"a","data":{}}`, "type"},
		"no run":       {`{"specversion":"1.0","id":"1","source":"/up","type":"dev.stoker.examples.ready.v1","subject":"penguin","data":{"examples":[{"uri":"s3://b/x"}]}}`, "run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := "events.examples-ready.penguin." + strings.ReplaceAll(name, " ", "-")
			message := &nats.Msg{Subject: subject, Data: []byte(tc.body), Header: nats.Header{"Content-Type": {"application/cloudevents+json"}}}
			if _, err := nc.RequestMsgWithContext(t.Context(), message); err != nil {
				t.Fatal(err)
			}
			deadLetter := awaitDeadLetter(t, subject)
			if string(deadLetter.Message.Body) != tc.body || deadLetter.Reason.Field != tc.field {
				t.Errorf("dead letter %+v", deadLetter)
			}
		})
	}
}

// awaitDeadLetter waits for the dead letter of a message on subject.
func awaitDeadLetter(t *testing.T, subject string) events.DeadLetter {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		for deadLetter, err := range shared.Bus.DeadLetters(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if deadLetter.Message.Subject == subject {
				return deadLetter
			}
		}
		time.Sleep(10 * time.Millisecond) // DEAD can't be followed: poll
	}
	t.Fatal("not dead-lettered")
	return events.DeadLetter{}
}
