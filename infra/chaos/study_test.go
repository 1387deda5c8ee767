package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
	"github.com/stoker-ml/stoker/events"
)

const (
	studyWorkers = 3
	studyTrials  = 12 // of ASHA, that have no parent
)

const studyPipeline = `
pipeline: study
module: ./tiny.py
trainer: {train_args: {num_steps: 18}}
tuner:
  when: always
  on_failed: fail
  custom_config: {study: true}
  study: {algorithm: %s}
`

// Workers are killed all the time. Every trial is accounted for, none ends twice, those that
// continue others find their checkpoints; each decision in the log follows from the log before it;
// and Hyperband finds what it finds undisturbed.
func TestAStudySurvivesKills(t *testing.T) {
	t.Parallel()
	for algorithm, said := range map[string]string{
		tune.Hyperband: "{name: hyperband, max_epochs: 9}",
		tune.ASHA:      fmt.Sprintf("{name: asha, max_epochs: 9, factor: 3}, max_trials: %d", studyTrials),
	} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			p := newPlan(t, 1)
			p.kind = true
			w := newWorld(t, p, lease)
			w.tinyInputs()
			w.apply(fmt.Sprintf(studyPipeline, said))
			w.add(roleDispatcher, never)
			var workers []*process
			for range studyWorkers {
				workers = append(workers, w.add(roleWorker, never))
			}
			w.must(publish(t.Context(), w.bus, w.tinyRun("study", "monday")))
			kills := w.killUntilFound(workers)
			log := w.studyLog()
			t.Logf("%d kills, %d entries", kills, len(log))
			if kills < 3 {
				t.Error("hardly anybody was killed")
			}
			study := replayStudy(t, log)
			accountFor(t, study)
			for _, fault := range w.faults() {
				t.Error(fault)
			}
			if algorithm == tune.Hyperband {
				sameAsUndisturbed(t, study)
			}
		})
	}
}

func (w *world) tinyInputs() {
	w.put("tiny/graph/transform_fn/saved_model.pb", "\x08\x01\x12\x09\x0a\x07\x22\x05serve")
	w.put("tiny/rows/Split-train/data", "rows")
	w.put("tiny/rows/Split-eval/data", "eval rows")
}

func (w *world) tinyRun(pipeline, key string) events.Event {
	return events.Event{ID: "transform", Source: "/upstream", Pipeline: pipeline, Run: key, Data: &events.TransformReady{
		TransformGraph:      w.root.Join("tiny/graph").String(),
		TransformedExamples: []events.Examples{{URI: w.root.Join("tiny/rows").String()}},
	}}
}

// killUntilFound kills one worker after another, until the result of the study is published.
func (w *world) killUntilFound(workers []*process) (kills int) {
	w.t.Helper()
	r := rand.New(rand.NewPCG(w.plan.seed, 9))
	next := time.Now().Add(300 * time.Millisecond)
	w.eventually(3*time.Minute, func(ctx context.Context) string {
		if time.Now().After(next) {
			workers[r.IntN(len(workers))].end(syscall.SIGKILL)
			next = time.Now().Add(time.Duration(300+r.IntN(900)) * time.Millisecond)
			kills++
		}
		for recorded, err := range w.bus.Read(ctx, events.Query{Pipeline: "study", Kinds: []events.Kind{events.KindHParamsReady, events.KindTuningFailed}}) {
			if err != nil {
				return err.Error()
			}
			if failed, is := recorded.Event.Data.(*events.TuningFailed); is {
				w.t.Fatal(failed.Message)
			}
			return ""
		}
		return "no hyperparameters event"
	})
	return kills
}

// studyLog returns the log of the only study.
func (w *world) studyLog() (log []events.StudyEntry) {
	w.t.Helper()
	for last, err := range w.bus.Studies(w.t.Context(), "study") {
		w.must(err)
		for entry, err := range w.bus.ReadStudy(w.t.Context(), last.Study, 0, false) {
			w.must(err)
			log = append(log, entry)
		}
	}
	return log
}

// replayStudy folds a log, and wants of each trial that the log before it leads to it.
func replayStudy(t *testing.T, log []events.StudyEntry) (study tune.Study) {
	t.Helper()
	for i, entry := range log {
		e, err := tune.ParseEntry(entry.Body)
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		e.Stored = entry.Stored
		before := study
		begun := e.Started
		if e.Started = nil; !e.Empty() {
			if err := before.Apply(e); err != nil {
				t.Fatalf("entry %d: %v", i, err)
			}
		}
		for _, started := range begun {
			if started.Suggestion == nil {
				continue
			}
			again, verdict, err := suggest.Next(&before)
			got, want := encoded(again), encoded(*started.Suggestion)
			if err != nil || verdict != tune.Try || !bytes.Equal(got, want) {
				t.Fatalf("entry %d: the log says %s, and the log before it leads to %s, %v", i, want, got, err)
			}
		}
		e.Started = begun
		if err := study.Apply(e); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	return study
}

func encoded(s tune.Suggestion) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return text
}

func accountFor(t *testing.T, study tune.Study) {
	t.Helper()
	fresh := 0
	for _, trial := range study.Trials {
		if trial.Parent == "" {
			fresh++
		}
		if trial.Status != tune.Completed {
			t.Errorf("trial %s: %s: %s", trial.ID, trial.Status, trial.Message)
		}
	}
	want := map[string]int{tune.Hyperband: 17, tune.ASHA: studyTrials}[study.Config.Algorithm.Name]
	if fresh != want || !study.Settled() || len(study.Trials) == fresh {
		t.Errorf("%d trials, %d of them new, want %d, %+v", len(study.Trials), fresh, want, study.Finished)
	}
}

// sameAsUndisturbed makes the search again, in memory, one trial after another.
func sameAsUndisturbed(t *testing.T, disturbed tune.Study) {
	t.Helper()
	var alone tune.Study
	apply := func(e tune.Entry) {
		if err := alone.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	c := disturbed.Config
	c.Parallel = 1
	apply(tune.Entry{Begun: &tune.Begun{Config: c}})
	for {
		next, verdict, err := suggest.Next(&alone)
		if err != nil {
			t.Fatal(err)
		}
		if verdict != tune.Try {
			break
		}
		id, owner := alone.NextID(), tune.Owner{Job: "alone", Attempt: "1"}
		apply(tune.Entry{Started: []tune.Started{{Trial: id, Owner: owner, Suggestion: &next}}})
		x, _ := next.Values.Lookup("x")
		y, _ := next.Values.Lookup("y")
		loss := tinyLoss(x.(float64), y.(float64), 2*next.Epochs) // 18 steps for 9 epochs
		apply(tune.Entry{Ended: &tune.Ended{Trial: id, Owner: owner, Status: tune.Completed, Metrics: map[string]float64{"loss": loss}}})
	}
	got, want := disturbed.Best()[0], alone.Best()[0]
	words := func(trial *tune.Trial) string {
		return strings.Join([]string{trial.Values.Key(), fmt.Sprint(trial.Metrics["loss"], trial.Epochs)}, " ")
	}
	if words(got) != words(want) || len(disturbed.Trials) != len(alone.Trials) {
		t.Errorf("best of %d is %s; undisturbed, of %d, %s", len(disturbed.Trials), words(got), len(alone.Trials), words(want))
	}
}
