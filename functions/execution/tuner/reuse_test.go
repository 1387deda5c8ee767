package tuner_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

const (
	changed = "pipeline: penguin\nmodule: ./penguin_utils.py\ntuner: {when: changed, train_args: {num_steps: 5}}\n"
	weekly  = "pipeline: penguin\nmodule: ./penguin_utils.py\ntuner: {when: {every: 7d}, train_args: {num_steps: 5}}\n"
	day     = 24 * time.Hour
)

// searched is the second of the bench's clock at which every search is made.
var searched = time.Unix(1, 0).UTC()

// put adds objects below s3://stoker/.
func (b *bench) put(t *testing.T, objects map[string]string) {
	t.Helper()
	for key, body := range objects {
		if _, err := b.store.Put(t.Context(), storage.Ref{Bucket: "stoker", Key: key}, strings.NewReader(body), int64(len(body))); err != nil {
			t.Fatal(err)
		}
	}
}

// first makes the pipeline's first search.
func (b *bench) first(t *testing.T, spec string) *events.HParamsReady {
	t.Helper()
	b.put(t, map[string]string{
		"up/tx2/Split-train/data-0": "other rows", "up/tx2/Split-eval/data-0": "other rows", "up/schema/schema.pbtxt": "a schema",
		"up/usual/Split-train/FeatureStats.pb": wordsOf(50, 50), "up/close/Split-train/FeatureStats.pb": wordsOf(52, 48), "up/far/Split-train/FeatureStats.pb": wordsOf(90, 10),
		"up/eval/Split-eval/FeatureStats.pb":          wordsOf(50, 50),
		"up/graph2/transformed_metadata/schema.pbtxt": "", "up/graph2/transform_fn/saved_model.pb": "\x08\x01\x12\x16\x0a\x07\x22\x05serve\x12\x0b\x0a\x09\x0a\x01n\x12\x04NoOp",
	})
	j := job(t, "j1", "monday", spec)
	j.Inputs.Statistics = "s3://stoker/up/usual"
	published, err := b.handle(t, j, events.Attempt{ID: "a1", Number: 1})
	if err != nil || published.Reused {
		t.Fatalf("the first search: %+v, %v", published, err)
	}
	return published
}

// next returns the job of the pipeline's next run, on other data, a day later.
func next(t *testing.T, spec string, last *events.HParamsReady) events.Job {
	t.Helper()
	j := job(t, "j2", "tuesday", spec)
	j.Inputs.TransformedExamples[0].URI = "s3://stoker/up/tx2"
	j.Inputs.Hyperparameters = last.Hyperparameters
	j.Created = searched.Add(day)
	return j
}

func TestASearchIsReusedUntilAnotherIsDue(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec   string
		change func(t *testing.T, b *bench, j *events.Job)
		reused bool
	}{
		"other data":                      {changed, func(*testing.T, *bench, *events.Job) {}, true},
		"the same graph, written again":   {changed, graph("up/graph3", "\x08\x01\x12\x09\x0a\x07\x22\x05serve"), true},
		"statistics of much the same":     {changed, statistics("up/close"), true},
		"statistics of drifted data":      {changed, statistics("up/far"), false},
		"drifted, but all is allowed":     {strings.Replace(changed, "when: changed", "when: changed, drift: 1", 1), statistics("up/far"), true},
		"close, but nothing is allowed":   {strings.Replace(changed, "when: changed", "when: changed, drift: 0", 1), statistics("up/close"), false},
		"statistics without the split":    {changed, statistics("up/eval"), false},
		"no statistics":                   {changed, func(_ *testing.T, _ *bench, j *events.Job) { j.Inputs.Statistics = "" }, true},
		"earlier statistics are gone":     {changed, lost("up/usual", "up/close"), false},
		"earlier ones gone, same as now":  {changed, lost("up/other", "up/usual"), true},
		"drifted, and searched last week": {weekly, statistics("up/far"), true},
		"another graph":                   {changed, func(_ *testing.T, _ *bench, j *events.Job) { j.Inputs.TransformGraph = "s3://stoker/up/graph2" }, false},
		"a schema":                        {changed, func(_ *testing.T, _ *bench, j *events.Job) { j.Inputs.Schema = "s3://stoker/up/schema" }, false},
		"another module":                  {changed, func(_ *testing.T, b *bench, _ *events.Job) { b.runner.digest = "sha256:other" }, false},
		"force":                           {changed, func(_ *testing.T, _ *bench, j *events.Job) { j.Salt = "salt" }, false},
		"a lost one made again":           {changed, func(_ *testing.T, _ *bench, j *events.Job) { j.Generation = 1 }, false},
		"no earlier search":               {changed, func(_ *testing.T, _ *bench, j *events.Job) { j.Inputs.Hyperparameters = "" }, false},
		"found by others":                 {changed, func(_ *testing.T, _ *bench, j *events.Job) { j.Inputs.Hyperparameters = "s3://stoker/elsewhere/best" }, false},
		"the values are gone":             {changed, lose("best_hyperparameters"), false},
		"the results are gone":            {changed, lose("tuner_results"), false},
		"younger than a week":             {weekly, func(_ *testing.T, _ *bench, j *events.Job) { j.Created = searched.Add(7*day - 1) }, true},
		"a week old":                      {weekly, func(_ *testing.T, _ *bench, j *events.Job) { j.Created = searched.Add(7 * day) }, false},
		"young, another graph":            {weekly, func(_ *testing.T, _ *bench, j *events.Job) { j.Inputs.TransformGraph = "s3://stoker/up/graph2" }, true},
		"young, but force":                {weekly, func(_ *testing.T, _ *bench, j *events.Job) { j.Salt = "salt" }, false},
		"young, found by others":          {weekly, func(_ *testing.T, _ *bench, j *events.Job) { j.Inputs.Hyperparameters = "s3://stoker/elsewhere/best" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, search)
			last := b.first(t, tc.spec)
			j := next(t, tc.spec, last)
			tc.change(t, b, &j)
			got, err := b.handle(t, j, events.Attempt{ID: "a2", Number: 1})
			if err != nil {
				t.Fatal(err)
			}
			if got.Reused != tc.reused || got.Cached || (b.runner.runs.Load() == 1) != tc.reused || (got.Hyperparameters == last.Hyperparameters) != tc.reused {
				t.Errorf("published %+v after %d searches, reused: want %t", got, b.runner.runs.Load(), tc.reused)
			}
		})
	}
}

// A pipeline that waits for Transform alone uses the statistics in its transform.ready.
func TestDriftIsSeenInTheStatisticsOfATransform(t *testing.T) {
	t.Parallel()
	for key, reused := range map[string]bool{"up/close": true, "up/far": false} {
		b := setup(t, search)
		last := b.first(t, changed)
		j := next(t, changed, last)
		pinned, _ := join.EventOf(events.Recorded{Event: events.Event{ID: "t", Source: "/test", Pipeline: j.Pipeline, Run: j.Run, Data: &events.TransformReady{
			TransformGraph: j.Inputs.TransformGraph, TransformedExamples: j.Inputs.TransformedExamples, Statistics: "s3://stoker/" + key,
		}}})
		pinned.Inputs.Hyperparameters = last.Hyperparameters
		j.Inputs = pinned.Inputs
		if got, err := b.handle(t, j, events.Attempt{ID: "a2", Number: 1}); err != nil || got.Reused != reused {
			t.Errorf("%s: %+v, %v; want reused: %t", key, got, err, reused)
		}
	}
}

// graph adds a transform graph to the store and gives it to the job.
func graph(key, saved string) func(*testing.T, *bench, *events.Job) {
	return func(t *testing.T, b *bench, j *events.Job) {
		t.Helper()
		b.put(t, map[string]string{key + "/transformed_metadata/schema.pbtxt": "", key + "/transform_fn/saved_model.pb": saved, key + "/transform_fn/fingerprint.pb": key})
		j.Inputs.TransformGraph = "s3://stoker/" + key
	}
}

// statistics gives the job the statistics of its data.
func statistics(key string) func(*testing.T, *bench, *events.Job) {
	return func(_ *testing.T, _ *bench, j *events.Job) { j.Inputs.Statistics = "s3://stoker/" + key }
}

// lost removes statistics and gives the job others.
func lost(gone, now string) func(*testing.T, *bench, *events.Job) {
	return func(t *testing.T, b *bench, j *events.Job) {
		t.Helper()
		if err := b.store.Delete(t.Context(), storage.Ref{Bucket: "stoker", Key: gone + "/Split-train/FeatureStats.pb"}); err != nil && !errors.Is(err, storage.ErrNotFound) {
			t.Fatal(err)
		}
		j.Inputs.Statistics = "s3://stoker/" + now
	}
}

// wordsOf returns the statistics of a feature with two words that occur so often.
func wordsOf(a, b byte) string {
	bucket := func(word string, count byte) string {
		return "\x0a\x0c\x22\x01" + word + string(protowire.AppendFixed64([]byte{0x29}, math.Float64bits(float64(count))))
	}
	ranks := bucket("a", a) + bucket("b", b)
	text := "\x2a" + string(rune(len(ranks))) + ranks
	feature := "\x0a\x01w\x22" + string(rune(len(text))) + text
	data := "\x1a" + string(rune(len(feature))) + feature
	return "\x0a" + string(rune(len(data))) + data
}

// lose removes an output of the first search.
func lose(output string) func(*testing.T, *bench, *events.Job) {
	return func(t *testing.T, b *bench, j *events.Job) {
		t.Helper()
		for object, err := range b.store.List(t.Context(), storage.Ref{Bucket: "stoker", Key: "penguin/Tuner/" + output + "/"}) {
			if err != nil {
				t.Fatal(err)
			}
			if err := b.store.Delete(t.Context(), object.Ref); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A reused result is published as the run's own, complete, and once however often the job is
// delivered.
func TestAReusedResultIsPublishedCompletely(t *testing.T) {
	t.Parallel()
	b := setup(t, search)
	last := b.first(t, changed)
	j := next(t, changed, last)
	var ids []string
	for _, attempt := range []string{"a2", "a3"} {
		evs, err := b.tuner.Handle(t.Context(), worker.Task{
			Job: j, Attempt: events.Attempt{ID: attempt, Number: 1}, Report: func(events.Progress) {}, Prove: func() error { return nil },
		})
		if err != nil || len(evs) != 1 || evs[0].Validate() != nil {
			t.Fatalf("%+v, %v", evs, err)
		}
		got := evs[0].Data.(*events.HParamsReady)
		if *got.Score != *last.Score || got.Values["units"] != 8.0 || got.Study != last.Study || got.Execution != last.Execution || evs[0].Run != "tuesday" {
			t.Errorf("published %+v, it was %+v", got, last)
		}
		ids = append(ids, evs[0].ID)
	}
	if first, _ := events.SkippedIDs("penguin", "tuesday"); ids[0] != ids[1] || ids[0] == first {
		t.Errorf("published as %q", ids)
	}
}

// An earlier search that a job may reuse is not part of its search's identity: another run that
// asks for the same finds it.
func TestWhatAJobMayReuseDecidesNothingAboutItsSearch(t *testing.T) {
	t.Parallel()
	b := setup(t, search)
	last := b.first(t, changed)
	j := next(t, changed, last)
	j.Inputs.TransformGraph = "s3://stoker/up/graph2"
	found, err := b.handle(t, j, events.Attempt{ID: "a2", Number: 1})
	if err != nil || found.Reused {
		t.Fatalf("%+v, %v", found, err)
	}
	j.ID, j.Run, j.Inputs.Hyperparameters = "j3", "wednesday", "s3://stoker/elsewhere/best"
	again, err := b.handle(t, j, events.Attempt{ID: "a3", Number: 1})
	if err != nil || !again.Cached || again.Execution != found.Execution || b.runner.runs.Load() != 2 {
		t.Errorf("%+v, %v after %d searches", again, err, b.runner.runs.Load())
	}
	if given := b.runner.given; given.Hyperparameters != nil || given.Call != module.CallTune {
		t.Errorf("the search got hyperparameters: %+v", given.Hyperparameters)
	}
}

// A result of another pipeline is treated as one that others made: its module may differ, whatever
// its digest.
func TestAnotherPipelinesSearchIsNotReused(t *testing.T) {
	t.Parallel()
	b := setup(t, search)
	other := job(t, "j0", "monday", changed)
	other.Pipeline = "taxi"
	last, err := b.handle(t, other, events.Attempt{ID: "a0", Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	b.first(t, changed)
	if got, err := b.handle(t, next(t, changed, last), events.Attempt{ID: "a2", Number: 1}); err != nil || got.Reused {
		t.Errorf("published %+v, %v", got, err)
	}
}
