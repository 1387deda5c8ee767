"""The pipeline's strategy is the module's, whatever strategy that asks for."""
import copy
import os
import tempfile
import threading
import types
import unittest
from unittest import mock

import heard
import stoker
from stoker_runner import entry, keras_progress, progress, said, strategies, train

import tensorflow as tf

heard.listen()
keras_progress.listen()
stoker._on_report = progress.reported
cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)


def two(_):
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def fit(strategy=None):
    def train():
        model = tf.keras.Sequential([tf.keras.layers.Input((1,)), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(tf.ones((8, 1)), tf.ones((8, 1)), batch_size=4, verbose=0)
        return model

    if strategy is None:
        return train()
    with strategy.scope():
        return train()


def estimator(_):
    """What trainer_fn returns that describes an Estimator."""
    return dict.fromkeys(("train_spec", "eval_spec", "eval_input_receiver_fn"), None) | {"estimator": object()}


class Strategies(unittest.TestCase):
    def patched(self, name, maker=two):
        self.notes = []
        for patch in (mock.patch.dict(strategies.MAKERS, {name: maker}), mock.patch.object(said, "note", self.notes.append)):
            patch.start()
            self.addCleanup(patch.stop)

    def scope(self, name, maker=two):
        self.patched(name, maker)
        return strategies.scope({"strategy": name})

    def train(self, strategy, trainer_fn):
        """Trains by a module that has a trainer_fn alone, and returns its folder."""
        self.patched(strategy)
        folder = tempfile.mkdtemp()
        places = {name: os.path.join(folder, name) for name in ("serving_model_dir", "model_run_dir", "working_dir")}
        train.run(entry.Module(types.SimpleNamespace(trainer_fn=trainer_fn), {}), {"call": "train", "strategy": strategy, **places})
        return places["serving_model_dir"]

    def test_without_one_nothing_is_changed(self):
        with strategies.scope({}):
            self.assertFalse(tf.distribute.has_strategy())

    def test_a_model_that_knows_of_none_is_mirrored(self):
        with self.scope("mirrored"):
            self.assertEqual(tf.distribute.get_strategy().num_replicas_in_sync, 2)
            model = fit()
        self.assertIn("MirroredVariable", str(type(model.trainable_variables[0].value)) + str(type(model.trainable_variables[0])))
        self.assertEqual(self.notes, ["resources.strategy: mirrored: MirroredStrategy of 2 replicas"])

    def test_whoever_makes_a_strategy_gets_the_pipelines(self):
        original = tf.distribute.MirroredStrategy
        with self.scope("multi_worker"), mock.patch.object(strategies, "KERAS_3", ""):
            ours = tf.distribute.get_strategy()
            for kind in (tf.distribute.MirroredStrategy, tf.distribute.MultiWorkerMirroredStrategy,
                         tf.distribute.experimental.MultiWorkerMirroredStrategy, tf.distribute.TPUStrategy):
                self.assertIs(kind(), ours)
            self.assertIsInstance(ours, tf.distribute.MirroredStrategy)
            self.assertNotIsInstance(ours, tf.distribute.TPUStrategy)
            self.assertTrue(issubclass(tf.distribute.MirroredStrategy, tf.distribute.Strategy))
            fit(tf.distribute.MirroredStrategy(devices=["GPU:7"]))
        self.assertIs(tf.distribute.MirroredStrategy, original)

    def test_steps_of_a_loop_by_the_strategy_count(self):
        with self.scope("multi_worker"):
            weight = tf.Variable(1.0)

            @tf.function
            def step():
                def replica():
                    if tf.distribute.get_replica_context().replica_id_in_sync_group > 5:  # by AutoGraph
                        return weight * 2.0
                    return weight * 3.0
                return tf.distribute.get_strategy().run(replica)

            step()

    def test_workers_that_each_train_alone_are_refused(self):
        with self.assertRaisesRegex(ValueError, "resources.workers: the module trained no step with the strategy"):
            with self.scope("multi_worker"):
                tf.Variable(1.0).assign_add(1.0)

    def test_a_trainer_fn_that_trains_by_itself_is_mirrored(self):
        replicas = []

        def trainer_fn(fn_args):
            replicas.append(tf.distribute.get_strategy().num_replicas_in_sync)
            fit().export(fn_args.serving_model_dir, verbose=False)

        folder = self.train("mirrored", trainer_fn)
        self.assertEqual(replicas, [2])
        self.assertIn("saved_model.pb", os.listdir(folder))
        self.assertEqual(self.notes[1:], [])

    def test_a_trainer_fn_by_which_each_worker_trains_alone_is_refused(self):
        def trainer_fn(fn_args):
            os.makedirs(fn_args.serving_model_dir)
            open(os.path.join(fn_args.serving_model_dir, "model"), "w").close()

        with self.assertRaisesRegex(ValueError, "resources.workers: the module trained no step with the strategy"):
            self.train("multi_worker", trainer_fn)

    def test_an_estimator_is_refused_with_several_workers_before_it_trains(self):
        def configured(_):
            raise ValueError('If "cluster" is set in TF_CONFIG, it must have one "chief" node.')  # as tf.estimator.RunConfig

        for trainer_fn in (estimator, configured):
            with self.assertRaisesRegex(ValueError, "resources.workers: trainer_fn creates an Estimator, which is trained by one process"):
                self.train("multi_worker", trainer_fn)

    def test_steps_by_a_copy_of_the_strategy_count_and_are_the_copys(self):  # an Estimator's RunConfig copies it
        found = []
        with self.scope("multi_worker"):
            copied = copy.deepcopy(tf.distribute.get_strategy())

            def train():
                copied.run(lambda: found.append(tf.distribute.get_strategy()))

            thread = threading.Thread(target=train)  # where TensorFlow's scopes don't reach
            thread.start()
            thread.join()
        self.assertEqual([strategy is copied for strategy in found], [True, True])

    def test_a_report_of_a_step_that_each_worker_took_alone_is_refused(self):
        with self.assertRaisesRegex(ValueError, "resources.workers: .* reports step 8, but no step has run with the strategy"):
            with self.scope("multi_worker"):
                stoker.report(step=2, phase="reading")
                stoker.report(step=5, phase="reading")
                stoker.report(step=7)  # maybe that of a checkpoint
                stoker.report(step=7)
                stoker.report(step=8)
                self.fail("it went on")

    def test_reports_of_steps_by_the_strategy_are_passed_on(self):
        with self.scope("multi_worker"):
            for step in range(3):
                stoker.report(step=step)
                tf.distribute.get_strategy().run(lambda: tf.constant(1.0))
        with self.scope("mirrored"):
            for step in range(3):
                stoker.report(step=step)
        for step in range(3):
            stoker.report(step=step)

    def test_a_fit_that_the_strategy_has_no_part_in_is_refused_at_its_first_batch(self):
        batches = []

        def trains():
            model = tf.keras.Sequential([tf.keras.layers.Input((1,)), tf.keras.layers.Dense(1)])
            model.compile("sgd", "mse")
            model.fit(tf.ones((8, 1)), tf.ones((8, 1)), batch_size=2, verbose=0,
                      callbacks=[tf.keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: batches.append(batch))])

        errors = []

        def thread():
            try:
                trains()
            except ValueError as error:
                errors.append(str(error))

        with self.assertRaisesRegex(ValueError, "resources.workers: the module trained no step with the strategy"):
            with self.scope("multi_worker"), mock.patch.object(strategies, "KERAS_3", ""):
                other = threading.Thread(target=thread)  # where TensorFlow's scopes don't reach
                other.start()
                other.join()
        self.assertEqual(batches, [0])
        self.assertRegex(errors[0], "resources.workers: fit has taken a step, but no step has run with the strategy")

    def test_fit_and_evaluate_of_keras_3_are_refused_with_several_workers(self):
        for method in (fit, lambda: tf.keras.Sequential([tf.keras.layers.Dense(1)]).evaluate(tf.ones((8, 1)), tf.ones((8, 1)))):
            with self.assertRaisesRegex(ValueError, "resources.workers: (fit|evaluate) of Keras 3 fails with MultiWorkerMirroredStrategy.*keras: 2"):
                with self.scope("multi_worker"):
                    method()

    def test_devices_that_are_not_used_are_said(self):
        with self.scope("mirrored"):
            pass
        self.assertEqual(self.notes[1:], ["the module trained no step with the strategy"])

    def test_what_the_module_raises_is_its_own(self):
        with self.assertRaises(KeyError):
            with self.scope("multi_worker"):
                raise KeyError("label")
        self.assertFalse(tf.distribute.has_strategy())

    def test_a_tpu_is_set_up_once(self):
        with mock.patch.object(tf.tpu.experimental, "initialize_tpu_system") as set_up, \
                mock.patch.object(tf.config, "experimental_connect_to_cluster") as connect, \
                mock.patch.object(tf.distribute.cluster_resolver, "TPUClusterResolver") as resolver, \
                mock.patch.object(tf.distribute, "TPUStrategy", side_effect=two), \
                mock.patch.dict("os.environ", {"TPU_NAME": "pod"}):
            self.assertEqual(strategies._tpu(tf).num_replicas_in_sync, 2)
            resolver.side_effect = OSError("no route")
            with self.assertRaisesRegex(ConnectionError, "resources.strategy: tpu: the TPU 'pod' can't be reached from this worker: no route"):
                strategies._tpu(tf)
            resolver.side_effect = None
            resolver.reset_mock()
            connect.reset_mock()
            set_up.reset_mock()
            strategies._tpu(tf)
        resolver.assert_called_once_with(tpu="pod")
        connect.assert_called_once_with(resolver())
        set_up.assert_called_once_with(resolver())


if __name__ == "__main__":
    unittest.main()
