"""TFX modules of many kinds in one file, right ones and broken ones: custom_config says which."""
import os

import numpy as np
import stoker
import tensorflow as tf
import tensorflow_transform as tft
from tfx_bsl.public import tfxio

FEATURES = ["body_mass_g", "culmen_depth_mm", "culmen_length_mm", "flipper_length_mm"]
LABEL = "species"
KEYS = [f"{name}_xf" for name in FEATURES]


class Job:
    """What all of them have."""

    def __init__(self, fn_args):
        tf.keras.utils.set_random_seed(1)
        self.args = fn_args
        self.graph = tft.TFTransformOutput(fn_args.transform_graph_path) if fn_args.transform_graph_path else None
        self.epochs = 15

    def data(self, files, **options):
        options = tfxio.TensorFlowDatasetOptions(batch_size=20, label_key=f"{LABEL}_xf", **options)
        return self.args.data_accessor.tf_dataset_factory(files, options, self.graph.transformed_metadata.schema)

    def train(self, model, change=None, loss="sparse_categorical_crossentropy", **fit):
        change = change or (lambda data: data)
        model.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss=loss, metrics=fit.pop("metrics", ["accuracy"]))
        model.fit(change(self.data(self.args.train_files)), steps_per_epoch=12, epochs=self.epochs, verbose=2,
                  validation_data=change(self.data(self.args.eval_files)), validation_steps=5, **fit)
        return model

    def save(self, model, serve, name="serving_default", **more):
        model.transform = self.graph.transform_features_layer() if self.graph else None
        tf.saved_model.save(model, self.args.serving_model_dir, signatures={name: serve, **more})

    def raw(self, examples, label=False):
        spec = self.graph.raw_feature_spec()
        if not label:
            spec.pop(LABEL)
        return tf.io.parse_example(examples, spec)


def examples(shape=(None,)):
    return tf.function(input_signature=[tf.TensorSpec(list(shape), tf.string, name="examples")])


def net(activation="softmax", keys=KEYS, outputs=3):
    inputs = {key: tf.keras.layers.Input(shape=(1,), name=key) for key in keys}
    hidden = tf.keras.layers.Dense(8, activation="relu")(tf.keras.layers.Concatenate()(list(inputs.values())))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(outputs, activation=activation)(hidden))


def given(features):
    return {key: tf.cast(features[key], tf.float32) for key in KEYS}


def untransformed(features):
    return {key: tf.cast(features[name], tf.float32) for key, name in zip(KEYS, FEATURES)}


def transformed(job, model):
    return lambda texts: given(model.transform(job.raw(texts)))


# Right ones.

def plain(job):
    model = job.train(net())
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def asserts(job):
    """The signature has an error for measures that no penguin has."""
    model = job.train(net())

    @examples()
    def serve(texts):
        raw = job.raw(texts)
        within = [tf.debugging.Assert(tf.reduce_all((raw[name] >= 0) & (raw[name] <= 1)), ["no penguin"]) for name in FEATURES]
        with tf.control_dependencies(within):
            return {"probabilities": model(given(model.transform(raw)))}

    job.save(model, serve)


def lacks(job):
    """Requests have a feature that the transform graph's schema lacks."""
    model = job.train(net())

    @examples()
    def serve(texts):
        key = tf.io.parse_example(texts, {"key": tf.io.FixedLenFeature([1], tf.string)})["key"]
        return {"probabilities": model(transformed(job, model)(texts)), "key": key}

    job.save(model, serve)


def logits(job):
    """A model of logits that is served as probabilities, and the name of the likeliest class."""
    model = job.train(net(None), loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    @examples()
    def serve(texts):
        probabilities = tf.nn.softmax(model(transformed(job, model)(texts)))
        best = tf.math.top_k(probabilities, k=2)
        names = tf.constant(["Adelie", "Chinstrap", "Gentoo"])
        return {"probabilities": probabilities, "scores": best.values, "class": tf.gather(names, best.indices[:, 0]),
                "index": tf.argmax(probabilities, axis=1)}

    job.save(model, serve)


def named(job):
    """Only the name of the class is answered."""
    model = job.train(net())
    names = tf.constant(["Adelie", "Chinstrap", "Gentoo"])
    job.save(model, examples()(lambda texts: {"class": tf.gather(names, tf.argmax(model(transformed(job, model)(texts)), axis=1))}))


def exported(job):
    """model.export: the signature takes transformed features."""
    job.train(net()).export(job.args.serving_model_dir)


def one_by_one(job):
    model = job.train(net())
    job.save(model, examples([1])(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def otherwise(job):
    """A signature of another name, beside the transformation."""
    model = job.train(net())
    features = examples()(lambda texts: model.transform(job.raw(texts, label=True)))
    job.save(model, examples()(lambda texts: model(transformed(job, model)(texts))), name="predict", transform_features=features)


def heads(job):
    """Two outputs, with labels for each."""
    inputs = {key: tf.keras.layers.Input(shape=(1,), name=key) for key in KEYS}
    hidden = tf.keras.layers.Dense(8, activation="relu")(tf.keras.layers.Concatenate()(list(inputs.values())))
    model = tf.keras.Model(inputs, {"kind": tf.keras.layers.Dense(3, activation="softmax", name="kind")(hidden),
                                    "mass": tf.keras.layers.Dense(1, name="mass")(hidden)})
    both = lambda data: data.map(lambda x, y: (x, {"kind": y, "mass": x[KEYS[0]]}))
    job.train(model, both, {"kind": "sparse_categorical_crossentropy", "mass": "mse"}, metrics=None)

    @examples()
    def serve(texts):
        answer = model(transformed(job, model)(texts))
        return {"species": answer["kind"], "body": answer["mass"], "key": texts}

    job.save(model, serve)


def column(features):
    return tf.concat([tf.cast(features[key], tf.float32) for key in KEYS], axis=1)


def unnamed_net():
    return tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(3, activation="softmax")])


def unnamed(job):
    """The model is given one tensor, of which nobody knows the features."""
    model = job.train(unnamed_net(), lambda data: data.map(lambda x, y: (column(x), y)))
    job.save(model, examples()(lambda texts: {"probabilities": model(column(transformed(job, model)(texts)))}))


def unnamed_scaled(job):
    """The numbers of that tensor are no features."""
    scaled = lambda features: 2.0 * column(features)
    model = job.train(unnamed_net(), lambda data: data.map(lambda x, y: (scaled(x), y)))
    job.save(model, examples()(lambda texts: {"probabilities": model(scaled(transformed(job, model)(texts)))}))


def best(job):
    """The best state of the training is read again, and saved."""
    path = os.path.join(job.args.model_run_dir, "best.keras")
    job.train(net(), callbacks=[tf.keras.callbacks.ModelCheckpoint(path, monitor="accuracy", mode="min", save_best_only=True)])
    model = tf.keras.models.load_model(path)
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def checkpointed(job, model):
    """Trains, and keeps the weights of an early state."""
    path = os.path.join(job.args.model_run_dir, "best.weights.h5")
    job.train(model, callbacks=[tf.keras.callbacks.ModelCheckpoint(path, monitor="accuracy", mode="min", save_best_only=True, save_weights_only=True)])
    return path


def weights_read(job):
    """The best weights are read into a model of its own, and saved."""
    path = checkpointed(job, net())
    model = net()
    model.load_weights(path)
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def best_then_trained(job):
    """The best weights are read into the model, which is saved, and then has its last weights again."""
    model = net()
    path = checkpointed(job, model)
    last = model.get_weights()
    model.load_weights(path)
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))
    model.set_weights(last)


def averaged(job):
    """The mean of two states is saved."""
    first = job.train(net())
    weights = first.get_weights()
    second = job.train(first)
    model = net()
    model.set_weights([(a + b) / 2 for a, b in zip(weights, second.get_weights())])
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def fresh(job):
    """A model is trained, and another one of the same layers is saved."""
    job.train(net())
    model = net()
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def never_trained(job):
    model = net()
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def loop(job, model):
    """A loop of the module's own."""
    optimizer, loss = tf.keras.optimizers.Adam(0.02), tf.keras.losses.SparseCategoricalCrossentropy()
    for x, y in job.data(job.args.train_files, num_epochs=10):
        with tf.GradientTape() as tape:
            error = loss(y, model(given(x), training=True))
        optimizer.apply_gradients(zip(tape.gradient(error, model.trainable_variables), model.trainable_variables))
    return model


def silent(job):
    model = loop(job, net())
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def reported(job):
    model = loop(job, net())
    data = job.data(job.args.eval_files, num_epochs=1, shuffle=False).map(lambda x, y: (given(x), y))
    stoker.report(10, {"loss": 0.5}, model=model)
    assert len(list(data)) == 5
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def own_reader(job):
    """The records are read without data_accessor, into arrays for a fit of arrays."""

    def arrays(patterns):
        data = tf.data.TFRecordDataset(tf.io.gfile.glob(patterns), compression_type="GZIP").batch(1000)
        spec = job.graph.transformed_feature_spec()
        features = tf.io.parse_example(next(iter(data)), spec)
        label = features.pop(f"{LABEL}_xf")
        return {key: value.numpy() for key, value in features.items() if key in KEYS}, label.numpy()

    model = net()
    model.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y = arrays(job.args.train_files)
    model.fit(x, y, epochs=10, verbose=2, validation_data=arrays(job.args.eval_files))
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))


def scaled(job):
    """A number that is learned on another scale than it is served on."""
    others = lambda x: {key: x[key] for key in KEYS[1:]}
    model = job.train(net(None, KEYS[1:], 1), lambda data: data.map(lambda x, y: (others(x), x[KEYS[0]])), "mse", metrics=None)

    def serve(texts):
        features = transformed(job, model)(texts)
        return {"body_mass_g": 802.0 * model({key: features[key] for key in KEYS[1:]}) + 4200.0}

    job.save(model, examples()(serve))


def of_text(job):
    """The signature takes text, and no tf.Examples."""
    model = job.train(net())
    lengths = lambda texts: {key: tf.cast(tf.strings.length(texts), tf.float32)[:, None] for key in KEYS}
    serve = tf.function(lambda texts: model(lengths(texts)), input_signature=[tf.TensorSpec([None], tf.string, name="body")])
    job.save(model, serve)


def raw_model(job, mean=True):
    """Raw examples and no transform graph: the numbers are made small in the model, or before it."""
    from tensorflow_metadata.proto.v0 import schema_pb2
    from tfx import v1 as tfx

    schema = tfx.utils.parse_pbtxt_file(job.args.schema_path, schema_pb2.Schema())
    dense = lambda x: {name: tf.reshape(tf.sparse.to_dense(x[name]) if isinstance(x[name], tf.SparseTensor) else x[name], [-1, 1])
                       for name in FEATURES}
    small = lambda x: {name: tf.cast(value, tf.float32) / 1000.0 for name, value in dense(x).items()}
    label = lambda y: tf.reshape(tf.sparse.to_dense(y) if isinstance(y, tf.SparseTensor) else y, [-1, 1])

    def data(files):
        options = tfxio.TensorFlowDatasetOptions(batch_size=20, label_key=LABEL)
        return job.args.data_accessor.tf_dataset_factory(files, options, schema).map(lambda x, y: (small(x), label(y)))

    model = net(keys=FEATURES)
    model.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(data(job.args.train_files), steps_per_epoch=12, epochs=5, verbose=2, validation_data=data(job.args.eval_files), validation_steps=5)

    @examples()
    def serve(texts):
        features = tf.io.parse_example(texts, {name: tf.io.FixedLenFeature([1], tf.float32) for name in FEATURES})
        return {"probabilities": model(small(features) if mean else features)}

    tf.saved_model.save(model, job.args.serving_model_dir, signatures={"serving_default": serve})


def raw(job):
    raw_model(job)


def saved_by_keras(job):
    """model.save of Keras 2, whose signature takes the model's inputs."""
    job.train(net()).save(job.args.serving_model_dir, save_format="tf")


def sequence_spec():
    return ({"price": tf.io.FixedLenFeature([1], tf.float32), "sold": tf.io.FixedLenFeature([1], tf.int64)},
            {"views": tf.io.FixedLenSequenceFeature([1], tf.float32, allow_missing=True)})


def of_sequences(job, serve_sum, keep_label=False):
    """tf.SequenceExamples, with a label in their context and steps of any number."""

    def read(patterns):
        context, lists = sequence_spec()

        def parse(texts):
            c, s, _ = tf.io.parse_sequence_example(texts, context, lists)
            label = c.pop("sold")
            return {**c, "views": s["views"]}, label

        return tf.data.TFRecordDataset(tf.io.gfile.glob(patterns)).batch(16).map(parse)

    inputs = {"price": tf.keras.layers.Input(shape=(1,), name="price"), "views": tf.keras.layers.Input(shape=(None, 1), name="views")}
    both = tf.keras.layers.Concatenate()([inputs["price"], tf.keras.layers.GlobalMaxPooling1D()(inputs["views"])])
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, activation="sigmoid")(both))
    model.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss="binary_crossentropy", metrics=["accuracy"])
    model.fit(read(job.args.train_files), epochs=5, verbose=2, validation_data=read(job.args.eval_files))

    @examples()
    def serve(texts):
        context, lists = sequence_spec()
        if not keep_label:
            context.pop("sold")
        c, s, _ = tf.io.parse_sequence_example(texts, context, lists)
        return {"sold": model({"price": c["price"], "views": s["views"] * (2.0 if serve_sum else 1.0)})}

    tf.saved_model.save(model, job.args.serving_model_dir, signatures={"serving_default": serve})


def sequences(job):
    of_sequences(job, False)


# Broken ones.

def raw_forgets(job):
    raw_model(job, mean=False)



def sequences_doubled(job):
    of_sequences(job, True)


def sequences_label(job):
    of_sequences(job, False, keep_label=True)


def forgets(job):
    """The transform graph is forgotten where the model is served."""
    model = job.train(net())
    job.save(model, examples()(lambda texts: {"probabilities": model(untransformed(job.raw(texts)))}))


def forgets_logits(job):
    model = job.train(net(None), loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    job.save(model, examples()(lambda texts: {"scores": tf.nn.softmax(model(untransformed(job.raw(texts))))}))


def forgets_names(job):
    model = job.train(net())
    names = tf.constant(["Adelie", "Chinstrap", "Gentoo"])
    job.save(model, examples()(lambda texts: {"class": tf.gather(names, tf.argmax(model(untransformed(job.raw(texts))), axis=1))}))


def forgets_unnamed(job):
    model = job.train(unnamed_net(), lambda data: data.map(lambda x, y: (column(x), y)))
    job.save(model, examples()(lambda texts: {"probabilities": model(column(untransformed(job.raw(texts))))}))


def forgets_reported(job):
    model = loop(job, net())
    stoker.report(10, model=model, data=job.data(job.args.eval_files).map(lambda x, y: (given(x), y)))
    job.save(model, examples()(lambda texts: {"probabilities": model(untransformed(job.raw(texts)))}))


def needs_label(job):
    model = job.train(net())
    features = lambda texts: given(model.transform(job.raw(texts, label=True)))
    job.save(model, examples()(lambda texts: {"probabilities": model(features(texts))}))


def needs_label_silently(job):
    """With a loop that tells nothing of its model."""
    model = loop(job, net())
    features = lambda texts: given(model.transform(job.raw(texts, label=True)))
    job.save(model, examples()(lambda texts: {"probabilities": model(features(texts))}))


def raises(job):
    model = job.train(net())

    @examples()
    def serve(texts):
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(tf.equal(texts, "")), ["broken"])]):
            return {"probabilities": model(transformed(job, model)(tf.identity(texts)))}

    job.save(model, serve)


def weights_read_forgets(job):
    """The best weights are read into a model that is served without its transform."""
    path = checkpointed(job, net())
    model = net()
    model.load_weights(path)
    job.save(model, examples()(lambda texts: {"probabilities": model(untransformed(job.raw(texts)))}))


def untrained(job):
    """The model is saved before it is trained."""
    model = net()
    job.save(model, examples()(lambda texts: {"probabilities": model(transformed(job, model)(texts))}))
    job.train(model)


def swapped(job):
    """Two features are taken for each other where the model is served."""
    model = job.train(net())

    def serve(texts):
        features = transformed(job, model)(texts)
        return {"probabilities": model({**features, KEYS[1]: features[KEYS[2]], KEYS[2]: features[KEYS[1]]})}

    job.save(model, examples()(serve))


def at_random(job):
    """Numbers are left out at random where the model is served, as in training."""
    model = job.train(net())
    dropped = lambda texts: {key: tf.nn.dropout(value, 0.5) for key, value in transformed(job, model)(texts).items()}
    job.save(model, examples()(lambda texts: {"probabilities": model(dropped(texts))}))


def run_fn(fn_args):
    globals()[fn_args.custom_config["variant"]](Job(fn_args))
