package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/storage"
)

// partPlace returns where the checkpoints of a trial are.
func (w *world) partPlace(study, trial string) storage.Place {
	w.t.Helper()
	state, err := studies.Read(w.t.Context(), w.bus, events.Study{Pipeline: "penguin", ID: study})
	if err != nil {
		w.t.Fatal(err)
	}
	execution := storage.Place{Root: storage.Ref{Bucket: "bkt", Key: "penguin/Tuner"}, Execution: "sha256:" + study, Attempt: "a1"}
	return execution.Part(studies.PartOf(state.Study.Trial(trial)))
}

// saveTrial saves a checkpoint of a trial, as a worker does.
func (w *world) saveTrial(study, trial string, step int) storage.Place {
	w.t.Helper()
	dir, place := w.t.TempDir(), w.partPlace(study, trial)
	if err := os.WriteFile(filepath.Join(dir, "weights.bin"), []byte("\x00weights"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if _, err := storage.OpenCheckpoints(w.store, place, "trial", 1).Save(w.t.Context(), dir, step); err != nil {
		w.t.Fatal(err)
	}
	return place
}

func TestTheCheckpointOfARunningTrialIsNamed(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	id := w.tradeOff(5)
	place := w.saveTrial(id, "0004", 1300)
	address := place.Checkpoint(storage.Checkpoint{Attempt: "a1", Number: 1}).String()
	w.sees("/trial?pipeline=penguin&id="+id+"&trial=4", `title="`+address+`">step 1,300</a>`)
	w.sees("/artifact?ref="+address, "weights.bin", "Stoker, for attempts that resume")
	w.sees("/artifact?ref="+strings.TrimSuffix(address, "/a1/000001"), "a1/000001/weights.bin")
	// It has ended, and keeps nothing.
	w.saveTrial(id, "0002", 7)
	if _, body := w.get("/trial?pipeline=penguin&id=" + id + "&trial=2"); strings.Contains(body, "Checkpoint") {
		t.Error("a trial that has ended has a checkpoint")
	}
}

// The output of a trial that has ended is that of its job, while the bus has it, and then that of
// the search, if the store has it.
func TestATrialThatHasEndedHasItsOutput(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	id := w.search(5)
	page := "/trial?pipeline=penguin&id=" + id + "&trial=2"
	w.sees(page, "The output of a trial is not stored")
	root, execution := storage.Ref{Bucket: "bkt", Key: "penguin/Tuner"}, "sha256:"+id
	if _, _, err := storage.PutCommit(t.Context(), w.store, root, storage.Commit{Execution: execution, Attempt: "a1", Job: "job", Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	w.sees(page, "The output of a trial is not stored")
	w.shelve(storage.Place{Root: root, Execution: execution, Attempt: "a1"}.Log().String(), "trial 2 of <b>5</b>\npassword=hunter2\n")
	if body := w.sees(page, "trial 2 of &lt;b&gt;5&lt;/b&gt;", "The end of the log of the search", "Download the whole log"); strings.Contains(body, "hunter2") {
		t.Error("the log is shown with a secret")
	}
}

// The bus has the output of a job for some time after its trials have ended.
func TestATrialThatHasEndedHasTheOutputOfItsJob(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply("pipeline: penguin\nmodule: ./m\ntuner: {when: always}\n")
	w.publish(ready("monday"))
	w.dispatched()
	claim, err := w.bus.Claim(t.Context(), events.FunctionTune, []string{"cpu"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	job, err := claim.Job()
	if err != nil {
		t.Fatal(err)
	}
	owner := tune.Owner{Job: job.ID, Attempt: "a"}
	log := &studyLog{w: w, name: events.Study{Pipeline: "penguin", ID: strings.Repeat("ef", 32)}}
	log.write(tune.Entry{Begun: &tune.Begun{Request: job.ID + " ", Config: tune.Config{
		Space: landscapeSpace[:1], Algorithm: tune.Algorithm{Name: tune.Random}, MaxTrials: 5, Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}},
	}}})
	log.write(tune.Entry{Started: []tune.Started{{Trial: "0000", Suggestion: &tune.Suggestion{Values: space.Values{{Name: "learning_rate", Of: 0.01}}}, Owner: owner}}})
	log.write(tune.Entry{Ended: &tune.Ended{Trial: "0000", Owner: owner, Status: tune.Completed, Metrics: map[string]float64{"accuracy": 0.9}}})
	module := &printer{w: w, report: events.Progress{Job: job.ID, Pipeline: "penguin", Run: "monday", Attempt: claim.Attempt().ID, Phase: "printing"}}
	module.print("epoch 1 of trial 0\n")
	w.sees("/trial?pipeline=penguin&id="+log.name.ID+"&trial=0", "epoch 1 of trial 0", "The end of the output of its job", "/run?pipeline=penguin&amp;run=monday")
}
