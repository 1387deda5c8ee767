"""A penguin model behind a transform graph, whose own code needs AutoGraph: its signature branches on a tensor."""
import glob
import os
import tempfile

import numpy as np
import tensorflow as tf
import tensorflow_transform as tft

KERAS = tf.keras.Model.__module__.partition(".")[0]  # keras is 3, tf_keras 2
RAW_LABEL, LABEL = "species", "species_xf"


def model_of(names):
    inputs = [tf.keras.layers.Input(shape=(1,), name=name) for name in names]
    hidden = tf.keras.layers.Dense(8, activation="relu")(tf.keras.layers.concatenate(inputs))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(3)(hidden))


def signature(model, transform):
    """Serialized raw examples to transformed features."""
    model.transform_layer = transform.transform_features_layer()
    spec = transform.raw_feature_spec()
    del spec[RAW_LABEL]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def transform_features(examples):
        if tf.size(examples) > 1000:
            tf.print("a large batch")
        return model.transform_layer(tf.io.parse_example(examples, spec))

    return transform_features


def run_fn(fn_args):
    transform = tft.TFTransformOutput(fn_args.transform_graph_path)
    model = model_of([name for name in transform.transformed_feature_spec() if name != LABEL])
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"transform_features": signature(model, transform)})

    served = tf.saved_model.load(fn_args.serving_model_dir).signatures["transform_features"]
    raw = tf.data.TFRecordDataset(tf.io.gfile.glob(fn_args.custom_config["raw"]), "GZIP").batch(1000)
    outputs = served(examples=next(iter(raw)))
    values = {name: outputs[name].numpy() for name in sorted(outputs)}
    np.savez(os.path.join(fn_args.model_run_dir, "transformed.npz"), **values)
    converted = glob.glob(os.path.join(tempfile.gettempdir(), "__autograph_generated_file*"))
    print(f"converted {len(converted)} functions with {KERAS}")
