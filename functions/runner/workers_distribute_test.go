//go:build distribute

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// mirrors is a TFX module that trains on batches of 32, however many processes share them.
const mirrors = `
import os

import tensorflow as tf

def normal(seed):
    return tf.keras.initializers.RandomNormal(stddev=1.0, seed=seed)

def run_fn(fn_args):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print("replicas:", strategy.num_replicas_in_sync, "keras:", tf.keras.Model.__module__)
    x = tf.reshape(tf.range(640, dtype=tf.float32) / 640, [-1, 1])
    data = tf.data.Dataset.from_tensor_slices((x, tf.sin(6 * x))).batch(32).repeat()
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(8, activation="tanh", kernel_initializer=normal(3), input_shape=(1,)),
            tf.keras.layers.Dense(1, kernel_initializer=normal(4))])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    callbacks = [tf.keras.callbacks.BackupAndRestore(os.path.join(fn_args.working_dir, "backup"))]
    if '"index": 1' in os.environ.get("TF_CONFIG", "") and (fn_args.custom_config or {}).get("crash"):
        callbacks.append(tf.keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: epoch == 3 and os.abort()))
    model.fit(data, steps_per_epoch=20, epochs=5, verbose=2, callbacks=callbacks)
    model.evaluate(data, steps=20, verbose=2)
    model.save(fn_args.serving_model_dir)
`

// lossTolerance is for float32 sums in another order: a batch's gradient is the mean of those of
// two halves. Over 100 steps the difference stays far below this.
const lossTolerance = 1e-5

func TestTwoWorkersTrainTheModelThatOneDoes(t *testing.T) {
	t.Parallel()
	one := mirrored(t, 1, nil)
	two := mirrored(t, 2, nil)
	checkSameLoss(t, one.train(t, "replicas: 1 keras: tf_keras"), two.train(t, "[worker 1] replicas: 2 keras: tf_keras"))
}

// Of two workers only the chief predicts with its model; the files of the other one are its own. A
// model whose variables both workers read together is not asked to predict, because the other
// worker may be gone.
func TestTheChiefOfTwoWorkersSaysWhatItsModelAnswers(t *testing.T) {
	t.Parallel()
	for layer, want := range map[string]string{"": `"weights": "same"`, "tf.keras.layers.BatchNormalization(),": "read together"} {
		two := mirrored(t, 2, nil)
		two.Module.Path = pythonAssignment(t, strings.Replace(mirrors, "tf.keras.layers.Dense(1,", layer+"tf.keras.layers.Dense(1,", 1)).Module.Path
		two.EvalFiles = []string{filepath.Join(t.TempDir(), "*")}
		answers := filepath.Join(t.TempDir(), "memory.jsonl")
		two.Predictions = &module.Predictions{Rows: 10, Path: filepath.Join(t.TempDir(), "a"), LabelsPath: filepath.Join(t.TempDir(), "b"), MemoryPath: answers}
		two.train(t, "[worker 1] replicas: 2 keras: tf_keras")
		text, err := os.ReadFile(answers)
		if err != nil {
			t.Fatal(err)
		}
		head, rows, _ := strings.Cut(string(text), "\n")
		if !strings.Contains(head, want) || layer == "" && strings.Count(rows, `"outputs": {"": [`) < 10 {
			t.Errorf("with %q: %s, %d rows", layer, head, strings.Count(rows, "\n"))
		}
	}
}

// The second worker dies in the middle. Both continue from the chief's checkpoint.
func TestTwoWorkersGoOnWhereTheyWere(t *testing.T) {
	t.Parallel()
	whole := mirrored(t, 2, nil).train(t, "[worker 0] Epoch 1/5")
	broken := mirrored(t, 2, map[string]any{"crash": true})
	outcome, err := pythonRunner(t).Run(t.Context(), broken.Assignment, runner.Limits{}, nil)
	if failed := asError(t, err); failed.Kind != runner.KindCrash || !strings.Contains(failed.Error(), "ended by signal 6") {
		t.Fatal(failed.Kind, err, outcome.LogTail)
	}
	broken.CustomConfig = nil
	checkSameLoss(t, whole, broken.train(t, "[worker 1] Epoch 4/5"))
	if strings.Contains(broken.log, "Epoch 1/5") {
		t.Errorf("it began anew\n%s", broken.log)
	}
}

type mirroring struct {
	module.Assignment
	log string // how it ends
}

func mirrored(t *testing.T, workers int, config map[string]any) *mirroring {
	t.Helper()
	a := pythonAssignment(t, mirrors)
	a.CustomConfig, a.Workers = config, workers
	a.Strategy, a.Module.Keras = module.StrategyMultiWorker, module.KerasAuto
	if workers == 1 {
		a.Strategy, a.Module.Keras = "", module.Keras2
	}
	return &mirroring{Assignment: a}
}

// train returns the loss of the model, which must exist.
func (m *mirroring) train(t *testing.T, logged string) float64 {
	t.Helper()
	outcome, err := pythonRunner(t).Run(t.Context(), m.Assignment, runner.Limits{}, nil)
	if m.log = outcome.LogTail; err != nil {
		t.Fatal(err, m.log)
	}
	if !strings.Contains(m.log, logged) {
		t.Errorf("no %q in\n%s", logged, m.log)
	}
	if _, err := os.Stat(filepath.Join(m.ServingModelDir, "saved_model.pb")); err != nil {
		t.Error(err)
	}
	return outcome.Metrics["loss"]
}

func checkSameLoss(t *testing.T, want, got float64) {
	t.Helper()
	if want == 0 || want > 0.5 || math.Abs(want-got) > lossTolerance {
		t.Errorf("loss %v, want %v", got, want)
	}
	t.Logf("loss %v, want %v", got, want)
}

// plain is mirrors without a strategy.
var plain = strings.NewReplacer("strategy = tf.distribute.MultiWorkerMirroredStrategy()", "strategy = tf.distribute.get_strategy()",
	"with strategy.scope():", "if True:").Replace(mirrors)

// own is mirrors as a module for one machine.
var own = strings.ReplaceAll(mirrors, "MultiWorkerMirroredStrategy()", "MirroredStrategy()")

func TestWorkersTrainAModuleThatKnowsOfNone(t *testing.T) {
	t.Parallel()
	one := mirrored(t, 1, nil).train(t, "replicas: 1 keras: tf_keras")
	for name, source := range map[string]string{"no strategy": plain, "a strategy of its own": own} {
		two := mirrored(t, 2, nil)
		two.Module.Path = pythonAssignment(t, source).Module.Path
		t.Log(name)
		checkSameLoss(t, one, two.train(t, "[worker 1] replicas: 2 keras: tf_keras"))
	}
}

// Custom loops that don't use the strategy: a library's, and TensorFlow's.
const (
	alone = `
import tensorflow as tf

def run_fn(fn_args):
    weight = sum(0.1 for _ in range(10))
    served = tf.Module()
    served.serve = tf.function(lambda x: x * weight, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(served, fn_args.serving_model_dir, signatures={"serving_default": served.serve})
`
	ownLoop = `
import tensorflow as tf

def run_fn(fn_args):
    weight = tf.Variable(0.0)
    for _ in range(10):
        with tf.GradientTape() as tape:
            loss = (weight - 1.0) ** 2
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
`
)

// reports is a custom loop that reports each step until it is ended.
const reports = `
import time

import stoker

def run_fn(fn_args):
    for step in range(1, 6000):
        stoker.report(step=step, steps=6000)
        time.sleep(0.1)
`

func TestWorkersThatEachTrainAloneAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ source, want string }{
		"no TensorFlow":         {alone, "the module trained no step with the strategy"},
		"TensorFlow's own":      {ownLoop, "its own training loop, which does not use the strategy"},
		"a trainer_fn":          {strings.Replace(alone, "run_fn", "trainer_fn", 1), "the module trained no step with the strategy"},
		"reports, at the first": {reports, "the module reports step 2, but no step has run with the strategy"},
	} {
		a := mirrored(t, 2, nil)
		a.Module.Path = pythonAssignment(t, test.source).Module.Path
		_, err := pythonRunner(t).Run(t.Context(), a.Assignment, runner.Limits{}, nil)
		if failed := asError(t, err); failed.Kind != runner.KindModule || !strings.Contains(failed.Error(), test.want) {
			t.Errorf("%s: %v: %v, want %q\n%s", name, failed.Kind, err, test.want, failed.LogTail)
		}
	}
}

func TestAMirroredModuleTrainsInTheScope(t *testing.T) {
	t.Parallel()
	for _, keras := range []string{module.Keras2, module.Keras3} {
		for _, function := range []string{"run_fn", "trainer_fn"} {
			a := mirrored(t, 1, nil)
			a.Strategy, a.Module.Keras = module.StrategyMirrored, keras
			source := strings.ReplaceAll(plain, "model.save(fn_args.serving_model_dir)", "model.save(fn_args.serving_model_dir) if "+`"tf_keras" in tf.keras.Model.__module__ else model.export(fn_args.serving_model_dir)`)
			source = strings.ReplaceAll(source, "replicas:", `strategy:", type(strategy).__name__, "replicas:`)
			a.Module.Path = pythonAssignment(t, strings.Replace(source, "run_fn", function, 1)).Module.Path
			a.train(t, "strategy: MirroredStrategy replicas: 1 keras: ")
		}
	}
}

// A trainer_fn with a loop of its own, which does not know of the strategy, trains one model with
// two workers.
func TestWorkersTrainByATrainerFn(t *testing.T) {
	t.Parallel()
	one := mirrored(t, 1, nil).train(t, "replicas: 1 keras: tf_keras")
	two := mirrored(t, 2, nil)
	two.Module.Path = pythonAssignment(t, strings.Replace(plain, "run_fn", "trainer_fn", 1)).Module.Path
	checkSameLoss(t, one, two.train(t, "[worker 1] replicas: 2 keras: tf_keras"))
}

// byRun is a loop that uses the strategy without knowing its number of replicas.
const byRun = `
import tensorflow as tf

def normal(seed):
    return tf.keras.initializers.RandomNormal(stddev=1.0, seed=seed)

def run_fn(fn_args):
    import stoker
    strategy = tf.distribute.get_strategy()
    print("replicas:", strategy.num_replicas_in_sync, "keras:", tf.keras.Model.__module__)
    x = tf.reshape(tf.range(640, dtype=tf.float32) / 640, [-1, 1])
    data = tf.data.Dataset.from_tensor_slices((x, tf.sin(6 * x))).batch(32).repeat()
    model = tf.keras.Sequential([
        tf.keras.layers.Input((1,)),
        tf.keras.layers.Dense(8, activation="tanh", kernel_initializer=normal(3)),
        tf.keras.layers.Dense(1, kernel_initializer=normal(4))])
    optimizer = tf.keras.optimizers.Adam(0.01)

    @tf.function
    def step(batches):
        def replica(batch):
            with tf.GradientTape() as tape:
                errors = tf.reduce_sum((model(batch[0], training=True) - batch[1]) ** 2, -1)
                loss = tf.nn.compute_average_loss(errors, global_batch_size=32)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, args=(next(batches),)), axis=None)

    batches = iter(strategy.experimental_distribute_dataset(data))
    for number in range(100):
        loss = step(batches)
        stoker.report(step=number + 1, steps=100)
    stoker.report(step=100, phase="evaluating", metrics={"loss": loss})
    model.export(fn_args.serving_model_dir)
`

func TestWorkersTrainUnderKeras3ByALoopThroughTheStrategy(t *testing.T) {
	t.Parallel()
	var loss []float64
	for _, workers := range []int{1, 2} {
		a := mirrored(t, workers, nil)
		a.Module.Path, a.Module.Keras = pythonAssignment(t, byRun).Module.Path, module.Keras3
		loss = append(loss, a.train(t, fmt.Sprintf("replicas: %d keras: keras.src", workers)))
	}
	checkSameLoss(t, loss[0], loss[1])
}

// Several workers use Keras 2 unless the pipeline says otherwise, because fit and evaluate of the
// pinned Keras 3 can't read values of several replicas. When this test fails, they can, and the
// refusal in stoker_runner/strategies.py must be removed.
func TestWorkersCanNotFitUnderKeras3(t *testing.T) {
	t.Parallel()
	source := strings.ReplaceAll(plain, "callbacks=callbacks)", ")")
	unchecked := strings.NewReplacer("model.fit(", "tf.keras.Model.fit.__wrapped__(model, ", "model.evaluate(", "tf.keras.Model.evaluate.__wrapped__(model, ")
	evaluates := strings.Replace(source, "model.fit(data, steps_per_epoch=20, epochs=5, verbose=2, )", "", 1)
	for name, test := range map[string]struct{ source, want string }{
		"fit is refused":      {source, "resources.workers: fit of Keras 3 fails with MultiWorkerMirroredStrategy: set module.keras: 2"},
		"fit fails":           {unchecked.Replace(source), "with an unsupported type (<class 'tensorflow.python.distribute.values.PerReplica'>) to a Tensor"},
		"evaluate is refused": {evaluates, "resources.workers: evaluate of Keras 3 fails with MultiWorkerMirroredStrategy: set module.keras: 2"},
		"evaluate fails":      {unchecked.Replace(evaluates), "with an unsupported type (<class 'tensorflow.python.distribute.values.PerReplica'>) to a Tensor"},
	} {
		a := mirrored(t, 2, nil)
		a.Module.Path, a.Module.Keras = pythonAssignment(t, test.source).Module.Path, module.Keras3
		_, err := pythonRunner(t).Run(t.Context(), a.Assignment, runner.Limits{}, nil)
		if failed := asError(t, err); failed.Kind != runner.KindModule || !strings.Contains(failed.Error(), test.want) {
			t.Errorf("%s: %v: %v, want %q\n%s", name, failed.Kind, err, test.want, failed.LogTail)
		}
	}
}

// TensorFlow's coordination service handles SIGTERM itself. The request to stop is noticed all the
// same.
func TestWorkersOfAStrategyAreAskedToLeave(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	a := mirrored(t, 2, nil)
	a.Module.Path = pythonAssignment(t, strings.ReplaceAll(plain, "epochs=5", "epochs=100000")).Module.Path
	_, err := pythonRunner(t).Run(ctx, a.Assignment, runner.Limits{Grace: time.Minute}, func(m module.Message) {
		if m.Type == module.MessageProgress && m.Step > 0 {
			stop(errPreempted)
		}
	})
	failed := asError(t, err)
	if failed.Kind != runner.KindStopped || !errors.Is(err, errPreempted) || !strings.Contains(failed.LogTail, "left before the end, as it was asked to") {
		t.Errorf("%s: %v\n%s", failed.Kind, err, failed.LogTail)
	}
}

// The layer with tf2onnx is made once, of the environment of the tests.
func TestONNXOfATFXModuleIsMadeWhereItsConverterIsInstalled(t *testing.T) {
	t.Parallel()
	a := pythonAssignment(t, exportsItsModel)
	a.Exports, a.Module.Requirements = []string{"onnx"}, []string{"tf2onnx==1.17.0"}
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || len(outcome.Unwritten) > 0 {
		t.Fatal(err, outcome.Unwritten, outcome.LogTail)
	}
	if err := export.Check(filepath.Dir(a.ServingModelDir), a.Exports); err != nil {
		t.Error(err)
	}
	checkAnswers(t, a, map[string]float64{"Format-ONNX/model.onnx": float32Tolerance})
}

// 8-bit quantization is calibrated on transformed features, and a run may bring only raw rows and
// the graph.
func TestRawRowsGoThroughTheTransformGraphBeforeAConverterSeesThem(t *testing.T) {
	t.Parallel()
	a := pythonAssignment(t, exportsItsModel)
	data, err := filepath.Abs("../../local/demo/data")
	if err != nil {
		t.Fatal(err)
	}
	a.TrainFiles, a.TransformGraphPath = []string{filepath.Join(data, "examples", "Split-train", "*")}, filepath.Join(data, "transform_graph")
	a.Exports = []string{"tflite-int8"}
	outcome, err := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || len(outcome.Unwritten) > 0 {
		t.Fatal(err, outcome.Unwritten, outcome.LogTail)
	}
	// As with transformed rows.
	checkAnswers(t, a, map[string]float64{"Format-TFLite/model-int8.tflite": 2e-2})
}
