package tuner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck/modelchecktest"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// plant is some workers on one bus and one store, in memory. Its module asks for a search by
// config, and trains trials with trial.
type plant struct {
	modelchecktest.Here
	*testing.T
	bus    *bustest.Memory
	client func() events.Bus // returns the bus as one more worker sees it
	store  storage.Store
	config tune.Config
	trial  func(ctx context.Context, a module.Assignment, on func(module.Message)) (map[string]float64, error)
	spec   string
	// Of a module that searches by itself.
	search func(ctx context.Context, a module.Assignment, on func(module.Message)) error

	mu    sync.Mutex
	tried []module.Assignment
}

func newPlant(t *testing.T, c tune.Config) *plant {
	t.Helper()
	p := &plant{T: t, bus: bustest.NewMemory(time.Second), store: storagetest.NewMemory(), config: c, spec: studySpec}
	p.client = func() events.Bus { return p.bus }
	p.trial = func(_ context.Context, a module.Assignment, _ func(module.Message)) (map[string]float64, error) {
		return map[string]float64{"loss": valueOf(a, "x")}, nil
	}
	for key, body := range map[string]string{
		"up/tx/Split-train/data-0": "train rows", "up/tx/Split-eval/data-0": "eval rows",
		"up/graph/transformed_metadata/schema.pbtxt": "", "up/graph/transform_fn/saved_model.pb": "\x08\x01\x12\x09\x0a\x07\x22\x05serve",
	} {
		if _, err := p.store.Put(t.Context(), storage.Ref{Bucket: "stoker", Key: key}, strings.NewReader(body), int64(len(body))); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// oneFloat returns a study of x in [0, 1], whose loss is usually x.
func oneFloat(algorithm string, trials, parallel int) tune.Config {
	return tune.Config{
		Space:      space.Space{{Name: "x", Kind: space.Float, Max: 1, Sampling: space.Linear, Default: 0.0}},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: algorithm}, MaxTrials: trials, Parallel: parallel,
	}
}

func valueOf(a module.Assignment, name string) float64 {
	values, _ := a.Hyperparameters["values"].(map[string]any)
	x, is := values[name].(float64)
	if !is {
		return math.NaN()
	}
	return x
}

// Digest implements execution.Runner.
func (p *plant) Digest(context.Context, module.Source) (string, error) { return "sha256:module", nil }

// Run implements execution.Runner.
func (p *plant) Run(ctx context.Context, a module.Assignment, _ runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	if a.Call == module.CallTune {
		text, err := json.Marshal(p.config)
		if p.search != nil {
			return runner.Outcome{}, p.search(ctx, a, on)
		}
		on(module.Message{Type: module.MessageStudy, Study: text})
		return runner.Outcome{}, err
	}
	p.mu.Lock()
	p.tried = append(p.tried, a)
	p.mu.Unlock()
	metrics, err := p.trial(ctx, a, on)
	return runner.Outcome{Metrics: metrics}, err
}

// worker runs a worker until ctx ends.
func (p *plant) worker(ctx context.Context, bus events.Bus, slots int) error {
	executor := execution.New(p.store, p, execution.Options{Root: storage.Ref{Bucket: "stoker"}, WorkDir: p.TempDir(), Logger: p.logger()})
	search := tuner.New(executor, bus)
	return worker.New(bus, worker.Options{Functions: []worker.Function{search, search.Trials()}, Slots: slots, Logger: p.logger()}).Run(ctx)
}

func (p *plant) logger() *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(p.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// with runs some workers while do runs.
func (p *plant) with(workers, slots int, do func()) {
	p.Helper()
	ctx, stop := context.WithCancel(p.Context())
	var running errgroup.Group
	for range workers {
		running.Go(func() error { return p.worker(ctx, p.client(), slots) })
	}
	do()
	stop()
	if err := running.Wait(); err != nil {
		p.Error(err)
	}
}

// offer enqueues a tune job, and publishes the event that is its cause.
func (p *plant) offer(id, run string) { p.Helper(); p.ask(id, run, "") }

// ask is offer for a job that is retried by hand.
func (p *plant) ask(id, run, request string) {
	p.Helper()
	j := job(p.T, id, run, p.spec)
	j.Request = request
	j.Causes = []events.Cause{{Kind: events.KindTransformReady, Source: "/test", ID: "1", Sequence: 1}}
	if err := p.bus.Enqueue(p.Context(), j); err != nil {
		p.Fatal(err)
	}
}

const studySpec = `
pipeline: penguin
module: ./penguin_utils.py
trainer: {train_args: {num_steps: 100}}
tuner:
  when: always
  max_crashes: 2
`

// published returns the event with the outcome of a run's tuning.
func (p *plant) published(run string) events.Event {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), 8*time.Minute)
	defer cancel()
	for recorded, err := range p.bus.Read(ctx, events.Query{Pipeline: "penguin", Run: run, Follow: true}) {
		if err != nil {
			p.Fatal(err)
		}
		return recorded.Event
	}
	p.Fatal("nothing was published")
	return events.Event{}
}

func (p *plant) hparams(run string) *events.HParamsReady {
	p.Helper()
	event := p.published(run)
	ready, ok := event.Data.(*events.HParamsReady)
	if !ok {
		p.Fatalf("published %+v", event.Data)
	}
	return ready
}

// study returns the state of the only study.
func (p *plant) study() tune.Study {
	p.Helper()
	var name events.Study
	for entry, err := range p.bus.Studies(p.Context(), "") {
		if err != nil {
			p.Fatal(err)
		}
		name = entry.Study
	}
	var study tune.Study
	for entry, err := range p.bus.ReadStudy(p.Context(), name, 0, false) {
		e, parseErr := tune.ParseEntry(entry.Body)
		e.Stored = entry.Stored
		if err := errors.Join(err, parseErr, study.Apply(e)); err != nil {
			p.Fatal(err)
		}
	}
	return study
}

func (p *plant) read(uri, file string) string {
	p.Helper()
	ref, err := storage.ParseRef(uri)
	if err != nil {
		p.Fatal(err)
	}
	dir := p.TempDir()
	if _, err := storage.StageIn(p.Context(), p.store, ref, dir, storage.StageOptions{}); err != nil {
		p.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

func TestAStudyIsSearchedByAllWorkersAndPublishedByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, oneFloat(tune.Random, 20, 4))
		p.with(2, 2, func() {
			p.offer("j1", "monday")
			got := p.hparams("monday")
			study := p.study()
			best := study.Best()[0]
			if len(study.Trials) != 20 || len(study.Best()) != 20 || len(p.tried) != 20 || study.Finished.Why != tune.MaxTrials {
				t.Errorf("%d trials, %d tried, %+v", len(study.Trials), len(p.tried), study.Finished)
			}
			if *got.Score != best.Metrics["loss"] || got.Objective != "loss" || got.Cached || got.Values["x"] != *got.Score {
				t.Errorf("published %+v, best is %+v", got, best)
			}
			if text := p.read(got.Hyperparameters, "best_hyperparameters.txt"); !strings.HasPrefix(text, `{"space": [{"class_name": "Float"`) {
				t.Errorf("best hyperparameters: %s", text)
			}
			var results []map[string]any
			if err := json.Unmarshal([]byte(p.read(got.Study, "tuner_results.json")), &results); err != nil || len(results) != 20 ||
				results[0]["trial_id"] != best.ID || results[0]["score"] != *got.Score || results[0]["x"] != *got.Score {
				t.Errorf("results %v, %v", results, err)
			}
			if lines := strings.Count(p.read(got.Study, "study/log.jsonl"), "\n"); lines != study.Entries {
				t.Errorf("%d lines of %d entries", lines, study.Entries)
			}
			if lines := strings.Count(p.read(got.Study, "study/trials.csv"), "\n"); lines != 1+len(study.Trials) {
				t.Errorf("%d lines of %d trials", lines, len(study.Trials))
			}
			p.offer("j2", "tuesday")
			if second := p.hparams("tuesday"); !second.Cached || len(p.tried) != 20 {
				t.Errorf("a second run: %+v after %d trials", second, len(p.tried))
			}
		})
		for _, a := range p.tried {
			if a.Call != module.CallTrial || a.Trial == nil || *a.TrainSteps != 100 || a.WorkingDir == "" || a.ServingModelDir != "" || a.Trial.Keep {
				t.Errorf("assignment %+v", a)
			}
		}
		if keys := keysOf(t, p.store); slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "checkpoint") }) {
			t.Errorf("trials that leave nothing have left %v", keys)
		}
	})
}

func TestATrialThatFailsIsTriedAgainAndManyInARowEndTheStudy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := oneFloat(tune.Random, 6, 1)
		c.Retries = 1
		p := newPlant(t, c)
		failing := map[string]bool{}
		p.trial = func(_ context.Context, a module.Assignment, _ func(module.Message)) (map[string]float64, error) {
			if id := a.Trial.ID; id != "0003" && !failing[id] {
				failing[id] = true
				return nil, &runner.Error{Kind: runner.KindModule, Err: errors.New("no luck")}
			}
			return map[string]float64{"loss": valueOf(a, "x")}, nil
		}
		p.with(1, 1, func() {
			p.offer("j1", "monday")
			p.hparams("monday")
			if study := p.study(); len(study.Best()) != 6 || len(p.tried) != 11 {
				t.Errorf("%d completed of %d tries", len(study.Best()), len(p.tried))
			}
		})
		for trials, want := range map[int]string{6: "3 trials in a row", 1: "before any trial was completed"} {
			p = newPlant(t, oneFloat(tune.Random, trials, 1))
			p.trial = func(context.Context, module.Assignment, func(module.Message)) (map[string]float64, error) {
				return map[string]float64{"accuracy": 1}, nil
			}
			p.with(1, 1, func() {
				p.offer("j1", "monday")
				failed, ok := p.published("monday").Data.(*events.TuningFailed)
				if !ok || failed.Reason != events.FailureModule || !strings.Contains(failed.Message, want) || !strings.Contains(failed.Message, "did not report the objective loss") {
					t.Errorf("%d trials: published %+v", trials, failed)
				}
			})
		}
	})
}

// A worker is lost in its second trial, which has left a checkpoint: its job is delivered again and
// continues it.
func TestATrialGoesOnWhereALostWorkerLeftIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, oneFloat(tune.Random, 3, 1))
		lost, gone := make(chan struct{}), make(chan struct{})
		var once sync.Once
		p.trial = func(ctx context.Context, a module.Assignment, on func(module.Message)) (map[string]float64, error) {
			state := filepath.Join(a.WorkingDir, "state")
			text, err := os.ReadFile(state)
			switch {
			case a.Trial.ID != "0001":
			case err == nil && string(text) == "half":
				on(module.Message{Type: module.MessageProgress, Step: 2, Metrics: map[string]float64{"loss": 0.5}})
			default:
				if err := os.WriteFile(state, []byte("half"), 0o600); err != nil {
					return nil, err
				}
				on(module.Message{Type: module.MessageProgress, Step: 1, Metrics: map[string]float64{"loss": -9}})
				on(module.Message{Type: module.MessageCheckpoint, Step: 1})
				once.Do(func() { close(lost) })
				<-ctx.Done()
				<-gone
				return nil, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
			}
			return map[string]float64{"loss": valueOf(a, "x")}, nil
		}
		ctx, kill := context.WithCancel(t.Context())
		var first errgroup.Group
		first.Go(func() error { return p.worker(ctx, p.bus, 1) })
		p.offer("j1", "monday")
		<-lost
		kill()
		close(gone)
		if err := first.Wait(); err != nil {
			t.Error(err)
		}
		p.with(1, 1, func() { p.hparams("monday") })
		study := p.study()
		if trial := study.Trials[1]; len(study.Best()) != 3 || len(p.tried) != 4 || trial.Tries != 1 || len(trial.Curves["loss"]) != 2 || trial.Curves["loss"][0].Value != -9 || study.Best()[0] != trial {
			t.Errorf("%d tries, trial 1: %+v", len(p.tried), trial)
		}
		if keys := keysOf(t, p.store); slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "checkpoint") }) {
			t.Errorf("left %v", keys)
		}
	})
}

// In Hyperband, a trial that continues another finds that trial's state, whichever worker had it.
func TestHyperbandGoesOnFromItsParents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := oneFloat(tune.Hyperband, 0, 3)
		c.Algorithm.MaxEpochs = 9
		p := newPlant(t, c)
		p.trial = func(_ context.Context, a module.Assignment, _ func(module.Message)) (map[string]float64, error) {
			state := filepath.Join(a.WorkingDir, "state")
			text, err := os.ReadFile(state)
			if a.Trial.Parent != "" && (err != nil || string(text) != fmt.Sprint(a.Trial.Parent, " ", a.Trial.From)) {
				t.Errorf("trial %s goes on from %s at %d, and found %q, %v", a.Trial.ID, a.Trial.Parent, a.Trial.From, text, err)
			}
			if want := max(1, int(math.Round(100*float64(a.Trial.Epochs)/9))); *a.TrainSteps != want {
				t.Errorf("%d steps for %d epochs of 9", *a.TrainSteps, a.Trial.Epochs)
			}
			if a.Trial.Keep != (a.Trial.Epochs < 9) {
				t.Errorf("%+v", a.Trial)
			}
			err = os.WriteFile(state, []byte(fmt.Sprint(a.Trial.ID, " ", a.Trial.Epochs)), 0o600)
			return map[string]float64{"loss": valueOf(a, "x") - float64(a.Trial.Epochs)}, err
		}
		p.with(3, 1, func() {
			p.offer("j1", "monday")
			p.hparams("monday")
		})
		study := p.study()
		if len(study.Trials) != 23 || len(study.Best()) != 23 || len(p.tried) != 23 || study.Finished.Why != tune.Exhausted {
			t.Errorf("%d trials, %d tried, %+v", len(study.Trials), len(p.tried), study.Finished)
		}
		if keys := keysOf(t, p.store); slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "checkpoint") }) {
			t.Errorf("left %v", keys)
		}
	})
}

func TestTheBestTrialsModelIsPublishedWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, oneFloat(tune.Random, 12, 2))
		p.spec += "  study: {best_model: on}\n"
		p.trial = func(_ context.Context, a module.Assignment, _ func(module.Message)) (map[string]float64, error) {
			err := os.MkdirAll(a.ServingModelDir, 0o755)
			if err == nil {
				err = os.WriteFile(filepath.Join(a.ServingModelDir, "saved_model.pb"), []byte(a.Trial.ID), 0o600)
			}
			return map[string]float64{"loss": valueOf(a, "x")}, err
		}
		var hparams *events.HParamsReady
		p.with(2, 1, func() {
			p.offer("j1", "monday")
			hparams = p.hparams("monday")
		})
		study := p.study()
		best := study.Best()[0]
		address := strings.Replace(hparams.Hyperparameters, "/best_hyperparameters/", "/model/", 1)
		if got := p.read(address, "Format-Serving/saved_model.pb"); got != best.ID {
			t.Errorf("published the model of trial %s, the best is %s", got, best.ID)
		}
		if keys := keysOf(t, p.store); slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "checkpoint") }) {
			t.Errorf("left %v", keys)
		}
	})
}
