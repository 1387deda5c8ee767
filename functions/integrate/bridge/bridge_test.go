package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// world is a bridge between a bucket and an in-memory bus.
type world struct {
	*testing.T
	bus    *bustest.Memory
	store  *storagetest.Memory
	bridge *bridge.Bridge
}

func setup(t *testing.T, opts bridge.Options) world {
	t.Helper()
	w := world{T: t, bus: bustest.NewMemory(time.Second), store: storagetest.NewMemory("data")}
	w.bridge = open(t, w.bus, w.store, opts)
	return w
}

func open(t *testing.T, bus bridge.Bus, store storage.Store, opts bridge.Options) *bridge.Bridge {
	t.Helper()
	b, err := bridge.New(bus, store, opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put uploads an object, without a notification.
func (w world) put(key, body string) {
	w.Helper()
	at := storage.Ref{Bucket: "data", Key: key}
	if _, err := w.store.Put(w.Context(), at, strings.NewReader(body), int64(len(body))); err != nil {
		w.Fatal(err)
	}
}

// folder uploads an artifact with two splits, without a marker.
func (w world) folder(name string) {
	w.Helper()
	for _, split := range []string{"train", "eval"} {
		w.put(name+"/Split-"+split+"/part-0.gz", "x")
	}
	w.put(name+"/Split-notes.txt", "x")
	w.put(name+"/Splitter/a", "x")
}

// message returns the current notification of one key, as MinIO sends it.
func (w world) message(key, version string, metadata map[string]string) string {
	w.Helper()
	encoded, err := json.Marshal(metadata)
	if err != nil {
		w.Fatal(err)
	}
	etag := "of an object that is gone"
	if object, err := w.store.Stat(w.Context(), storage.Ref{Bucket: "data", Key: key}); err == nil {
		etag = object.ETag
	}
	return fmt.Sprintf(`{"EventName": "s3:ObjectCreated:Put", "Key": "data/%s", "Records": [{"eventVersion": "2.0", "eventSource": "minio:s3",
		"eventTime": "2026-01-02T03:04:05.678Z", "eventName": "s3:ObjectCreated:Put", "s3": {"configurationId": "Config",
		"bucket": {"name": "data"}, "object": {"key": %q, "eTag": %q, "sequencer": %q, "userMetadata": %s}}}]}`,
		key, url.QueryEscape(key), etag, version, encoded)
}

func (w world) notify(body string) {
	w.Helper()
	if err := w.bus.Inject(w.Context(), "buckets.data", nil, []byte(body)); err != nil {
		w.Fatal(err)
	}
}

// drain handles every waiting notification.
func (w world) drain() {
	w.Helper()
	for {
		err := w.bridge.Next(w.Context(), 0)
		if errors.Is(err, events.ErrEmpty) {
			return
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

func (w world) events() []events.Event { w.Helper(); return eventsOf(w.T, w.bus) }

// eventsOf reads all events.
func eventsOf(t *testing.T, log events.EventLog) []events.Event {
	t.Helper()
	var evs []events.Event
	for recorded, err := range log.Read(t.Context(), events.Query{}) {
		if err = errors.Join(err, recorded.Err); err != nil {
			t.Fatal(err)
		}
		evs = append(evs, recorded.Event)
	}
	return evs
}

func (w world) dead() []events.DeadLetter {
	w.Helper()
	var deadLetters []events.DeadLetter
	for deadLetter, err := range w.bus.DeadLetters(w.Context()) {
		if err != nil {
			w.Fatal(err)
		}
		deadLetters = append(deadLetters, deadLetter)
	}
	return deadLetters
}

// only returns the only event there is.
func (w world) only() events.Event {
	w.Helper()
	evs := w.events()
	if deadLetters := w.dead(); len(evs) != 1 || len(deadLetters) != 0 {
		w.Fatalf("got events %+v and dead letters %+v, want one event", evs, deadLetters)
	}
	return evs[0]
}

func TestAnEmptyMarkerAnnouncesItsFolder(t *testing.T) {
	t.Parallel()
	w := setup(t, bridge.Options{})
	w.folder("penguin/monday 1+2")
	w.put("penguin/monday 1+2/_SUCCESS", "")
	w.notify(w.message("penguin/monday 1+2/_SUCCESS", "1", map[string]string{"X-Amz-Meta-Pipeline": "penguin", "content-type": "text/plain"}))
	w.drain()
	event := w.only()
	if event.Pipeline != "penguin" || event.Run != "monday 1+2" || event.Source != "/stoker/bridge" {
		t.Errorf("got %+v", event)
	}
	if !event.Time.Equal(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)) {
		t.Errorf("the time is %s", event.Time)
	}
	want := &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://data/penguin/monday 1+2", Splits: []string{"eval", "train"}}}}
	if !reflect.DeepEqual(event.Data, want) {
		t.Errorf("got  %+v\nwant %+v", event.Data, want)
	}
}

func TestAMarkerSaysInItsBodyWhatItsFolderIs(t *testing.T) {
	t.Parallel()
	w := setup(t, bridge.Options{Pipeline: "other"})
	w.put("penguin/monday/_SUCCESS", `{"pipeline": "penguin", "run": "2026-01-02", "schema": "../schema", "force": true,
		"examples": [{"uri": ".", "splits": ["train"], "span": 3}, {"uri": "more/"}, {"uri": "s3://elsewhere/x"}], "statistics": "s3://data/stats"}`)
	w.notify(w.message("penguin/monday/_SUCCESS", "1", nil))
	w.drain()
	event := w.only()
	want := &events.ExamplesReady{
		Examples: []events.Examples{
			{URI: "s3://data/penguin/monday", Splits: []string{"train"}, Span: 3},
			{URI: "s3://data/penguin/monday/more"},
			{URI: "s3://elsewhere/x"},
		},
		Schema: "s3://data/penguin/schema", Statistics: "s3://data/stats", Request: events.Request{Force: true},
	}
	if event.Pipeline != "penguin" || event.Run != "2026-01-02" || !reflect.DeepEqual(event.Data, want) {
		t.Errorf("got  %+v %+v\nwant %+v", event, event.Data, want)
	}
}

func TestAMarkerInAnOutputOfTransformAnnouncesItsGraph(t *testing.T) {
	t.Parallel()
	const graph = "tfx/Transform/transform_graph/5"
	marked := func(body string, more ...string) any {
		w := setup(t, bridge.Options{Pipeline: "penguin"})
		for _, key := range append(more, graph+"/transform_fn/saved_model.pb", graph+"/transformed_metadata/schema.pbtxt") {
			w.put(key, "x")
		}
		w.put(graph+"/_SUCCESS", body)
		w.notify(w.message(graph+"/_SUCCESS", "1", nil))
		w.drain()
		event := w.only()
		if event.Pipeline != "penguin" || event.Run != "5" {
			t.Errorf("got %+v", event)
		}
		return event.Data
	}
	examples := []events.Examples{{URI: "s3://data/tfx/Transform/transformed_examples/5", Splits: []string{"eval", "train"}}}
	for name, c := range map[string]struct {
		got  any
		want events.TransformReady
	}{
		"alone": {marked(""), events.TransformReady{TransformGraph: "s3://data/" + graph}},
		"with what it transformed": {
			marked("", "tfx/Transform/transformed_examples/5/Split-train/a.gz", "tfx/Transform/transformed_examples/5/Split-eval/a.gz"),
			events.TransformReady{TransformGraph: "s3://data/" + graph, TransformedExamples: examples},
		},
		"with what another execution transformed": {
			marked("", "tfx/Transform/transformed_examples/4/Split-train/a.gz"), events.TransformReady{TransformGraph: "s3://data/" + graph},
		},
		"named": {
			marked(`{"transform_graph": ".", "transformed_examples": [{"uri": "../../other"}], "examples": [{"uri": "s3://raw/x"}], "schema": "../schema", "statistics": "../../statistics/5", "force": true}`),
			events.TransformReady{
				TransformGraph: "s3://data/" + graph, TransformedExamples: []events.Examples{{URI: "s3://data/tfx/Transform/other"}},
				Examples: []events.Examples{{URI: "s3://raw/x"}}, Schema: "s3://data/tfx/Transform/transform_graph/schema",
				Statistics: "s3://data/tfx/Transform/statistics/5", Request: events.Request{Force: true},
			},
		},
		"with examples named": {
			marked(`{"transformed_examples": [{"uri": "../../other"}]}`, "tfx/Transform/transformed_examples/5/Split-train/a.gz"),
			events.TransformReady{TransformGraph: "s3://data/" + graph, TransformedExamples: []events.Examples{{URI: "s3://data/tfx/Transform/other"}}},
		},
	} {
		if !reflect.DeepEqual(c.got, &c.want) {
			t.Errorf("%s: got  %+v\nwant %+v", name, c.got, &c.want)
		}
	}
}

func TestAMarkerInAnOutputOfATunerAnnouncesItsHyperparameters(t *testing.T) {
	t.Parallel()
	score := 0.97
	for body, want := range map[string]events.HParamsReady{
		"": {Hyperparameters: "s3://data/tfx/Tuner/best_hyperparameters/7"},
		`{"hyperparameters": "../8", "values": {"units": 8}, "score": 0.97, "objective": "accuracy", "study": "katib-1", "force": true}`: {
			Hyperparameters: "s3://data/tfx/Tuner/best_hyperparameters/8", Values: map[string]any{"units": 8.0}, Score: &score, Objective: "accuracy",
			Study: "katib-1", Request: events.Request{Force: true},
		},
	} {
		w := setup(t, bridge.Options{Pipeline: "penguin"})
		w.put("tfx/Tuner/best_hyperparameters/7/best_hyperparameters.txt", "{}")
		w.put("tfx/Tuner/best_hyperparameters/7/_SUCCESS", body)
		w.notify(w.message("tfx/Tuner/best_hyperparameters/7/_SUCCESS", "1", map[string]string{"x-amz-meta-run": "monday"}))
		w.drain()
		event := w.only()
		if event.Pipeline != "penguin" || event.Run != "monday" || !reflect.DeepEqual(event.Data, &want) {
			t.Errorf("got  %+v %+v\nwant %+v", event, event.Data, want)
		}
	}
}

// Names that only begin like TFX's are no artifact.
func TestAFolderThatHoldsNoArtifactAnnouncesNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, bridge.Options{Pipeline: "penguin"})
	for _, key := range []string{"x/transform_fn", "x/transform_fn.bak/a", "x/best_hyperparameters.txt.old", "x/best_hyperparameters.txt/a"} {
		w.put(key, "x")
	}
	w.put("x/_SUCCESS", "")
	w.notify(w.message("x/_SUCCESS", "1", nil))
	w.drain()
	w.wantDeadLetter("got none of them", "")
}

// Input that a producer may have meant for a bridge, and that it does not use, is logged.
func TestWhatIsNotUsedIsLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	w := setup(t, bridge.Options{Pipeline: "penguin", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	w.folder("monday")
	w.put("monday/_SUCCESS", "")
	w.notify(w.message("monday/_SUCCESS", "1", map[string]string{"X-Amz-Meta-Source": "spark"}))
	w.notify(w.message("monday/_success", "1", nil))
	w.notify(w.message("monday/data.gz", "1", nil))
	w.drain()
	w.only()
	for _, want := range []string{"metadata of a marker ignored", "name=source", "upload ignored: it is not a marker", "key=monday/_success marker=_SUCCESS"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), "data.gz") {
		t.Errorf("files are logged:\n%s", &log)
	}
}

// An event without the metadata that a producer mistyped would start the wrong pipeline.
func TestMetadataThatWouldBeDroppedIsRefused(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]string{
		"pipelin":         "metadata.pipelin: expected one of pipeline, run, schema, statistics, traceparent, tracestate in a marker's metadata, got pipelin; did you mean pipeline?",
		"Piepline":        "did you mean pipeline?",
		"runs":            "did you mean run?",
		"trace-parent":    "did you mean traceparent?",
		"hyperparameter":  "did you mean hyperparameters?",
		"examples":        "; examples is read only in its body, got examples",
		"transform-graph": "; transform_graph is read only in its body, got transform-graph",
		"stoker-team":     "metadata.stoker-team: expected one of pipeline, run",
		"stoker_run":      "metadata.stoker_run: expected one of pipeline, run",
	} {
		w := setup(t, bridge.Options{Pipeline: "penguin"})
		w.folder("monday")
		w.put("monday/_SUCCESS", "")
		w.notify(w.message("monday/_SUCCESS", "1", map[string]string{"X-Amz-Meta-" + name: "taxi"}))
		w.drain()
		w.wantDeadLetter(reason, "metadata."+strings.ToLower(name))
	}
}

func TestMetadataOfOtherToolsIsNoMistake(t *testing.T) {
	t.Parallel()
	w := setup(t, bridge.Options{Pipeline: "penguin"})
	w.folder("monday")
	w.put("monday/_SUCCESS", "")
	others := map[string]string{}
	for _, name := range []string{"mtime", "md5chksum", "s3cmd-attrs", "source", "user", "rev", "sum", "job", "run-host", "version", "date", "sha256"} {
		others["X-Amz-Meta-"+name] = "x"
	}
	w.notify(w.message("monday/_SUCCESS", "1", others))
	w.drain()
	w.only()
}

func TestMetadataComesBeforeBodyBeforeDefaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		metadata      map[string]string
		body          string
		pipeline, run string
	}{
		"metadata": {
			map[string]string{"X-Amz-Meta-Pipeline": "of-metadata", "X-Amz-Meta-Run": "metadata"},
			`{"pipeline": "of-body", "run": "body"}`, "of-metadata", "metadata",
		},
		"body":     {nil, `{"pipeline": "of-body", "run": "body"}`, "of-body", "body"},
		"each":     {map[string]string{"x-amz-meta-run": "metadata"}, `{"pipeline": "of-body"}`, "of-body", "metadata"},
		"defaults": {nil, " \n", "of-option", "monday"},
		"spark's":  {nil, `{"name": "org.apache.hadoop.fs.s3a.commit.files.SuccessData/1", "filenames": ["/a"]}`, "of-option", "monday"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, bridge.Options{Pipeline: "of-option"})
			w.folder("penguin/monday")
			w.put("penguin/monday/_SUCCESS", c.body)
			w.notify(w.message("penguin/monday/_SUCCESS", "1", c.metadata))
			w.drain()
			if event := w.only(); event.Pipeline != c.pipeline || event.Run != c.run {
				t.Errorf("got pipeline %s, run %s", event.Pipeline, event.Run)
			}
		})
	}
}

// A producer can set the trace in which the run continues: in the object's metadata, or in its
// body.
func TestAMarkerSaysTheTraceOfItsRun(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, c := range map[string]struct {
		metadata map[string]string
		body     string
	}{
		"metadata": {map[string]string{"X-Amz-Meta-Traceparent": parent, "X-Amz-Meta-Tracestate": "rojo=1"}, ""},
		"body":     {nil, `{"traceparent": "` + parent + `", "tracestate": "rojo=1"}`},
	} {
		w := setup(t, bridge.Options{Pipeline: "penguin"})
		w.folder("monday")
		w.put("monday/_SUCCESS", c.body)
		w.notify(w.message("monday/_SUCCESS", "1", c.metadata))
		w.drain()
		if event := w.only(); event.Trace != parent || event.TraceState != "rojo=1" {
			t.Errorf("%s: got %q with %q", name, event.Trace, event.TraceState)
		}
	}
}

func TestOneNotificationIsOneEventHoweverOftenItComes(t *testing.T) {
	t.Parallel()
	w := setup(t, bridge.Options{Pipeline: "penguin"})
	w.folder("monday")
	w.put("monday/_SUCCESS", "")
	for range 3 {
		w.notify(w.message("monday/_SUCCESS", "1", nil))
		w.drain()
	}
	w.only()
	w.notify(w.message("monday/_SUCCESS", "2", nil)) // written again
	w.drain()
	if evs := w.events(); len(evs) != 2 || evs[0].ID == evs[1].ID {
		t.Errorf("after a second upload: %+v", evs)
	}
}

// Each notification refers to the body that it named: a bridge that was down does not read a newer
// one in its place.
func TestAMarkerThatWasOverwrittenIsADeadLetterOfItsOwn(t *testing.T) {
	t.Parallel()
	w := setup(t, bridge.Options{Pipeline: "penguin"})
	w.folder("latest")
	for _, run := range []string{"monday", "tuesday"} {
		w.put("latest/_SUCCESS", `{"run": "`+run+`"}`)
		w.notify(w.message("latest/_SUCCESS", run, nil))
	}
	w.drain()
	deadLetters := w.dead()
	if len(deadLetters) != 1 || !strings.Contains(deadLetters[0].Reason.Message, "latest/_SUCCESS: it was overwritten after its notification") {
		t.Errorf("dead letters %+v, want one that says so", deadLetters)
	}
	if evs := w.events(); len(evs) != 1 || evs[0].Run != "tuesday" {
		t.Errorf("published %+v, want tuesday alone", evs)
	}
}

func TestWhatIsNoMarkerIsDoneInSilence(t *testing.T) {
	t.Parallel()
	w := setup(t, bridge.Options{Pipeline: "penguin", Marker: "READY"})
	for _, key := range []string{"monday/_SUCCESS", "monday/READY/", "monday/READY.txt", "monday/NOT_READY", "monday//x", "", "READY/part"} {
		w.notify(w.message(key, "1", nil))
	}
	w.notify(`{"Event": "s3:TestEvent"}`)
	w.drain()
	if evs, dead := w.events(), w.dead(); len(evs)+len(dead) > 0 {
		t.Errorf("got %+v, %+v", evs, dead)
	}
}

func TestWhatCanNeverBeAnEventBecomesADeadLetterWithItsReason(t *testing.T) {
	t.Parallel()
	const key = "penguin/monday/_SUCCESS"
	for name, c := range map[string]struct {
		key, body     string
		option        string
		reason, field string
	}{
		"no pipeline":                   {key: key, reason: "s3://data/penguin/monday/_SUCCESS: pipeline: missing", field: "pipeline"},
		"bad pipeline":                  {key: key, body: `{"pipeline": "A B"}`, reason: `expected 1 to 63 characters of a-z`, field: "subject"},
		"no JSON":                       {key: key, option: "p", body: "done", reason: "_SUCCESS: expected an empty body or a JSON object"},
		"wrong type":                    {key: key, option: "p", body: `{"examples": "."}`, reason: "examples"},
		"brings code":                   {key: key, option: "p", body: `{"pipeline_spec": {"module": "builtin:dnn"}}`, reason: "must not contain a pipeline", field: "pipeline_spec"},
		"bad address":                   {key: key, option: "p", body: `{"examples": [{"uri": "../../../.."}]}`, reason: "s3://bucket/key", field: "data.examples[0].uri"},
		"a member that nobody knows":    {key: key, option: "p", body: `{"committer": "magic"}`, reason: "committer: expected a member of markers: examples, force", field: "committer"},
		"one of an artifact":            {key: key, option: "p", body: `{"examples": [{"uri": ".", "split": "train"}]}`, reason: "split: expected a member", field: "split"},
		"statistics of hyperparameters": {key: key, option: "p", body: `{"hyperparameters": ".", "statistics": "../s"}`, reason: "none of these in a marker for hparams.ready", field: "statistics"},
		"values of examples":            {key: key, option: "p", body: `{"values": {"units": 8}}`, reason: "none of these in a marker for examples.ready", field: "values"},
		"two kinds":                     {key: key, option: "p", body: `{"transform_graph": ".", "hyperparameters": "."}`, reason: "none of these in a marker for transform.ready", field: "hyperparameters"},
		"transformed, without a graph":  {key: key, option: "p", body: `{"transformed_examples": [{"uri": "."}]}`, reason: "none of these in a marker for examples.ready", field: "transformed_examples"},
		"another world":                 {key: key, option: "p", body: `{"examples": [{"uri": "gs://bkt/x"}]}`, reason: "gs://bkt/x", field: "data.examples[0].uri"},
		"no splits":                     {key: "empty/_SUCCESS", option: "p", reason: "expected Split-<name> folders with files, transform_fn"},
		"no folder":                     {key: "_SUCCESS", option: "p", reason: "a whole bucket is not an artifact"},
		"no such thing":                 {key: "monday//_SUCCESS", option: "p", body: "-", reason: "holds an empty element"},
		"too long":                      {key: key, option: "p", body: strings.Repeat(" ", 513<<10), reason: "at most 524288 bytes, got 525312"},
		"gone":                          {key: key, option: "p", body: "-", reason: "s3://data/penguin/monday/_SUCCESS: it no longer exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, bridge.Options{Pipeline: c.option})
			w.folder("penguin/monday")
			if c.body != "-" {
				w.put(c.key, c.body)
			}
			w.notify(w.message(c.key, "1", nil))
			w.drain()
			w.wantDeadLetter(c.reason, c.field)
		})
	}
}

// wantDeadLetter checks that there is one dead letter and no event.
func (w world) wantDeadLetter(reason, field string) {
	w.Helper()
	deadLetters := w.dead()
	if len(deadLetters) != 1 || len(w.events()) > 0 {
		w.Fatalf("got dead letters %+v and events %+v, want one letter", deadLetters, w.events())
	}
	got := deadLetters[0]
	if !strings.Contains(got.Reason.Message, reason) || got.Reason.Field != field || got.Reason.Kind != events.FailureInput {
		w.Errorf("dead-lettered for %+v, want %q, field %q", got.Reason, reason, field)
	}
	if got.Message.Subject != "buckets.data" || len(got.Message.Body) == 0 {
		w.Errorf("dead-lettered %+v", got.Message)
	}
}

func TestForeignMessagesBecomeDeadLetters(t *testing.T) {
	t.Parallel()
	const unescaped = `{"Records": [{"eventName": "s3:ObjectCreated:Put", "s3": {"bucket": {"name": "data"}, "object": {"key": "%zz/_SUCCESS"}}}]}`
	for body, reason := range map[string]string{"hello": "read S3 event message", unescaped: `key "%zz/_SUCCESS"`} {
		w := setup(t, bridge.Options{})
		w.notify(body)
		w.drain()
		w.wantDeadLetter(reason, "")
	}
}

// A message may name several objects. If one is rejected, the others are handled.
func TestOneBadMarkerKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	w := setup(t, bridge.Options{Pipeline: "penguin"})
	w.folder("monday")
	w.put("monday/_SUCCESS", "")
	records := func(key string) string {
		_, after, _ := strings.Cut(w.message(key, "1", nil), `"Records": [`)
		return strings.TrimSuffix(after, "]}")
	}
	w.notify(`{"Records": [` + records("gone/_SUCCESS") + "," + records("monday/_SUCCESS") + `]}`)
	w.drain()
	if evs, deadLetters := w.events(), w.dead(); len(evs) != 1 || len(deadLetters) != 1 || !strings.Contains(deadLetters[0].Reason.Message, "gone/_SUCCESS") {
		t.Errorf("got %+v, %+v", evs, deadLetters)
	}
}

func TestWhileTheStoreIsAwayNotificationsWait(t *testing.T) {
	t.Parallel()
	for _, op := range []storagetest.Op{storagetest.OpOpen, storagetest.OpList} {
		synctest.Test(t, func(t *testing.T) {
			w := setup(t, bridge.Options{})
			w.folder("monday")
			w.put("monday/_SUCCESS", "")
			away := storagetest.Faulty(w.store, storagetest.Nth(op, 0, storagetest.Fault{Refuse: storage.ErrUnavailable}))
			w.bridge = open(t, w.bus, away, bridge.Options{Pipeline: "penguin"})
			w.notify(w.message("monday/_SUCCESS", "1", nil))
			if err := w.bridge.Next(t.Context(), 0); !errors.Is(err, storage.ErrUnavailable) {
				t.Fatalf("%s: got %v", op, err)
			}
			if evs, dead := w.events(), w.dead(); len(evs)+len(dead) > 0 {
				t.Fatalf("%s: got %+v, %+v", op, evs, dead)
			}
			if err := w.bridge.Next(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			w.only()
		})
	}
}

// If another publisher has used the id of a marker's event first, that is detected.
func TestAnEventOfAnotherPublisherIsADeadLetter(t *testing.T) {
	t.Parallel()
	first := setup(t, bridge.Options{Pipeline: "penguin"})
	second := setup(t, bridge.Options{Pipeline: "penguin"})
	for _, w := range []world{first, second} {
		w.folder("monday")
		w.put("monday/_SUCCESS", "")
	}
	first.notify(first.message("monday/_SUCCESS", "1", nil))
	first.drain()
	event := first.only()
	event.Source = "/elsewhere"
	if _, err := second.bus.Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	second.notify(second.message("monday/_SUCCESS", "1", nil))
	second.drain()
	if deadLetters := second.dead(); len(deadLetters) != 1 || !strings.Contains(deadLetters[0].Reason.Message, "is from source /elsewhere") {
		t.Errorf("got %+v", deadLetters)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]bridge.Options{
		"without its folder":           {Marker: "a/b"},
		`marker "..": no object`:       {Marker: ".."},
		"no object can have this name": {Marker: "a\nb"},
		"1 to 63 characters of a-z":    {Pipeline: "A B"},
	} {
		if _, err := bridge.New(nil, nil, opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v", opts, err)
		}
	}
}

// stuckLog publishes nothing until the request is cancelled.
type stuckLog struct{ *bustest.Memory }

func (stuckLog) Publish(ctx context.Context, _ events.Event) (events.Receipt, error) {
	<-ctx.Done()
	return events.Receipt{}, context.Cause(ctx)
}

// A notification that a stopped bridge was handling is redelivered to another one at once.
func TestANotificationOfAStoppingBridgeIsHandledByAnotherAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, bridge.Options{})
		w.bus = bustest.NewMemory(time.Minute)
		w.bridge = open(t, w.bus, w.store, bridge.Options{})
		w.folder("monday")
		w.put("monday/_SUCCESS", `{"pipeline": "penguin"}`)
		w.notify(w.message("monday/_SUCCESS", "1", nil))
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if err := open(t, stuckLog{w.bus}, w.store, bridge.Options{}).Next(ctx, time.Minute); !errors.Is(err, context.Canceled) {
			t.Fatalf("the stopped bridge says %v", err)
		}
		began := time.Now()
		if err := w.bridge.Next(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > 0 || len(w.events()) != 1 {
			t.Errorf("%d events are published, %v later", len(w.events()), waited)
		}
	})
}
