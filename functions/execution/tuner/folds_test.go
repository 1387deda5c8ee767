package tuner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/storage"
)

// foldPlant is a plant whose module is builtin:dnn on the rows of the penguin example, which are
// judged by folds. Its eval split is no data.
type foldPlant struct {
	*plant
	mu     sync.Mutex
	folds  map[string]map[int]bool // the folds that each trial has trained, from 0
	report func(trial string, m module.Message)
}

func newFoldPlant(t *testing.T, study string) *foldPlant {
	t.Helper()
	p := &foldPlant{plant: newPlant(t, tune.Config{}), folds: map[string]map[int]bool{}, report: func(string, module.Message) {}}
	p.spec = foldSpec(study)
	p.put("up/tx/Split-train", "../../../compute/data/example/testdata/penguin/transformed_examples/Split-train")
	p.put("up/graph", "../../../compute/tf/savedmodel/testdata/penguin/transform_graph")
	if err := p.store.Delete(t.Context(), storage.Ref{Bucket: "stoker", Key: "up/tx/Split-train/data-0"}); err != nil {
		t.Fatal(err)
	}
	p.trial = p.train
	p.search = func(ctx context.Context, a module.Assignment, on func(module.Message)) error {
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		return module.Serve(ctx, bytes.NewReader(append(text, '\n')), messages{on}, builtin.Module())
	}
	return p
}

func foldSpec(study string) string {
	return `
pipeline: penguin
module: builtin:dnn
trainer: {train_args: {num_steps: 20}, seed: 3, custom_config: {label: species, batch_size: 20, checkpoint_every: 10}}
tuner:
  when: always
  study: ` + study + "\n"
}

// put uploads the files of a local directory.
func (p *foldPlant) put(to, dir string) {
	p.Helper()
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err == nil {
			_, err = p.store.Put(p.Context(), storage.Ref{Bucket: "stoker", Key: path.Join(to, name)}, bytes.NewReader(body), int64(len(body)))
		}
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
}

// train runs a trial, and records which folds it trains.
func (p *foldPlant) train(ctx context.Context, a module.Assignment, on func(module.Message)) (metrics map[string]float64, err error) {
	err = builtin.Run(ctx, "dnn", a, func(m module.Message) {
		switch {
		case m.Type == module.MessageDone:
			metrics = m.Metrics
			return
		case m.Type == module.MessageProgress && m.Metrics == nil:
			p.mu.Lock()
			if p.folds[a.Trial.ID] == nil {
				p.folds[a.Trial.ID] = map[int]bool{}
			}
			p.folds[a.Trial.ID][m.Step] = true
			p.mu.Unlock()
		}
		on(m)
		p.report(a.Trial.ID, m)
	})
	return metrics, err
}

// In a search with a budget each trial trains the folds that its parents have not, whichever worker
// had them, and the best one is judged by all folds. Nothing reads the eval split.
func TestPromotedTrialsTrainTheFoldsThatAreLeft(t *testing.T) {
	t.Parallel()
	p := newFoldPlant(t, "{algorithm: hyperband, validation: {folds: 4}}")
	p.spec = strings.Replace(p.spec, "study:", "tune_args: {num_parallel_trials: 2}\n  study:", 1)
	p.with(2, 1, func() {
		p.offer("j1", "monday")
		got, study := p.hparams("monday"), p.study()
		best := study.Best()[0]
		if study.Config.Validation.Folds != 4 || study.Config.Algorithm.MaxEpochs != 4 || len(study.Trials) != 10 || best.Step != 4 || *got.Score != best.Metrics["accuracy"] {
			t.Errorf("published %+v; %d trials, the best is %+v", got, len(study.Trials), best)
		}
		promoted := 0
		for _, trial := range study.Trials {
			want := map[int]bool{}
			for fold := trial.From; fold < trial.Epochs; fold++ {
				want[fold] = true
			}
			if diff := cmp.Diff(want, p.folds[trial.ID]); diff != "" {
				t.Errorf("trial %s from %d to %d: folds want - got +\n%s", trial.ID, trial.From, trial.Epochs, diff)
			}
			if curve := trial.Curves["accuracy"]; len(curve) != trial.Epochs-trial.From || curve[0].Step != trial.From+1 || trial.Step != trial.Epochs {
				t.Errorf("trial %s: step %d, curve %v", trial.ID, trial.Step, curve)
			}
			if trial.Parent == "" {
				continue
			}
			promoted++
			if parent := study.Trial(trial.Parent); trial.Metrics["example_count"] <= parent.Metrics["example_count"] {
				t.Errorf("trial %s is judged by %v rows, its parent by %v", trial.ID, trial.Metrics["example_count"], parent.Metrics["example_count"])
			}
		}
		if promoted != 2 {
			t.Errorf("%d trials were promoted", promoted)
		}
		for _, a := range p.tried {
			if diff := cmp.Diff(&module.Validation{Folds: 4, Seed: 3}, a.Validation); diff != "" || *a.TrainSteps != 20 || len(a.EvalFiles) > 0 || a.Trial.Keep != (a.Trial.Epochs < 4) {
				t.Errorf("assignment %+v, validation %s", a, diff)
			}
		}
	})
}

// A worker is lost while it trains the second fold of a trial: another resumes there, and the study
// is that of a worker that was not lost.
func TestATrialOfFoldsResumesWhereALostWorkerLeftIt(t *testing.T) {
	t.Parallel()
	const search = "{algorithm: random, max_trials: 2, validation: {folds: 3, order: forward}}"
	undisturbed := newFoldPlant(t, search)
	undisturbed.with(1, 1, func() { undisturbed.offer("j1", "monday"); undisturbed.hparams("monday") })

	p := newFoldPlant(t, search)
	ctx, kill := context.WithCancel(t.Context())
	p.report = func(trial string, m module.Message) {
		if trial == "0001" && m.Type == module.MessageProgress && m.Metrics == nil && m.Step == 1 {
			kill()
		}
	}
	var first errgroup.Group
	first.Go(func() error { return p.worker(ctx, p.bus, 1) })
	p.offer("j1", "monday")
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	p.report, p.folds = func(string, module.Message) {}, map[string]map[int]bool{}
	p.with(1, 1, func() { p.hparams("monday") })
	want, got := undisturbed.study(), p.study()
	for i, trial := range want.Trials {
		if diff := cmp.Diff(trial.Metrics, got.Trials[i].Metrics) + cmp.Diff(trial.Curves, got.Trials[i].Curves); diff != "" || trial.Step != 3 {
			t.Errorf("trial %s, step %d: undisturbed - resumed +\n%s", trial.ID, trial.Step, diff)
		}
	}
	if p.folds["0001"][0] || len(p.folds["0000"]) > 0 || len(p.tried) != 3 {
		t.Errorf("the second worker has trained the folds %v, %d tries", p.folds, len(p.tried))
	}
}

// Other folds are another search; what is read of the eval split is no part of it.
func TestFoldsDetermineASearch(t *testing.T) {
	t.Parallel()
	p := newFoldPlant(t, "")
	seen := map[string]string{}
	for run, study := range map[string]string{
		"a": "{max_trials: 1, validation: {folds: 2}}", "b": "{max_trials: 1, validation: {folds: 3}}", "c": "{max_trials: 1, validation: {folds: 2, order: forward}}",
	} {
		p.spec = foldSpec(study)
		p.with(1, 1, func() {
			p.offer("j"+run, run)
			seen[p.hparams(run).Execution] = run
		})
	}
	if len(seen) != 3 {
		t.Errorf("executions %v", seen)
	}
	p.spec = strings.Replace(foldSpec("{max_trials: 1, validation: {folds: 2, order: random}}"), "seed: 3", "seed: 3, eval_args: {num_steps: 7, splits: [other]}", 1)
	p.with(1, 1, func() {
		p.offer("jd", "d")
		if got := p.hparams("d"); seen[got.Execution] != "a" || !got.Cached {
			t.Errorf("other eval_args are another search: %+v", got)
		}
	})
}

// messages passes the lines of a module to a function.
type messages struct{ on func(module.Message) }

func (to messages) Write(line []byte) (int, error) {
	var m module.Message
	err := json.Unmarshal(line, &m)
	to.on(m)
	return len(line), err
}
