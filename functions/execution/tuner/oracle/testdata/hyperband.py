"""A TFX module whose tuner_fn is KerasTuner's Hyperband over a Keras model. Its epochs last SECONDS, and beside their
loss say how many steps the optimizer has counted."""
import os
import time

import keras
import keras_tuner
import numpy
from tfx.components.tuner.component import TunerFnResult


def build(hp):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(hp.Float("rate", 1e-3, 1e-1, sampling="log")), "mse")
    return model


class Slow(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        time.sleep(float(os.environ.get("SECONDS", "0")))

    def on_epoch_end(self, epoch, logs=None):
        logs["steps_counted"] = float(self.model.optimizer.iterations.numpy())


def tuner_fn(fn_args):
    tuner = keras_tuner.Hyperband(build, "val_loss", max_epochs=4, factor=2, directory=fn_args.working_dir,
                                  project_name="p")
    x = numpy.random.default_rng(1).normal(size=(64, 3))
    data = {"x": x, "y": x.sum(axis=1), "validation_data": (x, x.sum(axis=1))}
    return TunerFnResult(tuner=tuner, fit_kwargs={**data, "callbacks": [Slow()], "verbose": 0})
