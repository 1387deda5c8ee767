package tuner_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck/modelchecktest"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

const (
	best    = `{"space": [{"class_name": "Int", "config": {"name": "units"}}], "values": {"units": 8, "tuner/epochs": 2}}`
	results = `[{"trial_id": "1", "score": 0.9, "units": 8}, {"trial_id": "0", "score": 0.5, "units": 4}]`
	spec    = `
pipeline: penguin
module: ./penguin_utils.py
trainer: {train_args: {num_steps: 100}, max_attempts: 2}
tuner: {when: always, train_args: {num_steps: 5}}
`
)

// search is a module that leaves the results of a search.
func search(a module.Assignment) error {
	return errors.Join(
		os.WriteFile(filepath.Join(a.BestHyperparametersDir, "best_hyperparameters.txt"), []byte(best), 0o600),
		os.WriteFile(filepath.Join(a.TunerResultsDir, "tuner_results.json"), []byte(results), 0o600))
}

// fakeRunner runs a module without a process.
type fakeRunner struct {
	modelchecktest.Here
	digest string // of the module; "": sha256:module

	runs  atomic.Int32
	given module.Assignment
	run   func(a module.Assignment, on func(module.Message)) error
	// nil: Here checks
	check func(context.Context, json.RawMessage, runner.Limits) (json.RawMessage, error)
}

func (g *fakeRunner) Check(ctx context.Context, question json.RawMessage, limits runner.Limits) (json.RawMessage, error) {
	if g.check != nil {
		return g.check(ctx, question, limits)
	}
	return g.Here.Check(ctx, question, limits)
}

func (g *fakeRunner) Digest(context.Context, module.Source) (string, error) {
	return cmp.Or(g.digest, "sha256:module"), nil
}

func (g *fakeRunner) Run(_ context.Context, a module.Assignment, limits runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	g.runs.Add(1)
	g.given = a
	if err := os.WriteFile(limits.LogPath, []byte("a line of log\n"), 0o600); err != nil {
		return runner.Outcome{}, err
	}
	return runner.Outcome{}, g.run(a, on)
}

// bench is one tuner on one store with staged upstream artifacts.
type bench struct {
	store  storage.Store
	runner *fakeRunner
	tuner  *tuner.Tuner
}

func setup(t *testing.T, run func(module.Assignment) error) *bench {
	t.Helper()
	b := &bench{store: storagetest.NewMemory(), runner: &fakeRunner{run: func(a module.Assignment, _ func(module.Message)) error { return run(a) }}}
	for key, body := range map[string]string{
		"up/tx/Split-train/data-0":                   "train rows",
		"up/tx/Split-eval/data-0":                    "eval rows",
		"up/graph/transformed_metadata/schema.pbtxt": "",
		"up/graph/transform_fn/saved_model.pb":       "\x08\x01\x12\x09\x0a\x07\x22\x05serve",
	} {
		ref := storage.Ref{Bucket: "stoker", Key: key}
		if _, err := b.store.Put(t.Context(), ref, strings.NewReader(body), int64(len(body))); err != nil {
			t.Fatal(err)
		}
	}
	b.tuner = tuner.New(execution.New(b.store, b.runner, execution.Options{
		Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir(), Now: func() time.Time { return time.Unix(1, 0).UTC() },
	}), bustest.NewMemory(0))
	return b
}

func job(t *testing.T, id, run, text string) events.Job {
	t.Helper()
	p, err := pipeline.Parse("penguin.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	body, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return events.Job{
		ID: id, Function: events.FunctionTune, Class: "cpu", Pipeline: "penguin", Revision: 1, Run: run, Spec: body,
		Inputs: events.Inputs{TransformGraph: "s3://stoker/up/graph", TransformedExamples: []events.Examples{{URI: "s3://stoker/up/tx"}}},
	}
}

func (b *bench) handle(t *testing.T, j events.Job, attempt events.Attempt) (*events.HParamsReady, error) {
	t.Helper()
	evs, err := b.tuner.Handle(t.Context(), worker.Task{
		Job: j, Attempt: attempt, Report: func(events.Progress) {}, Prove: func() error { return nil },
	})
	if err != nil {
		return nil, err
	}
	if len(evs) != 1 || evs[0].Validate() != nil {
		t.Fatalf("events %+v", evs)
	}
	return evs[0].Data.(*events.HParamsReady), nil
}

func (b *bench) read(t *testing.T, uri, file string) string {
	t.Helper()
	ref, err := storage.ParseRef(uri)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := storage.StageIn(t.Context(), b.store, ref, dir, storage.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func kindOf(err error) events.FailureKind {
	if failure, ok := errors.AsType[*events.Failure](err); ok {
		return failure.Kind
	}
	return ""
}

func TestASearchIsPublishedInTFXsLayout(t *testing.T) {
	t.Parallel()
	b := setup(t, search)
	got, err := b.handle(t, job(t, "j1", "monday", spec), events.Attempt{ID: "a1", Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	if *got.Score != 0.9 || got.Values["units"] != 8.0 || got.Reused || got.Cached || !strings.HasPrefix(got.Execution, "sha256:") {
		t.Errorf("published %+v", got)
	}
	if !strings.HasPrefix(got.Hyperparameters, "s3://stoker/penguin/Tuner/best_hyperparameters/") ||
		!strings.HasPrefix(got.Study, "s3://stoker/penguin/Tuner/tuner_results/") {
		t.Errorf("at %s and %s", got.Hyperparameters, got.Study)
	}
	if b.read(t, got.Hyperparameters, "best_hyperparameters.txt") != best || b.read(t, got.Study, "tuner_results.json") != results {
		t.Error("published something else")
	}
	a := b.runner.given
	if a.Call != module.CallTune || *a.TrainSteps != 5 || a.EvalSteps != nil || len(a.TrainFiles) != 1 || a.TransformGraphPath == "" || a.SchemaPath == "" ||
		a.WorkingDir == "" || a.ServingModelDir+a.EvalModelDir+a.ModelRunDir+a.BaseModel != "" || a.Hyperparameters != nil {
		t.Errorf("assignment was %+v", a)
	}
}

func TestASecondRunOnTheSameInputsIsPublishedAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, search)
	first, err := b.handle(t, job(t, "j1", "monday", spec), events.Attempt{ID: "a1", Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.handle(t, job(t, "j2", "tuesday", spec), events.Attempt{ID: "a2", Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !second.Cached || second.Hyperparameters != first.Hyperparameters || b.runner.runs.Load() != 1 || !maps.Equal(first.Values, second.Values) {
		t.Errorf("second run: %+v after %d searches", second, b.runner.runs.Load())
	}
}

func TestAnythingThatDecidesASearchIsAnotherExecution(t *testing.T) {
	t.Parallel()
	b := setup(t, search)
	executions := map[string]bool{}
	for i, text := range []string{
		spec,
		strings.Replace(spec, "5}", "6}", 1),
		strings.Replace(spec, "always,", "always, eval_args: {num_steps: 1},", 1),
		strings.Replace(spec, "always,", "always, custom_config: {a: 1},", 1),
		strings.Replace(spec, "always,", "always, tune_args: {num_parallel_trials: 1},", 1),
		strings.Replace(spec, "always,", "always, study: {max_trials: 3},", 1),
		strings.Replace(spec, "always,", "always, study: {max_trials: 4},", 1),
		strings.Replace(spec, "always,", "always, study: {},", 1), // says nothing
		strings.Replace(spec, "always,", "always, resources: {strategy: mirrored},", 1),
		strings.Replace(spec, "100}", "100}, seed: 5", 1),
		// A search that has steps of its own does not depend on the trainer's.
		strings.Replace(spec, "100}", "200}", 1),
		// Nor on how often it may crash.
		strings.Replace(spec, "always,", "always, max_crashes: 9,", 1),
		strings.NewReplacer("./penguin_utils.py", "builtin:dnn", "always,", "always, custom_config: {label: a},").Replace(spec),
		// Nor on those.
		strings.NewReplacer("./penguin_utils.py", "builtin:dnn", "always,", "always, custom_config: {label: a, threads: 2},").Replace(spec),
	} {
		got, err := b.handle(t, job(t, "j", "r", text), events.Attempt{ID: "a" + string(rune('a'+i)), Number: 1})
		if err != nil {
			t.Fatal(err)
		}
		executions[got.Execution] = true
	}
	if len(executions) != 10 {
		t.Errorf("%d executions of 10", len(executions))
	}
}

func TestWhatASearchDoesNotLeaveFailsItsCheck(t *testing.T) {
	t.Parallel()
	write := func(dir func(module.Assignment) string, name, text string) func(module.Assignment) error {
		return func(a module.Assignment) error { return os.WriteFile(filepath.Join(dir(a), name), []byte(text), 0o600) }
	}
	bestDir := func(a module.Assignment) string { return a.BestHyperparametersDir }
	resultsDir := func(a module.Assignment) string { return a.TunerResultsDir }
	for want, run := range map[string]func(module.Assignment) error{
		"best_hyperparameters.txt: file does not exist: tuner_fn wrote none": write(resultsDir, "tuner_results.json", results),
		"tuner_results.json: file does not exist: tuner_fn wrote none":       write(bestDir, "best_hyperparameters.txt", best),
		`best_hyperparameters.txt: no "space" in it`: func(a module.Assignment) error {
			return errors.Join(search(a), write(bestDir, "best_hyperparameters.txt", "{}")(a))
		},
		"can't be published": func(a module.Assignment) error {
			return errors.Join(search(a), os.Symlink("/etc/hostname", filepath.Join(a.TunerResultsDir, "evil")))
		},
		"more than the maximum of 262144 for an event": func(a module.Assignment) error {
			long := strings.Replace(best, `"units": 8`, `"units": "`+strings.Repeat("x", 1<<20)+`"`, 1)
			return errors.Join(search(a), write(bestDir, "best_hyperparameters.txt", long)(a))
		},
	} {
		b := setup(t, run)
		if _, err := b.handle(t, job(t, "j1", "monday", spec), events.Attempt{ID: "a1", Number: 1}); kindOf(err) != events.FailureCheck || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if keys := keysOf(t, b.store); slices.ContainsFunc(keys, func(key string) bool { return strings.HasSuffix(key, "commit.json") }) {
			t.Errorf("%s: committed: %v", want, keys)
		}
	}
}

func keysOf(t *testing.T, store storage.Store) (keys []string) {
	t.Helper()
	for object, err := range store.List(t.Context(), storage.Ref{Bucket: "stoker", Key: "penguin/"}) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, object.Ref.Key)
	}
	return keys
}

// A worker is lost in the fourth trial: the next one finds the project as it was when the third
// trial had ended.
func TestASearchGoesOnWhereALostWorkerLeftIt(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.runner.run = func(a module.Assignment, on func(module.Message)) error {
		project := filepath.Join(a.WorkingDir, "penguin_tuning", "oracle.json")
		if text, err := os.ReadFile(project); err == nil {
			if string(text) != "3 trials" {
				t.Errorf("found %q", text)
			}
			return search(a)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(project), 0o755), os.WriteFile(project, []byte("3 trials"), 0o600)); err != nil {
			return err
		}
		on(module.Message{Type: module.MessageCheckpoint, Step: 3})
		return &runner.Error{Kind: runner.KindCrash, Err: errors.New("killed")}
	}
	j := job(t, "j1", "monday", spec)
	if _, err := b.handle(t, j, events.Attempt{ID: "a1", Number: 1}); kindOf(err) != events.FailureCrash {
		t.Fatalf("%v", err)
	}
	if _, err := b.handle(t, j, events.Attempt{ID: "a2", Number: 2}); err != nil {
		t.Fatal(err)
	}
	if b.runner.runs.Load() != 2 || slices.ContainsFunc(keysOf(t, b.store), func(key string) bool { return strings.Contains(key, "/checkpoints/") }) {
		t.Errorf("%d searches, and %v", b.runner.runs.Load(), keysOf(t, b.store))
	}
}

func TestACancelledSearchLeavesNothingButItsCommit(t *testing.T) {
	t.Parallel()
	b := setup(t, search)
	_, err := b.handle(t, job(t, "j1", "monday", spec), events.Attempt{ID: "a1", Number: 1, Cancelled: true})
	if keys := keysOf(t, b.store); kindOf(err) != events.FailureCancelled || b.runner.runs.Load() != 0 || len(keys) != 1 || !strings.HasSuffix(keys[0], "/commit.json") {
		t.Errorf("%v, left %v", err, keys)
	}
	if got, err := b.handle(t, job(t, "j2", "tuesday", spec), events.Attempt{ID: "a2", Number: 1}); err != nil || got.Cached {
		t.Errorf("another run is cancelled too: %+v, %v", got, err)
	}
}

func TestAFailedSearchIsATuningThatFailed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(module.Assignment) error {
		return &runner.Error{Kind: runner.KindModule, Err: errors.New("no such feature"), LogTail: "a line of log\n"}
	})
	j := job(t, "j1", "monday", spec)
	_, err := b.handle(t, j, events.Attempt{ID: "a1", Number: 1})
	failure, ok := errors.AsType[*events.Failure](err)
	if !ok || failure.Kind != events.FailureModule || !strings.HasPrefix(failure.Log, "s3://stoker/penguin/Tuner/") {
		t.Fatalf("failure %+v", failure)
	}
	event := b.tuner.Failed(worker.Task{Job: j, Attempt: events.Attempt{ID: "a1", Number: 1}}, failure)
	if _, ok := event.Data.(*events.TuningFailed); !ok || event.Source != "/stoker/tune" {
		t.Errorf("published %+v", event)
	}
	if limits := b.tuner.Limits(j); limits.Attempts != 2 || limits.Crashes != 3 || limits.Lost != 0 {
		t.Errorf("limits %+v", limits)
	}
}

func TestAJobOfAPipelineWithoutATunerIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, search)
	j := job(t, "j1", "monday", "pipeline: penguin\nmodule: ./m.py\n")
	if _, err := b.handle(t, j, events.Attempt{ID: "a1", Number: 1}); kindOf(err) != events.FailureInput || !strings.Contains(err.Error(), "spec.tuner") {
		t.Errorf("%v", err)
	}
	if limits := b.tuner.Limits(j); limits.Attempts != 1 {
		t.Errorf("limits %+v", limits)
	}
}
