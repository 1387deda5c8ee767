package trainer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// lose deletes the objects whose keys have a prefix.
func (b *bench) lose(t *testing.T, prefix string) {
	t.Helper()
	for _, key := range b.keys(t, prefix) {
		if err := b.store.Delete(t.Context(), storage.Ref{Bucket: "stoker", Key: key}); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) loseModel(t *testing.T, trained *events.ModelTrained) {
	t.Helper()
	b.lose(t, strings.TrimPrefix(trained.Model.URI, "s3://stoker/"))
}

// again returns the job that makes a lost model again.
func again(t *testing.T, id, run string, generation int) events.Job {
	j := job(t, id, run, spec)
	j.Generation = generation
	return j
}

func TestTheModelsOfAnExecutionAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	handle := func(j events.Job, attempt string, generation int, cached bool) *events.ModelTrained {
		t.Helper()
		got, err := b.handle(t, j, attempt)
		if err != nil {
			t.Fatal(err)
		}
		if got.Generation != generation || got.Cached != cached {
			t.Errorf("attempt %s: generation %d, cached %v; want %d, %v", attempt, got.Generation, got.Cached, generation, cached)
		}
		return got
	}
	first := handle(job(t, "j1", "monday", spec), "a1", 0, false)
	handle(job(t, "j2", "tuesday", spec), "a2", 0, true)
	b.loseModel(t, first)
	// Any later job finds the commit broken.
	second := handle(job(t, "j3", "wednesday", spec), "a3", 1, false)
	// And a hit announces the commit's generation.
	handle(job(t, "j4", "thursday", spec), "a4", 1, true)
	handle(again(t, "j5", "monday", 1), "a5", 1, true)
	if second.Execution != first.Execution || second.Model.Digest != first.Model.Digest {
		t.Error("another execution")
	}
	b.lose(t, "penguin/") // the whole bucket: only the job knows how many models there were
	third := handle(again(t, "j6", "monday", 2), "a6", 2, false)
	if third.Execution != first.Execution || third.Model.Digest != first.Model.Digest {
		t.Error("another execution after the wipe")
	}
	before, after := events.NewModelTrained(job(t, "j1", "monday", spec), first), events.NewModelTrained(again(t, "j6", "monday", 2), third)
	if before.ID == after.ID {
		t.Error("one event announces both models")
	}
}

// After a wipe a new run may come before the replay of the old ones; its model has generation 0.
// The replay raises it.
func TestAModelThatDoesNotKnowOfEarlierOnesIsCountedAnew(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	first, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	b.lose(t, "penguin/")
	second, err := b.handle(t, job(t, "j2", "tuesday", spec), "a2")
	if err != nil || second.Generation != 0 {
		t.Fatalf("%+v, %v", second, err)
	}
	replayed, err := b.handle(t, again(t, "j3", "monday", 1), "a3")
	if err != nil || replayed.Generation != 1 || b.runner.runs.Load() != 2 {
		t.Fatalf("%+v after %d trainings, %v", replayed, b.runner.runs.Load(), err)
	}
	if replayed.Model.URI != second.Model.URI || replayed.Model.URI == first.Model.URI {
		t.Errorf("published %s", replayed.Model.URI)
	}
}

func TestACancelledExecutionKeepsCount(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	first, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	b.loseModel(t, first)
	s := b.shift(t, b.store, b.runner, "a2", 1)
	s.job, s.attempt.Cancelled = job(t, "j2", "tuesday", spec), true
	if _, err := s.handle(t.Context()); kindOf(err) != events.FailureCancelled {
		t.Fatal(err)
	}
	if got, err := b.handle(t, job(t, "j3", "friday", spec), "a3"); err != nil || got.Generation != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestABaseModelIsKnownByItsExecution(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	base, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	warm := func(id, attempt string, generation int) *events.ModelTrained {
		t.Helper()
		j := again(t, id, "tuesday", generation)
		j.Inputs.BaseModel = base.Model.URI // as in the first event, unchanged
		j.Spec = job(t, id, "tuesday", spec+"  seed: 7\n").Spec
		got, err := b.handle(t, j, attempt)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := warm("j2", "a2", 0)
	b.lose(t, "penguin/")
	// The model of a module that is not deterministic.
	b.runner.run = func(a module.Assignment) (runner.Outcome, error) {
		return runner.Outcome{}, errors.Join(second(writesModel(a)), os.WriteFile(filepath.Join(a.ServingModelDir, "other"), nil, 0o600))
	}
	remade, err := b.handle(t, again(t, "j3", "monday", 1), "a3")
	if err != nil {
		t.Fatal(err)
	}
	b.runner.run = writesModel
	replayed := warm("j4", "a4", 1)
	if remade.Model.URI == base.Model.URI || remade.Model.Digest == base.Model.Digest {
		t.Errorf("made again as %+v, was %+v", remade.Model, base.Model)
	}
	if replayed.Execution != first.Execution || replayed.BaseModel != remade.Model.URI {
		t.Errorf("first from %s: %s\nthen from %s: %s", first.BaseModel, first.Execution, replayed.BaseModel, replayed.Execution)
	}
	// A model that others made is identified by its content.
	j := job(t, "j5", "friday", spec)
	b.put(t, "up/model/saved_model.pb", "\x08\x01\x12\x09\x0a\x07\x22\x05serve")
	j.Inputs.BaseModel = "s3://stoker/up/model"
	one, err := b.handle(t, j, "a5")
	if err != nil {
		t.Fatal(err)
	}
	b.put(t, "up/model/saved_model.pb", "\x08\x02\x12\x09\x0a\x07\x22\x05serve")
	if two, err := b.handle(t, j, "a6"); err != nil || two.Execution == one.Execution || one.BaseModel != j.Inputs.BaseModel {
		t.Errorf("%+v, %v", two, err)
	}
}

// A search that was lost and made again is the same search, whatever it found this time.
func TestHyperparametersOfStokersOwnAreKnownByTheirExecution(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	tuner, execution := storage.Ref{Bucket: "stoker", Key: "penguin/Tuner"}, "sha256:"+strings.Repeat("a", 64)
	find := func(attempt, found string) string {
		t.Helper()
		dir := t.TempDir()
		err := os.WriteFile(filepath.Join(dir, "best_hyperparameters.txt"), []byte(`{"space": [], "values": {"units": `+found+`}}`), 0o600)
		manifest, published := storage.Publish(t.Context(), b.store, storage.Publication{Root: tuner, Execution: execution, Attempt: attempt,
			Outputs: map[string]storage.Source{"best_hyperparameters": {Type: "HyperParameters", Dir: dir}}})
		_, _, committed := storage.PutCommit(t.Context(), b.store, tuner, storage.Commit{Execution: execution, Attempt: attempt})
		if err := errors.Join(err, published, committed); err != nil {
			t.Fatal(err)
		}
		return manifest.Outputs["best_hyperparameters"].URI
	}
	j := job(t, "j1", "monday", spec)
	j.Inputs.Hyperparameters = find("a1", "8")
	first, err := b.handle(t, j, "a1")
	if err != nil {
		t.Fatal(err)
	}
	b.lose(t, "penguin/")
	find("a2", "9")
	j.Generation = 1
	if got, err := b.handle(t, j, "a2"); err != nil || got.Execution != first.Execution || fmt.Sprint(got.Hyperparameters["units"]) != "9" {
		t.Errorf("%+v, %v", got, err)
	}
}

func second(_ runner.Outcome, err error) error { return err }

func TestASaltIsAnotherExecutionAndARequestIsNot(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	executions := map[string]bool{}
	for _, change := range []func(*events.Job){
		func(*events.Job) {}, func(j *events.Job) { j.Request = "dead-7" }, func(j *events.Job) { j.Generation = 3 },
		func(j *events.Job) { j.Salt = "s1" }, func(j *events.Job) { j.Salt = "s2" },
	} {
		j := job(t, "j1", "monday", spec)
		change(&j)
		got, err := b.handle(t, j, "a"+strings.Repeat("x", len(executions))+j.Salt+j.Request)
		if err != nil {
			t.Fatal(err)
		}
		executions[got.Execution] = true
	}
	if len(executions) != 3 || b.runner.runs.Load() != 3 {
		t.Errorf("%d executions, %d trainings", len(executions), b.runner.runs.Load())
	}
}

// Retention knows models by their events. A run that has no event yet marks in the commit that it
// found the model.
func TestARunFindsAModelOrItIsRetired(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	handle := func(id, run, attempt string) (*events.ModelTrained, storage.Commit) {
		t.Helper()
		got, err := b.handle(t, job(t, id, run, spec), attempt)
		if err != nil {
			t.Fatal(err)
		}
		place, _ := storage.ExecutionAt(got.Model.URI)
		c, _, err := storage.Committed(t.Context(), b.store, place.Root, got.Execution)
		if err != nil {
			t.Fatal(err)
		}
		return got, c
	}
	first, before := handle("j1", "monday", "a1")
	_, found := handle("j2", "tuesday", "a2")
	if found.Attempt != "a1" || found.FoundBy != "a2" {
		t.Errorf("the commit is %+v, want it to be found by a2", found)
	}
	place, _ := storage.ExecutionAt(first.Model.URI)
	if gone, err := storage.Retire(t.Context(), b.store, place.Root, before); err != nil || gone {
		t.Errorf("retired although it was found: %v, %v", gone, err)
	}
	if gone, err := storage.Retire(t.Context(), b.store, place.Root, found); err != nil || !gone {
		t.Fatalf("retired %v, %v", gone, err)
	}
	if third, now := handle("j3", "wednesday", "a3"); third.Cached || third.Generation != 1 || now.Retired {
		t.Errorf("after it was retired: cached %v, generation %d, commit %+v", third.Cached, third.Generation, now)
	}
}
