"""A TFX module whose tuner_fn is KerasTuner's RandomSearch over a Keras model. The fit of its second trial raises."""
import keras
import keras_tuner
import numpy
from tfx.components.tuner.component import TunerFnResult


class Model(keras_tuner.HyperModel):
    def build(self, hp):
        model = keras.Sequential([keras.layers.Dense(hp.Int("units", 2, 8)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(hp.Float("rate", 1e-3, 1e-2, sampling="log")), "mse")
        return model

    fits = 0

    def fit(self, hp, model, *args, **kwargs):
        Model.fits += 1
        if Model.fits == 2:
            raise ValueError("no second trial")
        return model.fit(*args, **kwargs)


def tuner_fn(fn_args):
    tuner = keras_tuner.RandomSearch(Model(), "val_loss", max_trials=3, seed=5, directory=fn_args.working_dir,
                                     project_name="p")
    x = numpy.random.default_rng(1).normal(size=(64, 3))
    data = {"x": x, "y": x.sum(axis=1), "validation_data": (x, x.sum(axis=1))}
    return TunerFnResult(tuner=tuner, fit_kwargs={**data, "epochs": 4, "verbose": 0})
