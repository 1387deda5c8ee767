"""Trains on batches of 32, however many hosts share them, 5 epochs of 20 steps.

A checkpoint is kept of each epoch. custom_config has the seconds that an epoch takes at least.
"""
import os
import time

import tensorflow as tf


def normal(seed):
    return tf.keras.initializers.RandomNormal(stddev=1.0, seed=seed)


def run_fn(fn_args):
    seconds = (fn_args.custom_config or {}).get("epoch_seconds", 0)

    def begin(epoch, logs):
        print("epoch", epoch, "of", strategy.num_replicas_in_sync, "replicas", flush=True)
        time.sleep(seconds)

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    x = tf.reshape(tf.range(640, dtype=tf.float32) / 640, [-1, 1])
    data = tf.data.Dataset.from_tensor_slices((x, tf.sin(6 * x))).batch(32).repeat()
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(8, activation="tanh", kernel_initializer=normal(3), input_shape=(1,)),
            tf.keras.layers.Dense(1, kernel_initializer=normal(4))])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    callbacks = [tf.keras.callbacks.BackupAndRestore(os.path.join(fn_args.working_dir, "backup")),
                 tf.keras.callbacks.LambdaCallback(on_epoch_begin=begin)]
    model.fit(data, steps_per_epoch=20, epochs=5, verbose=0, callbacks=callbacks)
    model.evaluate(data, steps=20, verbose=0)
    model.save(fn_args.serving_model_dir)
