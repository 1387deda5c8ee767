//go:build checkpoints

package trainer_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// orbaxLoop is a custom training loop with a CheckpointManager of Orbax. It appends to a log five
// times a second, saves every second, and kills itself a while after it has begun to save. It
// prints the step that it resumes from, and each step as soon as Orbax has finished it.
const orbaxLoop = `
import os, shutil, signal, sys, threading, time
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.append(os.environ["STOKER_TEST_PACKAGES"])
import numpy as np
import orbax.checkpoint as ocp

kind = {"renamed": ocp.path.atomicity.AtomicRenameTemporaryPath, "in place": ocp.path.atomicity.CommitFileTemporaryPath}[os.environ["STOKER_TEST_WRITES"]]
kill_save, kill_after = int(os.environ["STOKER_TEST_KILL_SAVE"]), float(os.environ["STOKER_TEST_KILL_AFTER"])

def weights(step):
    return np.random.default_rng(step).standard_normal(300_000)

def is_finished(path):
    return ocp.path.step.is_path_finalized(path, temporary_path_cls=kind)

def kill(saving):
    saving.wait()
    time.sleep(kill_after)
    os.kill(os.getpid(), signal.SIGKILL)

def watch(folder, known):
    while True:
        for name in os.listdir(folder):
            if name.isdigit() and int(name) > known and is_finished(os.path.join(folder, name)):
                known = int(name)
                print("finished", known, flush=True)
        time.sleep(0.02)

def run_fn(fn_args):
    folder = os.path.join(fn_args.model_run_dir, "ckpt")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        if not is_finished(os.path.join(folder, name)):
            raise RuntimeError(f"{name} is not finished: {os.listdir(os.path.join(folder, name))}")
    manager = ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(max_to_keep=2, temporary_path_class=kind))
    step = manager.latest_step() or 0
    if step:
        found = manager.restore(step, args=ocp.args.StandardRestore())
        if found["step"] != step:
            raise RuntimeError(f"step {step} holds {found['step']}")
        np.testing.assert_array_equal(found["weights"], weights(step))
    print("resumed", step, flush=True)
    saving, saves, first = threading.Event(), 0, step
    threading.Thread(target=watch, args=(folder, step), daemon=True).start()
    threading.Thread(target=kill, args=(saving,), daemon=True).start()
    log = open(os.path.join(fn_args.model_run_dir, "history"), "a")
    while kill_save or step < first + 10:
        step += 1
        log.write(f"step {step}\n")
        log.flush()
        if step % 5 == 0:
            manager.save(step, args=ocp.args.StandardSave({"step": step, "weights": weights(step)}))
            saves += 1
            if saves == kill_save:
                saving.set()
        time.sleep(0.2)
    manager.close()
    shutil.copytree(os.environ["STOKER_TEST_MODEL"], fn_args.serving_model_dir, dirs_exist_ok=True)
`

// crashes is how often a loop is killed, or its worker loses the lease.
const crashes = 7

func TestCheckpointsOfOrbaxSurviveCrashes(t *testing.T) {
	t.Parallel()
	interpreter, packages := tftest.Python(t), tftest.OrbaxPackages(t)
	for _, writes := range []string{"renamed", "in place"} {
		t.Run(writes, func(t *testing.T) {
			t.Parallel()
			model := filepath.Join(t.TempDir(), "model")
			if _, err := writesModel(module.Assignment{ServingModelDir: model}); err != nil {
				t.Fatal(err)
			}
			l := openCrashLoop(t, interpreter, orbaxLoop, "3",
				"STOKER_TEST_PACKAGES="+packages, "STOKER_TEST_WRITES="+writes, "STOKER_TEST_MODEL="+model)
			last := 0 // the last step that Orbax has finished
			for n := 1; n <= crashes; n++ {
				found := l.crash(n)
				if resumed := found["resumed"]; resumed < last {
					t.Errorf("attempt %d resumed from step %d, and step %d was finished", n, resumed, last)
				}
				last = max(found["resumed"], found["finished"])
				if l.lostLease(n) {
					// A step that was finished after the last upload is lost with its machine.
					last = found["resumed"]
				}
			}
			if resumed := l.finish(crashes + 1)["resumed"]; resumed < last || resumed == 0 {
				t.Errorf("the last attempt resumed from step %d, and step %d was finished", resumed, last)
			}
		})
	}
}

// kerasLoop is Keras's fit with BackupAndRestore every five batches. A layer counts the batches in
// each of its weights. A thread appends to a log five times a second. The module prints the count
// that it resumes from, those that it writes and has written, and the epochs that these belong to.
const kerasLoop = `
import os, signal, threading, time
import numpy as np
import tensorflow as tf

kill_save, kill_after = int(os.environ["STOKER_TEST_KILL_SAVE"]), float(os.environ["STOKER_TEST_KILL_AFTER"])
keras = tf.keras

class Counter(keras.layers.Layer):
    def build(self, shape):
        self.batches = self.add_weight(name="batches", shape=(200_000,), initializer="zeros", trainable=False)

    def call(self, x):
        return x

def append(folder):
    with open(os.path.join(folder, "history"), "a") as log:
        while True:
            print("a line", file=log, flush=True)
            time.sleep(0.2)

def kill(saving):
    saving.wait()
    time.sleep(kill_after)
    os.kill(os.getpid(), signal.SIGKILL)

def run_fn(fn_args):
    counter, saving, saves, epochs = Counter(), threading.Event(), [], [0]
    model = keras.Sequential([keras.layers.Input((1,)), counter, keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)

    def count():
        counts = np.unique(np.asarray(counter.batches))
        if len(counts) != 1:
            raise RuntimeError(f"the weights are of {len(counts)} moments")
        return int(counts[0])

    class Count(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            epochs[0] = epoch

        def on_train_batch_end(self, batch, logs=None):
            counter.batches.assign(np.asarray(counter.batches) + 1)
            time.sleep(0.1)

    class Backup(keras.callbacks.BackupAndRestore):
        def _save_model(self):  # of Keras 3
            self.report(super()._save_model)

        def _backup(self, epoch, batch=0):  # of Keras 2
            self.report(lambda: super(Backup, self)._backup(epoch, batch))

        def report(self, save):
            saves.append(1)
            if len(saves) == kill_save:
                saving.set()
            print(f"epoch-of-{count()}", epochs[0], flush=True)
            print("writing", count(), flush=True)
            save()
            print("saved", count(), flush=True)

    class Resumed(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            print("initial", getattr(model, "_initial_epoch", 0) or 0, flush=True)
            print("resumed", count(), flush=True)

        def on_train_batch_end(self, batch, logs=None):
            if not kill_save and len(saves) > 1:
                model.stop_training = True

    write = model.save_weights
    def save_weights(*args, **kwargs):
        write(*args, **kwargs)
        print("weights", count(), flush=True)
    model.save_weights = save_weights
    copies = {"double_checkpoint": True} if os.environ["STOKER_TEST_COPIES"] == "1" else {}

    threading.Thread(target=append, args=(fn_args.model_run_dir,), daemon=True).start()
    threading.Thread(target=kill, args=(saving,), daemon=True).start()
    x = np.ones((40, 1), "float32")
    model.fit(x, x, batch_size=2, epochs=1000, verbose=0, callbacks=[
        Count(), Backup(os.path.join(fn_args.working_dir, "backup"), save_freq=5, **copies), Resumed()])
    served = tf.Module()
    served.weight = tf.Variable(2.0)
    served.serve = tf.function(lambda x: x * served.weight, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(served, fn_args.serving_model_dir, signatures={"serving_default": served.serve})
`

func TestBackupsOfKerasSurviveCrashes(t *testing.T) {
	t.Parallel()
	interpreter := tftest.Python(t)
	for name, c := range map[string]struct{ keras, copies string }{
		"Keras 2": {"2", "0"}, "Keras 3": {"3", "0"}, "Keras 3 with double_checkpoint": {"3", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openCrashLoop(t, interpreter, kerasLoop, c.keras, "STOKER_TEST_COPIES="+c.copies)
			// The last finished backup, and the epochs of all backups.
			last, epochs := 0, map[string]int{}
			check := func(n int, found map[string]int) {
				resumed := found["resumed"]
				if resumed < last {
					t.Errorf("attempt %d resumed from batch %d, and batch %d was finished", n, resumed, last)
				}
				if epoch, known := epochs[fmt.Sprint("epoch-of-", resumed)]; known && c.keras == "3" && found["initial"] != epoch {
					t.Errorf("attempt %d resumed from batch %d in epoch %d, which was in epoch %d", n, resumed, found["initial"], epoch)
				}
				maps.Copy(epochs, found)
				last = max(resumed, found["saved"])
				// Keras 3 has one backup.
				overwritten := c.keras == "3" && found["writing"] > found["saved"]
				if c.copies == "1" { // or a backup without its state
					overwritten = found["weights"] > found["saved"]
				}
				if overwritten || l.lostLease(n) {
					last = resumed
				}
			}
			for n := 1; n < crashes; n++ {
				check(n, l.crash(n))
			}
			if check(crashes, l.finish(crashes)); last == 0 {
				t.Error("no attempt resumed")
			}
		})
	}
}

// crashLoop runs the attempts of one job, with a module that crashes.
type crashLoop struct {
	t           *testing.T
	bench       *bench
	interpreter string
	path, keras string
	env         []string
	rand        *rand.Rand
}

func openCrashLoop(t *testing.T, interpreter, source, keras string, env ...string) *crashLoop {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	path := filepath.Join(t.TempDir(), "loop.py")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return &crashLoop{t: t, bench: setup(t, nil), interpreter: interpreter, path: path, keras: keras, env: env, rand: rand.New(rand.NewPCG(seed, 0))}
}

// lostLease reports whether the worker of an attempt loses the lease, instead of the module being
// killed: no checkpoint is made after that.
func (l *crashLoop) lostLease(n int) bool { return n%3 == 0 }

// crash runs an attempt that does not end by itself, and returns the last number of each word that
// it printed.
func (l *crashLoop) crash(n int) map[string]int {
	l.t.Helper()
	ctx, lose := context.WithCancelCause(l.t.Context())
	defer lose(nil)
	most := []int{60, 1000}[n%2] // milliseconds: in the middle of a save, or some time after it
	save, after := 1+l.rand.IntN(3), time.Duration(l.rand.IntN(most))*time.Millisecond
	what := fmt.Sprintf("killed %s after the begin of save %d", after, save)
	store := l.bench.store
	if l.lostLease(n) {
		save, what = 1000, fmt.Sprintf("lease lost %s after the first upload", after)
		var first sync.Once
		store = pointed{store, func(int) { first.Do(func() { time.AfterFunc(after, func() { lose(events.ErrLeaseLost) }) }) }}
	}
	_, err := l.shift(n, store, save, after).handle(ctx)
	found := l.printed(n)
	l.t.Logf("attempt %d: %s: resumed %d, finished %d, saved %d", n, what, found["resumed"], found["finished"], found["saved"])
	if kind := kindOf(err); !l.lostLease(n) && kind != events.FailureCrash || err == nil {
		l.t.Fatalf("attempt %d: kind %q of %v", n, kind, err)
	}
	if _, resumed := found["resumed"]; !resumed {
		l.t.Fatalf("attempt %d did not begin", n)
	}
	return found
}

// finish runs an attempt that trains to the end.
func (l *crashLoop) finish(n int) map[string]int {
	l.t.Helper()
	if _, err := l.shift(n, l.bench.store, 0, 0).handle(l.t.Context()); err != nil {
		l.t.Fatalf("attempt %d: %v", n, err)
	}
	return l.printed(n)
}

func (l *crashLoop) shift(n int, store storage.Store, save int, after time.Duration) *shift {
	l.t.Helper()
	host, err := runner.New(runner.Options{Python: l.interpreter, CacheDir: l.t.TempDir(), Env: append([]string{
		"STOKER_TEST_KILL_SAVE=" + strconv.Itoa(save), fmt.Sprintf("STOKER_TEST_KILL_AFTER=%f", after.Seconds()),
	}, l.env...)})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(host.Close)
	s := l.bench.shift(l.t, store, host, fmt.Sprint("a", n), n)
	s.job = job(l.t, "j1", "monday", "pipeline: penguin\nmodule: {path: "+l.path+", keras: "+l.keras+"}\n"+
		"trainer: {wait_for: [transform], max_crashes: 30, skew: {check: off}}\n")
	return s
}

// printed returns the last number of each word that an attempt printed.
func (l *crashLoop) printed(n int) map[string]int {
	l.t.Helper()
	found := map[string]int{}
	for _, key := range l.bench.keys(l.t, "penguin/") {
		if !strings.HasSuffix(key, fmt.Sprintf("/a%d/log.txt", n)) {
			continue
		}
		for lines := bufio.NewScanner(strings.NewReader(l.bench.text(l.t, key))); lines.Scan(); {
			word, number, _ := strings.Cut(lines.Text(), " ")
			if value, err := strconv.Atoi(number); err == nil {
				found[word] = value
			}
		}
	}
	return found
}
