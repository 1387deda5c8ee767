"""Will a taxi's passenger tip well? In the shape that TFX's guide to the Trainer shows for run_fn: the transform graph goes into the model
as a layer, and the serving signature takes serialized tf.Examples as they were before it."""
import tensorflow as tf
import tensorflow_transform as tft
from tfx.components.trainer.fn_args_utils import DataAccessor, FnArgs
from tfx_bsl.tfxio import dataset_options

LABEL = "tips"
BATCH = 40
DENSE = ["fare", "trip_miles", "trip_seconds"]
VOCABULARY = {"payment_type": 1010, "company": 1010}  # tokens and buckets for those unknown, at most


def transformed(name):
    return name + "_xf"


def dataset(patterns, accessor: DataAccessor, graph: tft.TFTransformOutput, batch_size):
    options = dataset_options.TensorFlowDatasetOptions(batch_size=batch_size, label_key=transformed(LABEL))
    return accessor.tf_dataset_factory(patterns, options, graph.transformed_metadata.schema).repeat()


def build_model():
    inputs = {transformed(name): tf.keras.layers.Input(shape=(1,), name=transformed(name)) for name in DENSE}
    inputs |= {transformed(name): tf.keras.layers.Input(shape=(1,), name=transformed(name), dtype="int64") for name in VOCABULARY}
    columns = [inputs[transformed(name)] for name in DENSE]
    for name, size in VOCABULARY.items():
        embedded = tf.keras.layers.Embedding(size, 4)(inputs[transformed(name)])
        columns.append(tf.keras.layers.Flatten()(embedded))
    hidden = tf.keras.layers.Dense(16, activation="relu")(tf.keras.layers.concatenate(columns))
    output = tf.keras.layers.Dense(1, activation="sigmoid")(hidden)
    model = tf.keras.Model(inputs, output)
    model.compile(
        loss="binary_crossentropy", optimizer=tf.keras.optimizers.Adam(0.01), metrics=[tf.keras.metrics.BinaryAccuracy(name="accuracy")])
    return model


def serving_signature(model, graph: tft.TFTransformOutput):
    model.tft_layer = graph.transform_features_layer()

    @tf.function(input_signature=[tf.TensorSpec(shape=[None], dtype=tf.string, name="examples")])
    def serve(examples):
        spec = graph.raw_feature_spec()
        spec.pop(LABEL)
        features = model.tft_layer(tf.io.parse_example(examples, spec))
        wanted = [transformed(name) for name in DENSE + list(VOCABULARY)]
        return {"outputs": model({name: tf.reshape(features[name], [-1, 1]) for name in wanted})}

    return serve


def run_fn(fn_args: FnArgs):
    graph = tft.TFTransformOutput(fn_args.transform_output)
    train = dataset(fn_args.train_files, fn_args.data_accessor, graph, BATCH)
    evaluation = dataset(fn_args.eval_files, fn_args.data_accessor, graph, BATCH)
    with tf.distribute.MirroredStrategy().scope():
        model = build_model()
    board = tf.keras.callbacks.TensorBoard(log_dir=fn_args.model_run_dir, update_freq="epoch")
    model.fit(
        train, steps_per_epoch=fn_args.train_steps, validation_data=evaluation, validation_steps=fn_args.eval_steps, callbacks=[board])
    signatures = {"serving_default": serving_signature(model, graph)}
    model.save(fn_args.serving_model_dir, save_format="tf", signatures=signatures)
