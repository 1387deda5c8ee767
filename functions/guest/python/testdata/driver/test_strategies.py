"""The pipeline's strategy is the module's, whatever strategy that asks for."""
import unittest
from unittest import mock

import heard
from stoker_guest import said, strategies

import tensorflow as tf

heard.listen()
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


class Strategies(unittest.TestCase):
    def scope(self, name, maker=two):
        self.notes = []
        for patch in (mock.patch.dict(strategies.MAKERS, {name: maker}), mock.patch.object(said, "note", self.notes.append)):
            patch.start()
            self.addCleanup(patch.stop)
        return strategies.scope({"strategy": name})

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
        with self.scope("multi_worker"):
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
        with self.assertRaisesRegex(ValueError, "resources.workers: the module has trained no step by the strategy"):
            with self.scope("multi_worker"):
                tf.Variable(1.0).assign_add(1.0)

    def test_devices_that_are_not_used_are_said(self):
        with self.scope("mirrored"):
            pass
        self.assertEqual(self.notes[1:], ["the module has trained no step by the strategy"])

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
