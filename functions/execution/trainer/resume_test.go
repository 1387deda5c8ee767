package trainer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck/modelchecktest"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// crashing runs a module that is known to save checkpoints: it leaves a file in each of its
// directories, reports them, and crashes once.
type crashing struct {
	modelchecktest.Here
	died bool
	all  bool              // its message says that model_run belongs to the checkpoint
	seen map[string]string // contents of its directories the second time
}

func (r *crashing) Digest(context.Context, module.Source) (string, error) { return "crashing@1", nil }

func (r *crashing) Run(_ context.Context, a module.Assignment, limits runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	if err := os.WriteFile(limits.LogPath, nil, 0o600); err != nil {
		return runner.Outcome{}, err
	}
	if r.died {
		r.seen = map[string]string{}
		for name, dir := range map[string]string{"working": a.WorkingDir, "run": a.ModelRunDir} {
			text, _ := os.ReadFile(filepath.Join(dir, "ckpt", "state")) // "" if there is none
			r.seen[name] = string(text)
		}
		return writesModel(a)
	}
	r.died = true
	for name, dir := range map[string]string{"working": a.WorkingDir, "run": a.ModelRunDir} {
		path := filepath.Join(dir, "ckpt", "state")
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("of "+name), 0o600))
		if err != nil {
			return runner.Outcome{}, err
		}
	}
	on(module.Message{Type: module.MessageCheckpoint, Step: 7, All: r.all})
	return runner.Outcome{}, crash()
}

func TestModelRunIsThereAgainWhereItBelongsToTheCheckpoint(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{true, false} {
		b, g := setup(t, nil), &crashing{all: all}
		if _, err := b.shift(t, b.store, g, "a1", 1).handle(t.Context()); kindOf(err) != events.FailureCrash {
			t.Fatal(err)
		}
		published, err := b.shift(t, b.store, g, "a2", 2).handle(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if all {
			want = "of run"
		}
		if g.seen["working"] != "of working" || g.seen["run"] != want {
			t.Errorf("all %v: found %q", all, g.seen)
		}
		ref, err := storage.ParseRef(published.ModelRun)
		if err != nil {
			t.Fatal(err)
		}
		isState := func(key string) bool { return strings.HasSuffix(key, "/ckpt/state") }
		if published := slices.ContainsFunc(b.keys(t, ref.Key), isState); published != all {
			t.Errorf("all %v: published model_run has %q", all, b.keys(t, ref.Key))
		}
	}
}

// dies is a TFX module that writes a checkpoint of TensorFlow and half of another file, and dies
// before its directories are scanned for the first time. It reports no checkpoints.
type dies struct {
	modelchecktest.Here
	died  bool
	found []string // files in its directory the second time
}

func (d *dies) Digest(context.Context, module.Source) (string, error) { return "dies@1", nil }

func (d *dies) Run(_ context.Context, a module.Assignment, limits runner.Limits, _ func(module.Message)) (runner.Outcome, error) {
	if err := os.WriteFile(limits.LogPath, nil, 0o600); err != nil {
		return runner.Outcome{}, err
	}
	folder := filepath.Join(a.ModelRunDir, "ckpt")
	if d.died {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return runner.Outcome{}, err
		}
		for _, e := range entries {
			d.found = append(d.found, e.Name())
		}
		return writesModel(a)
	}
	d.died = true
	err := os.MkdirAll(folder, 0o755)
	for name, text := range map[string]string{
		"ckpt-7.data-00000-of-00001": "values", "ckpt-7.index": "index", "checkpoint": `model_checkpoint_path: "ckpt-7"` + "\n", "cut.pkl": "cut o",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return runner.Outcome{}, errors.Join(err, crash())
}

// The next attempt has a checkpoint that was written less than a scan's pause before the process
// died.
func TestACheckpointRightBeforeACrashIsThereAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dies.py")
	if err := os.WriteFile(path, []byte("def run_fn(fn_args): pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, g := setup(t, nil), &dies{}
	attempt := func(number int) (*events.ModelTrained, error) {
		s := b.shift(t, b.store, g, fmt.Sprint("a", number), number)
		s.job = job(t, "j1", "monday", "pipeline: penguin\nmodule: "+path+"\ntrainer: {wait_for: [transform], max_crashes: 3, skew: off}\n")
		return s.handle(t.Context())
	}
	if _, err := attempt(1); kindOf(err) != events.FailureCrash {
		t.Fatal(err)
	}
	if _, err := attempt(2); err != nil {
		t.Fatal(err)
	}
	if want := []string{"checkpoint", "ckpt-7.data-00000-of-00001", "ckpt-7.index"}; !slices.Equal(g.found, want) {
		t.Errorf("the second attempt found %q, want %q", g.found, want)
	}
}

// keeps is a TFX module of the usual kind: BackupAndRestore below working_dir, a CheckpointManager
// below model_run_dir, and TensorBoard. Its process is killed in its fourth epoch, unless it runs
// for the second time.
const keeps = `
import json, os, signal, time
import numpy as np
import tensorflow as tf

def run_fn(fn_args):
    epochs = tf.Variable(0)
    folder = os.path.join(fn_args.model_run_dir, "ckpt")
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(epochs=epochs), folder, max_to_keep=2)
    restored = manager.restore_or_initialize()

    def begin(epoch, logs):
        if epoch == 3 and not restored:
            os.kill(os.getpid(), signal.SIGKILL)

    def end(epoch, logs):
        epochs.assign_add(1)
        manager.save()
        if not restored:
            time.sleep(1.1)  # an epoch of some length

    model = tf.keras.Sequential([tf.keras.layers.Input((1,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    x = np.ones((8, 1), "float32")
    fitted = model.fit(x, x, batch_size=4, epochs=5, verbose=0, validation_data=(x, x), callbacks=[
        tf.keras.callbacks.BackupAndRestore(os.path.join(fn_args.working_dir, "backup")),
        tf.keras.callbacks.TensorBoard(fn_args.model_run_dir, write_graph=False),
        tf.keras.callbacks.LambdaCallback(on_epoch_begin=begin, on_epoch_end=end)])
    with open(os.path.join(fn_args.model_run_dir, "report.json"), "w") as file:
        counted = int(epochs.numpy())
        json.dump({"dir": fn_args.model_run_dir, "restored": restored, "counted": counted, "epochs": fitted.epoch}, file)
    served = tf.Module()
    served.weight = tf.Variable(2.0)
    served.serve = tf.function(lambda x: x * served.weight, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(served, fn_args.serving_model_dir, signatures={"serving_default": served.serve})
`

func TestATFXModuleGoesOnWhereAKilledProcessWas(t *testing.T) {
	t.Parallel()
	interpreter := tftest.Python(t)
	path := filepath.Join(t.TempDir(), "keeps.py")
	if err := os.WriteFile(path, []byte(keeps), 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := runner.New(runner.Options{Python: interpreter, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	b := setup(t, nil)
	attempt := func(number int) (published *events.ModelTrained, phases []string, err error) {
		s := b.shift(t, b.store, host, fmt.Sprint("a", number), number)
		s.job = job(t, "j1", "monday", "pipeline: penguin\nmodule: {path: "+path+", keras: 3}\ntrainer: {wait_for: [transform], max_crashes: 3}\n")
		s.seen = func(p events.Progress) { phases = append(phases, fmt.Sprintf("%s %d/%d", p.Phase, p.Step, p.Steps)) }
		published, err = s.handle(t.Context())
		return published, phases, err
	}
	if _, phases, err := attempt(1); kindOf(err) != events.FailureCrash || !slices.Contains(phases, "training 6/10") {
		t.Fatalf("kind %q of %v; phases %q", kindOf(err), err, phases)
	}
	published, phases, err := attempt(2)
	if err != nil || !slices.Contains(phases, "resuming 6/0") || !slices.Contains(phases, "training 10/10") {
		t.Fatalf("%v; phases %q", err, phases)
	}
	if _, ok := published.Metrics["loss"]; !ok {
		t.Errorf("metrics %v", published.Metrics)
	}
	checkGoneOn(t, b, published)
}

// checkGoneOn reads the report of the second attempt in the published model_run.
func checkGoneOn(t *testing.T, b *bench, published *events.ModelTrained) {
	t.Helper()
	ref, err := storage.ParseRef(published.ModelRun)
	if err != nil {
		t.Fatal(err)
	}
	run, err := storage.StageIn(t.Context(), b.store, ref, t.TempDir(), storage.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(run.Path("report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var second struct {
		Dir, Restored string
		Counted       int
		Epochs        []int
	}
	if err := json.Unmarshal(text, &second); err != nil {
		t.Fatal(err)
	}
	newest := filepath.Join(second.Dir, "ckpt", "ckpt-3")
	if second.Restored != newest || second.Counted != 5 || !slices.Equal(second.Epochs, []int{3, 4}) {
		t.Errorf("the second attempt: %s", text)
	}
	logs := 0
	for _, f := range run.Files {
		if strings.HasPrefix(f.Path, "train/events.out.tfevents.") {
			logs++
		}
	}
	if logs != 2 {
		t.Errorf("%d files of TensorBoard, want one of each attempt: %+v", logs, run.Files)
	}
}

// busy is a custom training loop that appends to a log and counts steps in a file five times a
// second, saves checkpoints of TensorFlow every second, and is killed while it is writing. It
// reports no checkpoints.
const busy = `
import json, os, signal, time
import tensorflow as tf

def run_fn(fn_args):
    step, weight = tf.Variable(0, dtype=tf.int64), tf.Variable(0.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(step=step, weight=weight), os.path.join(fn_args.model_run_dir, "ckpt"), max_to_keep=2)
    restored = manager.restore_or_initialize()
    first = int(step.numpy())
    log = open(os.path.join(fn_args.model_run_dir, "history"), "a")
    while step < 60:
        step.assign_add(1)
        weight.assign_add(0.5)
        log.write(f"step {int(step)}\n")
        log.flush()
        with open(os.path.join(fn_args.model_run_dir, "step.json"), "w") as file:
            json.dump({"step": int(step)}, file)
        if step % 5 == 0:
            manager.save()
        if not restored and step == 48:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0 if restored else 0.2)
    with open(os.path.join(fn_args.model_run_dir, "report.json"), "w") as file:
        json.dump({"restored": restored, "first": first, "weight": float(weight)}, file)
    served = tf.Module()
    served.weight = weight
    served.serve = tf.function(lambda x: x * served.weight, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(served, fn_args.serving_model_dir, signatures={"serving_default": served.serve})
`

func TestABusyLoopGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	interpreter := tftest.Python(t)
	path := filepath.Join(t.TempDir(), "busy.py")
	if err := os.WriteFile(path, []byte(busy), 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := runner.New(runner.Options{Python: interpreter, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	b := setup(t, nil)
	attempt := func(number int) (*events.ModelTrained, error) {
		s := b.shift(t, b.store, host, fmt.Sprint("a", number), number)
		s.job = job(t, "j1", "monday", "pipeline: penguin\nmodule: {path: "+path+", keras: 3}\ntrainer: {wait_for: [transform], max_crashes: 3, skew: {check: off}}\n")
		return s.handle(t.Context())
	}
	if _, err := attempt(1); kindOf(err) != events.FailureCrash {
		t.Fatalf("kind %q of %v", kindOf(err), err)
	}
	trained, err := attempt(2)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := storage.ParseRef(trained.ModelRun)
	if err != nil {
		t.Fatal(err)
	}
	run, err := storage.StageIn(t.Context(), b.store, ref, t.TempDir(), storage.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(run.Path("report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var second struct {
		Restored string
		First    int
		Weight   float64
	}
	if err := json.Unmarshal(text, &second); err != nil {
		t.Fatal(err)
	}
	// The checkpoint of step 45 was written 3 steps before the end, and the worker scans once more
	// after a crash.
	if second.First != 45 || second.Weight != 30 {
		t.Errorf("the second attempt: %s", text)
	}
}
