"""What is heard of trainings with Keras 3 and Keras 2, and of searches with KerasTuner."""
import contextlib
import json
import math
import os
import tempfile
import types
import unittest

import heard
import numpy as np
from stoker_runner import checkpoints, keras_progress, leaving, progress, tune

heard.listen()
work = tempfile.mkdtemp()
progress.begin({"working_dir": work, "model_run_dir": ""})
keras_progress.listen()  # before any Keras is imported
progress.INTERVAL = keras_progress.EPOCHS = 0.0  # everything goes

checkpoints._taken = None  # there is no worker

import keras
import keras_tuner
import tensorflow as tf
import tf_keras

X = np.linspace(0, 1, 40, dtype="float32").reshape(20, 2)
Y = X.sum(axis=1, keepdims=True)


def model_of(kind, **compile):
    model = kind.Sequential([kind.layers.Input((2,)), kind.layers.Dense(1)])
    fast = compile or {"run_eagerly": True}  # tracing costs more than it all
    model.compile(optimizer="sgd", loss="mse", metrics=["mae"], **fast)
    return model


def batches():
    return tf.data.Dataset.from_generator(
        lambda: zip(X, Y), output_signature=(tf.TensorSpec((2,)), tf.TensorSpec((1,)))).batch(5)


@contextlib.contextmanager
def asked_to_leave():
    leaving._asked = True
    try:
        yield
    finally:
        leaving._asked = leaving._seen = False


class Fits:
    def setUp(self):
        keras_progress._before = 0
        progress.trial()
        progress._evaluated.clear()
        heard.messages.clear()

    def training(self):
        return [(m["step"], m["steps"]) for m in heard.of("progress", phase="training")]

    def test_steps_epochs_and_metrics(self):
        kind = self.kind
        model_of(kind).fit(X, Y, batch_size=5, epochs=3, verbose=0, validation_data=(X, Y))
        told = self.training()
        self.assertEqual(told[-1], (12, 12))
        self.assertEqual(told, sorted(told))
        self.assertGreater(len(told), 6)  # batches too
        ends = [m["metrics"] for m in heard.of("progress", phase="training") if "epoch" in m["metrics"]]
        self.assertEqual([m["epoch"] for m in ends], [1, 2, 3])
        self.assertEqual(set(ends[-1]), {"loss", "mae", "val_loss", "val_mae", "epoch"})
        self.assertEqual(progress.metrics(), {"loss": ends[-1]["val_loss"], "mae": ends[-1]["val_mae"]})

    def test_evaluate_has_the_last_word(self):
        kind = self.kind
        model = model_of(kind)
        model.fit(X, Y, epochs=1, verbose=0)
        self.assertEqual(progress.metrics(), {})
        loss, mae = model.evaluate(X, Y, verbose=0)
        self.assertEqual(progress.metrics(), {"loss": loss, "mae": mae})

    def test_nobody_knows_how_many_steps_a_generator_has_until_it_ends(self):
        kind = self.kind
        model_of(kind).fit(batches(), epochs=2, verbose=0)
        told = self.training()
        self.assertEqual((told[0], told[-1]), ((1, 0), (8, 8)))

    def test_several_batches_at_once_and_several_fits(self):
        kind = self.kind
        model = model_of(kind, steps_per_execution=2)
        model.fit(X, Y, batch_size=5, epochs=1, verbose=0)
        model.fit(X, Y, batch_size=5, epochs=1, verbose=0)
        self.assertEqual(self.training()[-1], (8, 8))

    def test_however_callbacks_are_given(self):
        kind = self.kind
        seen = []
        mine = lambda: kind.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(len(self.training())))
        model = model_of(kind)
        model.fit(X, Y, 5, 1, 0, [mine()])
        model.fit(X, Y, verbose=0, callbacks=mine() if kind is keras else (mine(),))
        history = kind.callbacks.CallbackList([mine()], add_history=True, model=model, epochs=1, steps=1)
        self.assertIn("loss", model.fit(X, Y, batch_size=20, verbose=0, callbacks=history).history)
        self.assertEqual(len(history.callbacks), 2)
        self.assertEqual(len(seen), 3)
        self.assertEqual(len([m for m in self.training() if m[0] == m[1]]) >= 3, True)

    def test_ours_comes_after_the_users(self):
        kind = self.kind
        path = os.path.join(work, "mine.weights.h5")
        model = model_of(kind)
        checkpoints._when = 0.0
        model.fit(X, Y, epochs=1, verbose=0, callbacks=[kind.callbacks.ModelCheckpoint(path, save_weights_only=True)])
        self.assertEqual(len(heard.of("checkpoint")), 1)
        self.assertEqual(checkpoints._kept, checkpoints.look())

    def test_nothing_of_ours_fails_a_fit(self):
        kind = self.kind
        model, numbers = model_of(kind), progress.stoker.numbers
        progress.stoker.numbers = lambda logs: 1 / 0
        try:
            model.fit(X, Y, batch_size=5, epochs=2, verbose=0, validation_data=(X, Y))
        finally:
            progress.stoker.numbers = numbers
        with self.assertRaises(TypeError):
            model.fit(X, Y, epoch=3)

    def test_a_loss_that_is_no_number_is_left_out(self):
        kind = self.kind
        model_of(kind).fit(X, Y * np.nan, epochs=1, verbose=0)
        self.assertNotIn("NaN", json.dumps(heard.messages))

    def test_leaving_a_fit_leaves_the_backup_of_the_last_epoch(self):
        kind = self.kind
        folder = os.path.join(work, kind.__name__)
        backup = lambda: kind.callbacks.BackupAndRestore(folder)
        ask = kind.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: setattr(leaving, "_asked", epoch == 2))
        with asked_to_leave(), self.assertRaises(leaving.Leaving):
            model_of(kind).fit(X, Y, batch_size=5, epochs=4, verbose=0, callbacks=[backup(), ask])
        self.assertEqual(self.training()[-1], (8, 16))
        again = model_of(kind).fit(X, Y, batch_size=5, epochs=4, verbose=0, callbacks=[backup()])
        self.assertEqual(again.epoch, [2, 3])


class Keras3(Fits, unittest.TestCase):
    kind = keras


class Keras2(Fits, unittest.TestCase):
    kind = tf_keras


def layered(hp):
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(hp.Int("units", 1, 8))])
    rate = hp.Float("rate", 1e-3, 1e-1, sampling="log")
    model.compile(optimizer=keras.optimizers.SGD(rate), loss="mse", run_eagerly=True)
    return model


class Scores(keras_tuner.engine.base_tuner.BaseTuner):
    """A tuner without models: the score of x is x, and negative ones fail."""

    def run_trial(self, trial, offset=0, most=math.inf):
        x = trial.hyperparameters.Float("x", -1, 1) + offset
        if x < 0:
            raise ValueError(f"no score for {x:.3g}")
        return {"score": x if x <= most else math.inf}


class Searches(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        heard.messages.clear()

    def tune(self, tuner_fn):
        module = types.SimpleNamespace(function=lambda name: tuner_fn)
        self.assignment = {"call": "tune", "working_dir": self.dir, "best_hyperparameters_dir": self.dir + "/a/b",
                           "tuner_results_dir": self.dir + "/c"}
        make, tune.fnargs.make = tune.fnargs.make, lambda assignment: types.SimpleNamespace(**assignment)
        try:
            return tune.run(module, self.assignment)
        finally:
            tune.fnargs.make = make

    def result(self, tuner, **fit_kwargs):
        return types.SimpleNamespace(tuner=tuner, fit_kwargs=fit_kwargs)

    def left(self):
        with open(self.dir + "/a/b/best_hyperparameters.txt", encoding="utf-8") as file:
            best = file.read()
        with open(self.dir + "/c/tuner_results.json", encoding="utf-8") as file:
            return best, file.read()

    def test_hyperband_has_results(self):
        made = []

        def tuner_fn(fn_args):
            made.append(keras_tuner.Hyperband(layered, "val_loss", max_epochs=3, directory=fn_args.working_dir, seed=3))
            return self.result(made[0], x=X, y=Y, validation_data=(X, Y), verbose=0)

        score = self.tune(tuner_fn)["score"]
        best, results = self.left()
        self.assertEqual(best, json.dumps(made[0].get_best_hyperparameters()[0].get_config()))
        self.assertNotIn("\n", best)
        told = json.loads(results)
        self.assertEqual(results, json.dumps(told))
        self.assertEqual([trial["score"] for trial in told], sorted(trial["score"] for trial in told))
        self.assertEqual(told[0]["score"], score)
        self.assertEqual(list(told[0])[:4], ["trial_id", "score", "units", "rate"])
        self.assertEqual(len(told), 6)
        fits = [m for m in heard.of("progress", phase="trial 2") if "val_loss" in m["metrics"]]
        self.assertTrue(fits and "best_score" in fits[-1]["metrics"])

    def test_a_tuner_of_the_users_own(self):
        def tuner_fn(fn_args):
            oracle = keras_tuner.oracles.RandomSearchOracle(
                keras_tuner.Objective("score", "max"), max_trials=8, seed=1, max_consecutive_failed_trials=9)
            return self.result(Scores(oracle, directory=fn_args.working_dir))

        score = self.tune(tuner_fn)["score"]
        _, results = self.left()
        told = json.loads(results)
        self.assertEqual((told[0]["score"], told[0]["x"]), (score, score))
        self.assertTrue(0 < len(told) < 8, told)  # some failed
        self.assertEqual([(m["step"], m["steps"]) for m in heard.of("progress")][-1], (8, 8))

    def test_an_endless_score_is_no_result(self):
        def scores(most):
            oracle = keras_tuner.oracles.RandomSearchOracle(keras_tuner.Objective("score", "max"), max_trials=6, seed=1)
            return lambda fn_args: self.result(Scores(oracle, directory=fn_args.working_dir), offset=1, most=most)

        score = self.tune(scores(most=1.5))["score"]
        best, results = self.left()
        told = json.loads(results, parse_constant=self.fail)
        self.assertTrue(0 < len(told) < 6, told)
        self.assertEqual((told[0]["score"], json.loads(best)["values"]["x"]), (score, score - 1))
        self.assertEqual([m for m in heard.of("progress") if math.inf in m["metrics"].values()], [])
        self.setUp()
        with self.assertRaisesRegex(RuntimeError, "no trial: 6 trials, COMPLETED with a score of inf"):
            self.tune(scores(most=-1))

    def test_trials_of_earlier_searches_are_told(self):
        noted, note = [], tune.said.note
        tune.said.note = noted.append
        elsewhere = tempfile.mkdtemp()
        try:
            for _ in range(2):
                oracle = keras_tuner.oracles.RandomSearchOracle(
                    keras_tuner.Objective("score", "max"), max_trials=2, seed=1)
                self.tune(lambda fn_args: self.result(Scores(oracle, directory=elsewhere), offset=1))
        finally:
            tune.said.note = note
        self.assertEqual(["2 trials were there before" in text for text in noted], [False, True], noted)

    def test_a_search_without_a_completed_trial_says_so(self):
        def tuner_fn(fn_args):
            oracle = keras_tuner.oracles.RandomSearchOracle(
                keras_tuner.Objective("score", "max"), max_trials=3, max_consecutive_failed_trials=9)
            return self.result(Scores(oracle, directory=fn_args.working_dir), offset=-2)

        with self.assertRaisesRegex(RuntimeError, "no trial: 3 trials, FAILED; the last one: ValueError: no"):
            self.tune(tuner_fn)
        self.assertEqual(os.path.exists(self.dir + "/c"), False)

    def test_a_folder_that_does_not_survive_is_told(self):
        noted, note = [], tune.said.note
        tune.said.note = noted.append
        try:
            for folder in (self.dir, self.dir + "/below", tempfile.mkdtemp()):
                tune.place(types.SimpleNamespace(project_dir=folder, oracle=types.SimpleNamespace(trials={})), self.dir)
        finally:
            tune.said.note = note
        self.assertEqual(len(noted), 1)

    def test_what_is_no_result_is_refused(self):
        with self.assertRaisesRegex(TypeError, "tuner_fn returned NoneType without a tuner"):
            self.tune(lambda fn_args: None)


if __name__ == "__main__":
    unittest.main()
