package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// together is pythonAssignment for several workers. Its modules import no TensorFlow.
func together(t *testing.T, workers int, body string) module.Assignment {
	t.Helper()
	const head = `
import json, os, sys, time

config = json.loads(os.environ["TF_CONFIG"])
me = config["task"]["index"]

def run_fn(fn_args):
`
	a := pythonAssignment(t, head+"    "+strings.ReplaceAll(body, "\n", "\n    ")+"\n")
	// Without the strategy, with which no such module would train: workers_distribute_test.go tests
	// that.
	a.Workers = workers
	return a
}

func TestOnlyTheChiefsOutputIsTheJobs(t *testing.T) {
	t.Parallel()
	a := together(t, 3, `
import stoker
os.makedirs(fn_args.serving_model_dir)
stoker.report(step=me + 1)
print("from", me, os.listdir(fn_args.working_dir), os.listdir("."))
for folder in (fn_args.serving_model_dir, fn_args.model_run_dir, fn_args.working_dir):
    with open(os.path.join(folder, "from"), "x") as file:
        json.dump(config, file)`)
	if err := os.WriteFile(filepath.Join(a.WorkingDir, "checkpoint"), []byte("3"), 0o600); err != nil {
		t.Fatal(err)
	}
	var steps []int
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, func(m module.Message) { steps = append(steps, m.Step) })
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	var config struct {
		Cluster struct{ Worker []string }
		Task    struct {
			Type  string
			Index int
		}
	}
	for _, dir := range []string{a.ServingModelDir, a.ModelRunDir, a.WorkingDir} {
		text, err := os.ReadFile(filepath.Join(dir, "from"))
		if err := errors.Join(err, json.Unmarshal(text, &config)); err != nil {
			t.Fatal(err)
		}
		addresses := slices.Compact(slices.Sorted(slices.Values(config.Cluster.Worker)))
		if config.Task.Index != 0 || config.Task.Type != "worker" || len(addresses) != 3 {
			t.Errorf("%s is from %s", filepath.Base(dir), text)
		}
	}
	if !slices.Equal(steps, []int{1}) {
		t.Errorf("progress %v, want that of the chief alone", steps)
	}
	for _, line := range []string{
		"[worker 0] from 0 ['checkpoint'] ['worker-", "[worker 1] from 1 ['checkpoint'] [", "[worker 2] from 2 ['checkpoint'] [",
	} {
		if !strings.Contains(outcome.LogTail, line) {
			t.Errorf("no line %q in\n%s", line, outcome.LogTail)
		}
	}
}

func TestTheWorkerThatFailedFirstSaysWhy(t *testing.T) {
	t.Parallel()
	const others = `
while not os.path.exists(started): time.sleep(0.01)
time.sleep(0.3)
raise ConnectionError('UNAVAILABLE: Socket closed')`
	first := func(worker int, does string) string {
		return fmt.Sprintf("started = %q\nif me == %d: open(started, 'x').close(); %s", filepath.Join(t.TempDir(), "started"), worker, does) + others
	}
	tests := []struct {
		name, body string
		kind       runner.Kind
		says       string
	}{
		{"raises", first(1, "raise ValueError('too few rows')"),
			runner.KindModule, "worker 1: user_module.py:9 in run_fn: ValueError: too few rows"},
		{"raises after the others saw it go", first(1, "time.sleep(0.6); raise ValueError('too few rows')"),
			runner.KindModule, "worker 1: user_module.py:9 in run_fn: ValueError: too few rows"},
		{"leaves", first(2, "os._exit(4)"), runner.KindModule, "worker 2: exited with status 4"},
		{"leaves without a word", first(2, "os._exit(0)"), runner.KindModule, "worker 2: exited without reporting a result"},
		{"crashes", first(1, "os.abort()"), runner.KindCrash, "ended by signal 6"},
		{"is the chief", "if me == 0: raise ValueError('too hot')\ntime.sleep(600)", runner.KindModule, "worker 0: "},
	}
	r := pythonRunner(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := r.Run(t.Context(), together(t, 3, test.body), runner.Limits{}, nil)
			if failed := asError(t, err); failed.Kind != test.kind || !strings.Contains(failed.Error(), test.says) {
				t.Errorf("%s: %s, want %s: %s\n%s", failed.Kind, failed, test.kind, test.says, failed.LogTail)
			}
		})
	}
}

func TestLimitsHoldForAllWorkersTogether(t *testing.T) {
	t.Parallel()
	r := pythonRunner(t)
	for want, limits := range map[string]runner.Limits{
		"200.0 MiB allowed":    {MemoryBytes: 200 << 20},
		"ran longer than 1.5s": {Timeout: 1500 * time.Millisecond, Grace: 100 * time.Millisecond},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			const body = "kept = b'x' * 60_000_000\ntime.sleep(600)" // in each of three
			_, err := r.Run(t.Context(), together(t, 3, body), limits, nil)
			if failed := asError(t, err); failed.Kind != runner.KindResources || !strings.Contains(failed.Error(), want) {
				t.Errorf("%s: %s", failed.Kind, failed)
			}
		})
	}
}

// What the others do when the chief is done does not matter.
func TestTheChiefsLastWordIsTheJobs(t *testing.T) {
	t.Parallel()
	body := fmt.Sprintf(`
os.makedirs(fn_args.serving_model_dir)
chief = %q
if me == 0:
    with open(chief + ".new", "x") as file: file.write(str(os.getpid()))
    os.rename(chief + ".new", chief)
else:
    while not os.path.exists(chief): time.sleep(0.01)
    while os.path.exists("/proc/" + open(chief).read()): time.sleep(0.01)
    time.sleep(0.5) # until its last word is read
    raise ValueError("too late")`, filepath.Join(t.TempDir(), "chief"))
	outcome, err := pythonRunner(t).Run(t.Context(), together(t, 2, body), runner.Limits{}, nil)
	if err != nil || !strings.Contains(outcome.LogTail, "worker 1 failed: ") {
		t.Error(err, outcome.LogTail)
	}
}

func TestAStrategyThatCanNotBeHadStartsNothing(t *testing.T) {
	t.Parallel()
	python := pythonAssignment(t, "print('started')")
	builtin := assignment(t, "succeed")
	tests := []struct {
		of       module.Assignment
		module   module.Source
		workers  int
		strategy string
		want     string
	}{
		{builtin, builtin.Module, 2, module.StrategyMultiWorker, "resources.workers: 2 applies only to TFX modules, and this is not one"},
		{builtin, builtin.Module, 0, module.StrategyMirrored, "resources.strategy: mirrored applies only to TFX modules, and this is not one"},
		{python, python.Module, 0, module.StrategyTPU, "this worker has no TPU: TPU_NAME names none"},
	}
	r := newRunner(t, 0)
	for _, test := range tests {
		a := test.of
		a.Module, a.Workers, a.Strategy = test.module, test.workers, test.strategy
		_, err := r.Run(t.Context(), a, runner.Limits{}, nil)
		failed := asError(t, err)
		if failed.Kind != runner.KindInput || !strings.Contains(failed.Error(), test.want) || failed.LogTail != "" {
			t.Errorf("%s: %s, want %s", failed.Kind, failed, test.want)
		}
	}
}

func TestAllWorkersAreAskedToLeave(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	a := together(t, 2, fmt.Sprintf(`
import stoker
there = %q
if me: open(there, "x").close()
while not os.path.exists(there): time.sleep(0.01)
if me == 0: stoker.report(step=1)
while not stoker.stopping(): time.sleep(0.01)
open(os.path.join(fn_args.working_dir, "left"), "x").close()
print("left", me)`, filepath.Join(t.TempDir(), "there")))
	var kept bool
	_, err := pythonRunner(t).Run(ctx, a, runner.Limits{Grace: 20 * time.Second}, func(m module.Message) {
		kept = kept || m.Type == module.MessageCheckpoint
		if m.Type == module.MessageProgress {
			stop(errPreempted)
		}
	})
	failed := asError(t, err)
	if failed.Kind != runner.KindStopped || !errors.Is(err, errPreempted) {
		t.Errorf("%s: %v, want stopped", failed.Kind, err)
	}
	if !kept || !strings.Contains(failed.LogTail, "[worker 0] left 0") || !strings.Contains(failed.LogTail, "[worker 1] left 1") {
		t.Errorf("kept %v, log\n%s", kept, failed.LogTail)
	}
}

// A cluster that others started: this is one process of it, whose model counts if it is the
// chief's.
func TestOfAClusterOfOthersTheChiefAloneLeavesAModel(t *testing.T) {
	t.Parallel()
	const cluster = `TF_CONFIG={"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": %d}}`
	for index := range 2 {
		env := []string{fmt.Sprintf(cluster, index)}
		r, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir(), Env: env})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		a := together(t, 2, "os.makedirs(fn_args.serving_model_dir)\nprint('I am', me)")
		outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
		tail := outcome.LogTail
		if err != nil || !strings.Contains(tail, fmt.Sprintf("I am %d\n", index)) || strings.Contains(tail, "[worker") {
			t.Errorf("%v\n%s", err, tail)
		}
		if _, err := os.Stat(a.ServingModelDir); (err == nil) != (index == 0) {
			t.Errorf("worker %d: a model of its own: %v", index, err)
		}
	}
}

// A cluster over several hosts: one process of it is this assignment's, with a port that is not
// reserved for it.
func TestAHostOfAClusterRunsOneWorkerOfIt(t *testing.T) {
	t.Parallel()
	r := pythonRunner(t)
	for index := range 2 {
		a := together(t, 2, "os.makedirs(fn_args.serving_model_dir)\nprint('I am', me, 'of', config['cluster']['worker'])")
		a.Cluster = &module.Cluster{Workers: []string{"a:1", "b:1"}, Index: index}
		var others string
		outcome, err := r.Run(t.Context(), a, runner.Limits{Opened: func(log io.Writer) {
			fmt.Fprintln(log, "[worker 7] also here")
		}, Live: printed(func(text string) { others += text })}, nil)
		tail := outcome.LogTail
		if err != nil || !strings.Contains(tail, fmt.Sprintf("I am %d of ['a:1', 'b:1']\n", index)) || strings.Contains(tail, "[worker 0]") {
			t.Errorf("%v\n%s", err, tail)
		}
		if !strings.Contains(tail, "[worker 7] also here\n") || !strings.Contains(others, "[worker 7] also here\n") {
			t.Errorf("what others say is lost\n%s", tail)
		}
		if _, err := os.Stat(a.ServingModelDir); (err == nil) != (index == 0) {
			t.Errorf("worker %d: a model of its own: %v", index, err)
		}
	}
}

// printed is a function that is called with what is written.
type printed func(string)

func (p printed) Write(b []byte) (int, error) { p(string(b)); return len(b), nil }
