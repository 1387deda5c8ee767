"""A TFX module file with both functions: tuner_fn searches for learning rate and depth of a classifier, run_fn trains
one.

Stoker tells run_fn the best hyperparameters of the search; without any it would take the defaults.
"""
import keras
import keras_tuner
import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import v1 as tfx
from tfx_bsl.public import tfxio

MEASURES = ["body_mass_g_xf", "culmen_depth_mm_xf", "culmen_length_mm_xf", "flipper_length_mm_xf"]
SPECIES = "species_xf"
BATCH = 20


def rows(patterns, fn_args, schema):
    options = tfxio.TensorFlowDatasetOptions(batch_size=BATCH, label_key=SPECIES)
    return fn_args.data_accessor.tf_dataset_factory(patterns, options, schema).repeat()


def data(fn_args):
    schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
    return rows(fn_args.train_files, fn_args, schema), rows(fn_args.eval_files, fn_args, schema)


def space():
    hp = keras_tuner.HyperParameters()
    hp.Choice("learning_rate", [1e-2, 1e-3], default=1e-2)
    hp.Int("num_layers", 1, 2, default=1)
    return hp


def build(hp):
    inputs = {name: keras.Input(shape=(1,), name=name) for name in MEASURES}
    hidden = keras.layers.concatenate([inputs[name] for name in MEASURES])
    for _ in range(int(hp.get("num_layers"))):
        hidden = keras.layers.Dense(8, activation="relu")(hidden)
    model = keras.Model(inputs, keras.layers.Dense(3)(hidden))
    model.compile(optimizer=keras.optimizers.Adam(hp.get("learning_rate")), metrics=["sparse_categorical_accuracy"],
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def tuner_fn(fn_args):
    train, held_out = data(fn_args)
    tuner = keras_tuner.RandomSearch(
        build, objective="val_sparse_categorical_accuracy", max_trials=fn_args.custom_config["trials"], seed=7,
        hyperparameters=space(), allow_new_entries=False, directory=fn_args.working_dir, project_name="penguin")
    return tfx.components.TunerFnResult(tuner=tuner, fit_kwargs={
        "x": train, "steps_per_epoch": fn_args.train_steps,
        "validation_data": held_out, "validation_steps": fn_args.eval_steps,
    })


def run_fn(fn_args):
    hp = keras_tuner.HyperParameters.from_config(fn_args.hyperparameters) if fn_args.hyperparameters else space()
    train, held_out = data(fn_args)
    model = build(hp)
    model.fit(train, steps_per_epoch=fn_args.train_steps, validation_data=held_out, validation_steps=fn_args.eval_steps)
    tf.saved_model.save(model, fn_args.serving_model_dir)
