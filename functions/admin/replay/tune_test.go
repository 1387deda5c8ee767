package replay_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/storage"
)

// tuned is a pipeline that tunes each run.
const tuned = `
pipeline: penguin
module: ./mine
trainer: {train_args: {num_steps: 1}}
tuner: {when: always, on_failed: fail}
`

// tune does what the tuner does, with hyperparameters derived from the job's inputs.
func (w *world) tune(ctx context.Context, job events.Job, attempt events.Attempt) (events.Event, error) {
	if w.broken["search of "+job.Run] {
		return events.Event{}, errors.New("it raised")
	}
	execution := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("search "+job.Inputs.TransformGraph+job.Salt)))
	tuner := root.Join(job.Pipeline, "Tuner")
	_, manifest, err := storage.Committed(ctx, w.store, tuner, execution)
	if errors.Is(err, storage.ErrNotFound) {
		w.trained = append(w.trained, "search of "+job.Run)
		dir := w.t.TempDir()
		w.check(os.WriteFile(filepath.Join(dir, "best_hyperparameters.txt"), []byte("{}"), 0o600))
		manifest, err = storage.Publish(ctx, w.store, storage.Publication{Root: tuner, Execution: execution, Attempt: attempt.ID,
			Outputs: map[string]storage.Source{"best_hyperparameters": {Type: "HyperParameters", Dir: dir}}})
		w.check(err)
		_, _, err = storage.PutCommit(ctx, w.store, tuner, storage.Commit{Execution: execution, Attempt: attempt.ID, Job: job.ID, Generation: job.Generation})
	}
	w.check(err)
	return events.NewHParamsFound(job, &events.HParamsReady{
		Hyperparameters: manifest.Outputs["best_hyperparameters"].URI, Execution: execution, Generation: job.Generation,
	}, time.Unix(1, 0)), nil
}

// tunedBy returns the hyperparameters of a job, which must exist.
func (w *world) tunedBy(ctx context.Context, job events.Job) ([]events.Artifact, error) {
	if job.Inputs.Hyperparameters == "" {
		return []events.Artifact{}, nil
	}
	ref, err := storage.ParseRef(job.Inputs.Hyperparameters)
	w.check(err)
	ref, err = storage.Resolve(ctx, w.store, ref)
	w.check(err)
	listing, err := storage.List(ctx, w.store, ref)
	return []events.Artifact{{Type: "HyperParameters", URI: ref.String(), Digest: listing.Digest}}, err
}

func TestHyperparametersThatAreGoneAreFoundAgainBeforeTheirRunIsTrained(t *testing.T) {
	for name, lose := range map[string]func(*world){"the store": (*world).wipe, "the store and the joins": func(w *world) { w.wipe(); w.forget() }} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, tuned, func(t *testing.T, w *world) {
				w.ready("a")
				w.settle()
				before := w.models()
				lose(w)
				got := w.survey(replay.Options{})
				equal(t, actions(got), "a tune", "a train")
				if why := got.Steps[0].Why; !strings.Contains(why, "run a trains with them") {
					t.Errorf("why: %s", why)
				}
				equal(t, w.replay(replay.Options{}), "a offered", "a tuned", "a offered", "a trained")
				if after := w.models(); len(after) != 1 || !maps.Equal(after, before) {
					t.Errorf("now %v, before %v", after, before)
				}
				equal(t, actions(w.survey(replay.Options{})), "a leave")
				lose(w) // again: the newest events of the log are now those of the replay
				equal(t, w.replay(replay.Options{}), "a offered", "a tuned", "a offered", "a trained")
			})
		})
	}
}

func TestHyperparametersThatAreThereAreNotSearchedForAgain(t *testing.T) {
	inWorld(t, tuned, func(t *testing.T, w *world) {
		w.ready("a")
		w.settle()
		equal(t, w.replay(replay.Options{Force: true, Request: "x"}), "a offered", "a trained")
		equal(t, w.trained, "search of a", "a", "a")
	})
}

func TestARunIsNotTrainedWithoutTheHyperparametersThatItHad(t *testing.T) {
	inWorld(t, tuned, func(t *testing.T, w *world) {
		w.ready("a")
		w.settle()
		w.wipe()
		w.broken["search of a"] = true
		equal(t, w.replay(replay.Options{}), "a offered", "a failed", "a skipped")
	})
}

func TestALostTuneJobIsEnqueuedAgain(t *testing.T) {
	inWorld(t, tuned, func(t *testing.T, w *world) {
		w.ready("a")
		w.check(w.d.Next(t.Context(), 0))
		claim, err := w.bus.Claim(t.Context(), events.FunctionTune, []string{"cpu"}, 0)
		w.check(err)
		w.check(claim.Ack(t.Context())) // without an outcome
		equal(t, actions(w.survey(replay.Options{})), "a join")
		equal(t, w.replay(replay.Options{}), "a joined")
		w.settle()
		equal(t, w.trained, "search of a", "a")
	})
}

func TestTheDeadLetterOfASearchWhoseRunHasEndedIsKept(t *testing.T) {
	inWorld(t, tuned, func(t *testing.T, w *world) {
		w.broken["search of a"] = true
		w.ready("a")
		w.settle()
		dead := deadLetters(t, w.bus)
		if len(dead) != 1 {
			t.Fatalf("%d dead letters", len(dead))
		}
		w.broken = map[string]bool{}
		err := replay.Retry(t.Context(), w.bus, w.d, dead[0])
		if err == nil || !strings.Contains(err.Error(), "run a of pipeline penguin has ended") || !strings.Contains(err.Error(), "`stoker runs rerun`") {
			t.Errorf("error %v, want that the run has ended, and how to run it again", err)
		}
		w.settle()
		equal(t, w.trained)
		if left := deadLetters(t, w.bus); len(left) != 1 || left[0].Sequence != dead[0].Sequence {
			t.Errorf("%d dead letters are left, want the one that was refused", len(left))
		}
	})
}
