"""Which penguin is it? A TFX module file: run_fn for the Trainer, tuner_fn for the Tuner. Nothing in it knows of
Stoker."""
import keras_tuner
import tensorflow as tf
import tensorflow_transform as tft
from tfx import v1 as tfx
from tfx_bsl.public import tfxio

from penguin_features import FEATURES, LABEL, SPECIES, transformed

TRAIN_BATCH, EVAL_BATCH = 20, 10


def _dataset(patterns, accessor, graph, batch_size):
    options = tfxio.TensorFlowDatasetOptions(batch_size=batch_size, label_key=transformed(LABEL))
    return accessor.tf_dataset_factory(patterns, options, graph.transformed_metadata.schema).repeat()


def _default_hyperparameters():
    values = keras_tuner.HyperParameters()
    values.Choice("learning_rate", [1e-2, 1e-3], default=1e-2)
    values.Int("num_layers", 1, 3, default=2)
    return values


def _build_model(values):
    inputs = {transformed(name): tf.keras.layers.Input(shape=(1,), name=transformed(name)) for name in FEATURES}
    hidden = tf.keras.layers.concatenate(list(inputs.values()))
    for _ in range(values.get("num_layers")):
        hidden = tf.keras.layers.Dense(8, activation="relu")(hidden)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(SPECIES, activation="softmax")(hidden))
    model.compile(
        optimizer=tf.keras.optimizers.Adam(values.get("learning_rate")), loss="sparse_categorical_crossentropy",
        metrics=["accuracy"])
    return model


def _serving_signature(model, graph):
    """Takes serialized tf.Examples as they were before the transform graph."""
    model.transform = graph.transform_features_layer()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(examples):
        spec = graph.raw_feature_spec()
        spec.pop(LABEL)
        features = model.transform(tf.io.parse_example(examples, spec))
        return {"probabilities": model({transformed(name): features[transformed(name)] for name in FEATURES})}

    return serve


def run_fn(fn_args: tfx.components.FnArgs):
    graph = tft.TFTransformOutput(fn_args.transform_graph_path)
    values = _default_hyperparameters()
    if fn_args.hyperparameters:
        values = keras_tuner.HyperParameters.from_config(fn_args.hyperparameters)
    model = _build_model(values)
    model.fit(
        _dataset(fn_args.train_files, fn_args.data_accessor, graph, TRAIN_BATCH),
        steps_per_epoch=fn_args.train_steps,
        validation_data=_dataset(fn_args.eval_files, fn_args.data_accessor, graph, EVAL_BATCH),
        validation_steps=fn_args.eval_steps,
        callbacks=[tf.keras.callbacks.TensorBoard(log_dir=fn_args.model_run_dir)],
    )
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": _serving_signature(model, graph)})


def tuner_fn(fn_args: tfx.components.FnArgs) -> tfx.components.TunerFnResult:
    graph = tft.TFTransformOutput(fn_args.transform_graph_path)
    tuner = keras_tuner.RandomSearch(
        _build_model, max_trials=6, hyperparameters=_default_hyperparameters(), allow_new_entries=False,
        objective="val_accuracy", directory=fn_args.working_dir, project_name="penguin")
    fit = {
        "x": _dataset(fn_args.train_files, fn_args.data_accessor, graph, TRAIN_BATCH),
        "validation_data": _dataset(fn_args.eval_files, fn_args.data_accessor, graph, EVAL_BATCH),
        "steps_per_epoch": fn_args.train_steps,
        "validation_steps": fn_args.eval_steps,
    }
    return tfx.components.TunerFnResult(tuner=tuner, fit_kwargs=fit)
