package trainer_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck/modelchecktest"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// fakeRunner replaces a module process by the function run.
type fakeRunner struct {
	modelchecktest.Here
	runs atomic.Int32
	says []module.Message // besides one step of training
	run  func(module.Assignment) (runner.Outcome, error)
}

func (g *fakeRunner) Digest(context.Context, module.Source) (string, error) {
	return "builtin:dnn@1", nil
}

func (g *fakeRunner) Run(_ context.Context, a module.Assignment, limits runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	g.runs.Add(1)
	on(module.Message{Type: module.MessageProgress, Phase: "training", Step: 1, Steps: 1})
	for _, m := range g.says {
		on(m)
	}
	if err := os.WriteFile(limits.LogPath, []byte("a line of log\n"), 0o600); err != nil {
		return runner.Outcome{}, err
	}
	return g.run(a)
}

// writesModel is a module that leaves a small model that can be served.
func writesModel(a module.Assignment) (runner.Outcome, error) {
	err := savedmodel.Write(a.ServingModelDir, savedmodel.Model{
		Spec: example.Spec{{Name: "x", Kind: example.Float, Shape: []int{1}}},
		Graph: &nn.Graph{
			Inputs:  []nn.Input{{Name: "x", Kind: nn.Float32, Width: 1}},
			Params:  []nn.Param{{Name: "bias", Shape: []int{1}, Values: []float32{1}, Trainable: true}},
			Nodes:   []nn.Node{{Name: "y", Op: nn.OpAddBias, In: []string{"x", "bias"}}},
			Outputs: []nn.Output{{Name: "y", Node: "y", Width: 1}},
		},
	})
	return runner.Outcome{Metrics: map[string]float64{"accuracy": 0.9}}, err
}

const spec = `
pipeline: penguin
module: builtin:dnn
trainer:
  wait_for: [transform]
  train_args: {num_steps: 3}
`

// bench is one trainer on one store with staged upstream artifacts.
type bench struct {
	store   storage.Store
	runner  *fakeRunner
	trainer *trainer.Trainer
	phases  []string
}

func setup(t *testing.T, run func(module.Assignment) (runner.Outcome, error)) *bench {
	t.Helper()
	b := &bench{store: storagetest.NewMemory(), runner: &fakeRunner{run: run}}
	for key, body := range map[string]string{
		"up/tx/Split-train/data-0":                   "train rows",
		"up/tx/Split-eval/data-0":                    "eval rows",
		"up/graph/transformed_metadata/schema.pbtxt": "",
		"up/graph/transform_fn/saved_model.pb":       "\x08\x01\x12\x09\x0a\x07\x22\x05serve",
		"up/hp/best_hyperparameters.txt":             `{"space": [], "values": {"units": 8}}`,
	} {
		b.put(t, key, body)
	}
	b.trainer = trainer.New(execution.New(b.store, b.runner, execution.Options{
		Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir(), Now: func() time.Time { return time.Unix(1, 0).UTC() },
	}), trainer.Options{})
	return b
}

func (b *bench) put(t *testing.T, key, body string) {
	t.Helper()
	if _, err := b.store.Put(t.Context(), storage.Ref{Bucket: "stoker", Key: key}, strings.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
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
		ID: id, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Revision: 1, Run: run, Spec: body,
		Inputs: events.Inputs{
			TransformGraph: "s3://stoker/up/graph", TransformedExamples: []events.Examples{{URI: "s3://stoker/up/tx"}},
			Hyperparameters: "s3://stoker/up/hp",
		},
	}
}

func (b *bench) handle(t *testing.T, j events.Job, attempt string) (*events.ModelTrained, error) {
	t.Helper()
	task := worker.Task{
		Job: j, Attempt: events.Attempt{ID: attempt, Number: 1},
		Report: func(p events.Progress) { b.phases = append(b.phases, p.Phase) }, Prove: func() error { return nil },
		Worker: worker.Name{ID: "host-1", Host: "host", Version: "v1"},
	}
	evs, err := b.trainer.Handle(t.Context(), task)
	if err != nil {
		return nil, err
	}
	if len(evs) != 1 {
		t.Fatalf("%d events, want one", len(evs))
	}
	if err := evs[0].Validate(); err != nil {
		t.Errorf("the event is not valid: %v", err)
	}
	return evs[0].Data.(*events.ModelTrained), nil
}

// kindOf returns the kind of a failure.
func kindOf(err error) events.FailureKind {
	if failure, ok := errors.AsType[*events.Failure](err); ok {
		return failure.Kind
	}
	return ""
}

func (b *bench) keys(t *testing.T, prefix string) []string {
	t.Helper()
	var keys []string
	for object, err := range b.store.List(t.Context(), storage.Ref{Bucket: "stoker", Key: prefix}) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, object.Ref.Key)
	}
	return keys
}

// text returns the content of an object.
func (b *bench) text(t *testing.T, key string) string {
	t.Helper()
	body, _, err := b.store.Open(t.Context(), storage.Ref{Bucket: "stoker", Key: key}, "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAJobBecomesACommittedModelAndItsEvent(t *testing.T) {
	t.Parallel()
	var given module.Assignment
	b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
		given = a
		for _, pattern := range slices.Concat(a.TrainFiles, a.EvalFiles) {
			if files, err := filepath.Glob(pattern); err != nil || len(files) != 1 {
				t.Errorf("%s matches %v, %v", pattern, files, err)
			}
		}
		outcome, err := writesModel(a)
		outcome.Platform = runner.Platform{Python: "3.11.7", TensorFlow: "2.19.0", Keras: "3.9.2", GPUs: []string{"0"}}
		return outcome, err
	})
	got, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	place, _ := storage.ExecutionAt(got.Model.URI)
	place.Attempt = "a1"
	manifest, err := storage.ReadManifest(t.Context(), b.store, place)
	if err != nil {
		t.Fatal(err)
	}
	made, err := result.Of(manifest)
	if where := made.Environment; err != nil || where == nil || where.Host != "host" || where.Worker != "host-1" || where.Stoker != "v1" ||
		where.Platform != runtime.GOOS+"/"+runtime.GOARCH || where.Python != "3.11.7" || where.TensorFlow != "2.19.0" || where.Keras != "3.9.2" || !slices.Equal(where.GPUs, []string{"0"}) {
		t.Errorf("it was made on %+v, %v", where, err)
	}
	if got.Cached || got.Metrics["accuracy"] != 0.9 || !slices.Equal(got.Model.Formats, []string{"Format-Serving"}) || got.Hyperparameters["units"] != 8.0 {
		t.Errorf("event has %+v", got)
	}
	if *given.TrainSteps != 3 || given.EvalSteps != nil || !given.Transformed || filepath.Base(given.SchemaPath) != "schema.pbtxt" {
		t.Errorf("assignment was %+v", given)
	}
	if want := []string{"staging", "starting", "training", "checking", "publishing"}; !slices.Equal(b.phases, want) {
		t.Errorf("phases %v, want %v", b.phases, want)
	}
	if model := b.keys(t, strings.TrimPrefix(got.Model.URI, "s3://stoker/")); !slices.ContainsFunc(model, func(key string) bool {
		return strings.HasSuffix(key, "/Format-Serving/saved_model.pb")
	}) {
		t.Errorf("model folder holds %v", model)
	}
}

func TestASecondRunOnTheSameInputsIsCached(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	first, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.handle(t, job(t, "j2", "tuesday", spec), "a2")
	if err != nil {
		t.Fatal(err)
	}
	if !second.Cached || second.Model.URI != first.Model.URI || second.Execution != first.Execution || b.runner.runs.Load() != 1 {
		t.Errorf("second run: %+v after %d trainings", second, b.runner.runs.Load())
	}
}

func TestAJobDeliveredAgainPublishesTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	first, _ := b.handle(t, job(t, "j1", "monday", spec), "a1")
	again, err := b.handle(t, job(t, "j1", "monday", spec), "a2")
	if err != nil {
		t.Fatal(err)
	}
	if again.Cached || again.Model.URI != first.Model.URI || b.runner.runs.Load() != 1 {
		t.Errorf("published %+v after %d trainings", again, b.runner.runs.Load())
	}
}

func TestAnythingThatDecidesTheResultIsAnotherExecution(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	executions := map[string]bool{}
	record := func(j events.Job, attempt string) {
		t.Helper()
		got, err := b.handle(t, j, attempt)
		if err != nil {
			t.Fatal(err)
		}
		executions[got.Execution] = true
	}
	record(job(t, "j1", "r", spec), "a1")
	record(job(t, "j2", "r", spec+"  seed: 5\n"), "a2")
	record(job(t, "j3", "r", spec+"  custom_config: {label: x}\n"), "a3")
	record(job(t, "j4", "r", strings.Replace(spec, "3", "4", 1)), "a4")
	untuned := job(t, "j5", "r", spec)
	untuned.Inputs.Hyperparameters = ""
	record(untuned, "a5")
	b.put(t, "up/tx/Split-train/data-0", "other rows")
	record(job(t, "j6", "r", spec), "a6")
	if len(executions) != 6 {
		t.Errorf("%d executions of 6", len(executions))
	}
}

func TestAMissingSplitIsNamedWithWhatIsThere(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	_, err := b.handle(t, job(t, "j1", "monday", spec+"  eval_args: {splits: [test]}\n"), "a1")
	if kindOf(err) != events.FailureInput {
		t.Fatalf("kind %q of %v", kindOf(err), err)
	}
	for _, part := range []string{"transformed_examples[0]", `"test"`, "s3://stoker/up/tx", "Split-eval, Split-train"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %s", err, part)
		}
	}
	if keys := b.keys(t, "penguin/"); len(keys) > 0 || b.runner.runs.Load() > 0 {
		t.Errorf("something was done: %v", keys)
	}
}

func TestAModuleThatLeavesNoModelFailsItsCheckAndNothingIsVisible(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(module.Assignment) (runner.Outcome, error){
		"nothing": func(module.Assignment) (runner.Outcome, error) { return runner.Outcome{}, nil },
		"an empty folder": func(a module.Assignment) (runner.Outcome, error) {
			return runner.Outcome{}, os.MkdirAll(a.ServingModelDir, 0o755)
		},
		"a text file": func(a module.Assignment) (runner.Outcome, error) {
			return runner.Outcome{}, errors.Join(os.MkdirAll(a.ServingModelDir, 0o755), os.WriteFile(filepath.Join(a.ServingModelDir, "saved_model.pb"), []byte("model"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, run)
			_, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
			if kindOf(err) != events.FailureCheck {
				t.Errorf("kind %q of %v", kindOf(err), err)
			}
			if keys := b.keys(t, "penguin/Trainer/model"); len(keys) > 0 {
				t.Errorf("visible: %v", keys)
			}
		})
	}
}

func TestWhatCouldNotBePublishedFailsItsCheck(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(a module.Assignment) error{
		"a link out of the model": func(a module.Assignment) error {
			return os.Symlink("/etc/hostname", filepath.Join(a.ServingModelDir, "evil"))
		},
		"a broken link":                   func(a module.Assignment) error { return os.Symlink("nowhere", filepath.Join(a.ModelRunDir, "x")) },
		"a name with a control character": func(a module.Assignment) error { return os.WriteFile(filepath.Join(a.ModelRunDir, "a\nb"), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
				outcome, err := writesModel(a)
				return outcome, errors.Join(err, spoil(a))
			})
			if _, err := b.handle(t, job(t, "j1", "monday", spec), "a1"); kindOf(err) != events.FailureCheck {
				t.Errorf("kind %q of %v", kindOf(err), err)
			}
		})
	}
}

func TestMoreThanAnEventMayCarryFailsItsCheckBeforeTheCommit(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	b.put(t, "up/hp/best_hyperparameters.txt", `{"values": {"x": "`+strings.Repeat("y", 1<<19)+`"}}`)
	if _, err := b.handle(t, job(t, "j1", "monday", spec), "a1"); kindOf(err) != events.FailureCheck {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
	for _, key := range b.keys(t, "penguin/") {
		if strings.HasSuffix(key, "commit.json") {
			t.Errorf("committed: %s", key)
		}
	}
}

func TestOfSeveralMissingInputsTheFirstIsReported(t *testing.T) {
	t.Parallel()
	for range 20 {
		b := setup(t, writesModel)
		j := job(t, "j1", "monday", spec)
		j.Inputs.TransformedExamples[0].URI, j.Inputs.TransformGraph, j.Inputs.Hyperparameters = "s3://stoker/a", "s3://stoker/b", "s3://stoker/c"
		if _, err := b.handle(t, j, "a1"); kindOf(err) != events.FailureInput || !strings.Contains(err.Error(), `split "eval"`) {
			t.Fatalf("kind %q of %v", kindOf(err), err)
		}
	}
}

func TestASplitThatTheEventDoesNotListIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	j := job(t, "j1", "monday", spec)
	j.Inputs.TransformedExamples[0].Splits = []string{"train", "evil"}
	if _, err := b.handle(t, j, "a1"); kindOf(err) != events.FailureInput || !strings.Contains(err.Error(), `"eval" is not among`) {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
}

func TestACheckpointIsNoProgress(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	b.runner.says = []module.Message{{Type: module.MessageCheckpoint, Step: 1}}
	if _, err := b.handle(t, job(t, "j1", "monday", spec), "a1"); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(b.phases, "") {
		t.Errorf("phases %q", b.phases)
	}
}

func TestAFailedModuleSaysWhereItsLogIs(t *testing.T) {
	t.Parallel()
	b := setup(t, func(module.Assignment) (runner.Outcome, error) {
		return runner.Outcome{}, &runner.Error{Kind: runner.KindModule, Err: errors.New("no such feature"), LogTail: "a line of log\n"}
	})
	_, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	failure, ok := errors.AsType[*events.Failure](err)
	if !ok || failure.Kind != events.FailureModule || failure.LogTail == "" || !strings.HasPrefix(failure.Execution, "sha256:") {
		t.Fatalf("failure %+v", failure)
	}
	if key := strings.TrimPrefix(failure.Log, "s3://stoker/"); !slices.Contains(b.keys(t, "penguin/"), key) {
		t.Errorf("no log at %q", failure.Log)
	}
}

func TestACommitWhoseObjectsAreGoneIsDoneAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	first, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range b.keys(t, strings.TrimPrefix(first.Model.URI, "s3://stoker/")) {
		if err := b.store.Delete(t.Context(), storage.Ref{Bucket: "stoker", Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	again, err := b.handle(t, job(t, "j2", "tuesday", spec), "a2")
	if err != nil {
		t.Fatal(err)
	}
	if again.Execution != first.Execution || again.Model.URI == first.Model.URI || again.Model.Digest != first.Model.Digest || b.runner.runs.Load() != 2 {
		t.Errorf("published %+v after %d trainings", again, b.runner.runs.Load())
	}
	if third, err := b.handle(t, job(t, "j3", "friday", spec), "a3"); err != nil || !third.Cached {
		t.Errorf("after the repair: %+v, %v", third, err)
	}
}

func TestOfTwoAttemptsOneIsCommittedAndTheOtherTakenAway(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.runner.run = func(a module.Assignment) (runner.Outcome, error) {
		// While the first attempt trains, a second one starts and commits first.
		if b.runner.runs.Load() == 1 {
			if _, err := b.handle(t, job(t, "j1", "monday", spec), "winner"); err != nil {
				t.Error(err)
			}
		}
		return writesModel(a)
	}
	got, err := b.handle(t, job(t, "j1", "monday", spec), "loser")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(got.Model.URI, "/winner") {
		t.Errorf("published %s", got.Model.URI)
	}
	for _, key := range b.keys(t, "penguin/Trainer/model/") {
		if strings.Contains(key, "/loser/") {
			t.Errorf("left behind: %s", key)
		}
	}
}

func TestHyperparametersThatAreNotOneJSONFileAreAnInputFailure(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"two files": {"up/hp/second.txt": "{}"},
		"not JSON":  {"up/hp/best_hyperparameters.txt": "units: 8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, writesModel)
			for _, key := range slices.Sorted(maps.Keys(files)) {
				b.put(t, key, files[key])
			}
			if _, err := b.handle(t, job(t, "j1", "monday", spec), "a1"); kindOf(err) != events.FailureInput {
				t.Errorf("kind %q of %v", kindOf(err), err)
			}
		})
	}
}

// S3 denies a bucket with a wrong name to clients that may not list it, instead of reporting it
// missing.
func TestAnInputThatStaysDeniedIsTheJobsOwnFault(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	closed := storagetest.Faulty(b.store, func(c storagetest.Call) storagetest.Fault {
		if strings.HasPrefix(c.Ref.Key, "up/tx") {
			return storagetest.Fault{Refuse: storage.ErrDenied}
		}
		return storagetest.Fault{}
	})
	b.trainer = trainer.New(execution.New(closed, b.runner, execution.Options{Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir()}), trainer.Options{})
	for number, want := range map[int]events.FailureKind{1: events.FailureUnavailable, 4: events.FailureUnavailable, 5: events.FailureInput} {
		task := worker.Task{
			Job: job(t, "j1", "monday", spec), Attempt: events.Attempt{ID: "a1", Number: number},
			Report: func(events.Progress) {}, Prove: func() error { return nil },
		}
		if _, err := b.trainer.Handle(t.Context(), task); kindOf(err) != want || !errors.Is(err, storage.ErrDenied) {
			t.Errorf("attempt %d: %s, %v; want %s", number, kindOf(err), err, want)
		}
	}
}

func TestInputsTooLargeForAnEventAreRefusedBeforeTraining(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	j := job(t, "j1", "monday", spec)
	for one := j.Inputs.TransformedExamples[0]; len(j.Inputs.TransformedExamples) < 2500; {
		j.Inputs.TransformedExamples = append(j.Inputs.TransformedExamples, one)
	}
	if _, err := b.handle(t, j, "a1"); kindOf(err) != events.FailureCheck || b.runner.runs.Load() != 0 {
		t.Errorf("trained %d times, %s", b.runner.runs.Load(), kindOf(err))
	}
}

func TestLimitsAreThoseOfThePipeline(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	got := b.trainer.Limits(job(t, "j1", "monday", spec+"  max_attempts: 2\n  max_crashes: 4\n  max_lost: 7\n"))
	if want := (worker.Limits{Attempts: 2, Crashes: 4, Lost: 7}); got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
}
