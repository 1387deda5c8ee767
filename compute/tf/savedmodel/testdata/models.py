# Models of many kinds, saved by TensorFlow as users save them, and what TensorFlow answers.
import os

keras = tf.keras

rng = np.random.default_rng(11)
words = ["red", "green", "blue", "Grün", ""]


def floats(*shape):
    return rng.normal(size=shape).astype(np.float32)


def texts(*shape):
    return rng.choice(np.array([w.encode() for w in words] + [b"unknown", b"\xff\xfe"], object), size=shape)


def mlp():
    keras.utils.set_random_seed(1)
    x = keras.Input([6], name="x")
    h = keras.layers.BatchNormalization()(x)
    for activation in ["relu", "gelu", "selu", "elu", "tanh", "sigmoid", "silu", "softplus", "softsign", "leaky_relu", "relu6"]:
        h = keras.layers.Dense(7, activation=activation)(h)
    h = keras.layers.Dropout(0.5)(keras.layers.LayerNormalization()(h))
    outs = {a: keras.layers.Dense(3, activation=a, name=a)(h) for a in ["softmax", "log_softmax", "linear"]}
    model = keras.Model(x, outs)
    model.layers[1].moving_mean.assign(floats(6))
    model.layers[1].moving_variance.assign(np.abs(floats(6)))
    return model, {"x": floats(9, 6)}


def embeddings():
    keras.utils.set_random_seed(2)
    word, number, value = keras.Input([1], dtype="string", name="word"), keras.Input([2], dtype="int64", name="number"), keras.Input([3], name="value")
    lookup = keras.layers.StringLookup(vocabulary=["red", "green", "blue"], num_oov_indices=2)
    deep = keras.layers.concatenate([
        keras.layers.Flatten()(keras.layers.Embedding(6, 4)(lookup(word))),
        keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(10, 3)(number)), value])
    wide = keras.layers.CategoryEncoding(10, output_mode="multi_hot")(number)
    hidden = keras.layers.Dense(5, activation="relu")(deep)
    out = keras.layers.Dense(2, activation="sigmoid")(keras.layers.concatenate([hidden, wide]))
    inputs = {"word": texts(8, 1), "number": rng.integers(0, 10, (8, 2)), "value": floats(8, 3)}
    return keras.Model({"word": word, "number": number, "value": value}, out), inputs


def preprocessing():
    keras.utils.set_random_seed(3)
    x, n, s = keras.Input([1], name="x"), keras.Input([1], dtype="int64", name="n"), keras.Input([1], dtype="string", name="s")
    normal, buckets = keras.layers.Normalization(), keras.layers.Discretization(num_bins=4)
    numbers, strings = keras.layers.IntegerLookup(), keras.layers.StringLookup(output_mode="one_hot")
    normal.adapt(floats(50, 1))
    buckets.adapt(floats(50, 1))
    numbers.adapt(rng.integers(0, 5, (50, 1)))
    strings.adapt(texts(50, 1))
    parts = [normal(x), keras.layers.CategoryEncoding(4, output_mode="one_hot")(buckets(x)),
             keras.layers.CategoryEncoding(12, output_mode="count")(numbers(n)), strings(s),
             keras.layers.CategoryEncoding(5, output_mode="one_hot")(keras.layers.Hashing(5)(s))]
    out = keras.layers.Dense(3)(keras.layers.concatenate(parts))
    return keras.Model({"x": x, "n": n, "s": s}, out), {"x": floats(8, 1), "n": rng.integers(0, 7, (8, 1)), "s": texts(8, 1)}


class Parts(tf.Module):
    """Sparse and ragged tensors in and out."""

    def __init__(self):
        super().__init__()
        self.weights = tf.Variable(floats(5, 3))

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 5], tf.float32), tf.RaggedTensorSpec([None, None], tf.int64, 1, tf.int64)])
    def serve(self, s, r):
        rows = tf.gather(self.weights, r)
        return {"product": tf.sparse.sparse_dense_matmul(s, self.weights), "mean": tf.reduce_sum(rows, axis=1),
                "twice": tf.ragged.map_flat_values(lambda v: 2 * v, r), "same": s}


class Table(tf.Module):
    """Examples in, a vocabulary of a file, and weights of its rows."""

    def __init__(self, folder):
        super().__init__()
        path = os.path.join(folder, "words.txt")
        with open(path, "w") as f:
            f.write("red\ngreen\nblue\n")
        init = tf.lookup.TextFileInitializer(path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)
        self.table = tf.lookup.StaticVocabularyTable(init, 4)
        self.weights = tf.Variable(floats(7, 2))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(self, examples):
        spec = {"w": tf.io.VarLenFeature(tf.string), "v": tf.io.FixedLenFeature([2], tf.float32, [0.0, 0.0])}
        parsed = tf.io.parse_example(examples, spec)
        ids = tf.sparse.map_values(self.table.lookup, parsed["w"])
        bag = tf.nn.safe_embedding_lookup_sparse([self.weights], ids, combiner="mean", default_id=3)
        return {"scores": bag * parsed["v"], "ids": tf.sparse.to_dense(ids, -1)}


def table_examples():
    def one(w, v):
        f = {"w": tf.train.Feature(bytes_list=tf.train.BytesList(value=w)), "v": tf.train.Feature(float_list=tf.train.FloatList(value=v))}
        return tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString(deterministic=True)

    rows = [one([b"red"], [1, 2]), one([], [3, 4]), one([b"blue", b"nothing", b"red"], [5, 6]), b""]
    return {"examples": np.array(rows, object)}


class Sequences(tf.Module):
    """SequenceExamples in, all kinds of features out."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(self, examples):
        context = {"id": tf.io.FixedLenFeature([1], tf.int64), "kind": tf.io.FixedLenFeature([], tf.string, "none"),
                   "tags": tf.io.VarLenFeature(tf.string), "bag": tf.io.RaggedFeature(tf.float32, row_splits_dtype=tf.int64)}
        lists = {"pair": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True), "word": tf.io.FixedLenSequenceFeature([], tf.string),
                 "count": tf.io.VarLenFeature(tf.int64), "id": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)}
        c, s, lengths = tf.io.parse_sequence_example(examples, context, lists)
        outer, inner = s["id"].nested_row_splits
        return {"id": c["id"], "kind": c["kind"], "tags": c["tags"], "bag": c["bag"].values, "bag_splits": c["bag"].row_splits, "pair": s["pair"],
                "pair_lengths": lengths["pair"], "word": s["word"], "word_lengths": lengths["word"], "count": s["count"], "steps": s["id"].flat_values,
                "outer": outer, "inner": inner}


def sequence_examples():
    def one(number, context, **lists):
        features = {"id": i(number), **context}
        lists = {name: tf.train.FeatureList(feature=steps) for name, steps in lists.items()}
        return tf.train.SequenceExample(context=tf.train.Features(feature=features),
                                        feature_lists=tf.train.FeatureLists(feature_list=lists)).SerializeToString(deterministic=True)

    b = lambda *v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v))
    f = lambda *v: tf.train.Feature(float_list=tf.train.FloatList(value=v))
    i = lambda *v: tf.train.Feature(int64_list=tf.train.Int64List(value=v))
    rows = [
        one(1, {"kind": b(b"a"), "tags": b(b"x", b"y"), "bag": f(1, 2)}, word=[b(b"red"), b(b"green")], pair=[f(1, 2)], count=[i(1), i(), i(2, 3)], id=[i(7), i(8, 9)]),
        one(2, {}, word=[]),
        one(3, {"bag": f(3)}, word=[b(b"blue")], pair=[f(3, 4), f(5, 6), f(7, 8)], count=[i(4, 5, 6)], id=[i()]),
    ]
    return {"examples": np.array(rows, object)}


def old(folder, inputs):
    """A graph of TensorFlow 1, as an Estimator exports it: variables of both kinds, a table, no functions and no objects."""
    v1 = tf.compat.v1
    path = os.path.join(folder, "old.txt")
    with open(path, "w") as f:
        f.write("red\ngreen\nblue\n")
    with tf.Graph().as_default(), v1.Session() as session:
        examples = v1.placeholder(tf.string, [None], name="input_example_tensor")
        parsed = v1.io.parse_example(examples, {"w": tf.io.VarLenFeature(tf.string), "v": tf.io.FixedLenFeature([2], tf.float32, [0.5, 0.5])})
        asset = tf.constant(path)
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
        table = v1.lookup.StaticHashTable(v1.lookup.TextFileInitializer(
            asset, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 3)
        ids = table.lookup(parsed["w"])
        plain = v1.get_variable("embedding", initializer=floats(4, 2), use_resource=False)
        kernel = v1.get_variable("kernel", initializer=floats(4, 3), use_resource=True)
        bias = v1.get_variable("bias", initializer=floats(3), use_resource=False)
        bag = v1.nn.safe_embedding_lookup_sparse([plain], ids, combiner="sqrtn")
        logits = tf.nn.bias_add(tf.matmul(tf.concat([bag, parsed["v"]], 1), kernel), bias)
        outputs = {"logits": logits, "class": tf.argmax(logits, 1), "name": tf.as_string(tf.argmax(logits, 1))}
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        want = session.run(outputs, {examples: inputs["examples"]})
        builder = v1.saved_model.Builder(os.path.join(folder, "old"))
        signature = v1.saved_model.predict_signature_def({"examples": examples}, outputs)
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            main_op=v1.tables_initializer(), strip_default_attrs=True)
        builder.save()
    return {"folder": os.path.join(folder, "old"), "inputs": fed(inputs), "outputs": flat(want)}


def flat(values):
    tensors = {}
    for name, v in values.items():
        if isinstance(v, tf.SparseTensor):
            tensors |= {name + "/indices": v.indices, name + "/values": v.values, name + "/dense_shape": v.dense_shape}
        elif isinstance(v, tf.RaggedTensor):
            tensors |= {name + "/values": v.values, name + "/row_splits": v.row_splits}
        else:
            tensors[name] = v
    return {name: encode(np.asarray(v)) for name, v in tensors.items()}


def fed(values):
    """TensorFlow takes tensors of several parts apart for what goes in, not for what comes out."""
    tensors = {}
    for name, v in values.items():
        parts = tf.nest.flatten(v, expand_composites=True)
        tensors |= {name if i == 0 else f"{name}_{i}": np.asarray(p) for i, p in enumerate(parts)}
    return {name: encode(v) for name, v in tensors.items()}


def encode(v):
    if v.dtype.kind in "SO":
        return {"dtype": "string", "shape": v.shape, "strings": [bytes(b) for b in v.reshape(-1)]}
    return {"dtype": str(v.dtype), "shape": v.shape, "bytes": v.tobytes()}


def saved(folder, name, model, inputs, **how):
    path = os.path.join(folder, name)
    if isinstance(model, keras.Model):
        model.export(path, verbose=False)
        got = model({k: tf.constant(v, tf.string) if v.dtype.kind in "SO" else tf.constant(v) for k, v in inputs.items()})
        got = got if isinstance(got, dict) else {"output_0": got}
    else:
        tf.saved_model.save(model, path, signatures=model.serve)
        got = model.serve(**{k: tf.constant(v) if isinstance(v, np.ndarray) else v for k, v in inputs.items()})
    return {"folder": path, "inputs": fed(inputs), "outputs": flat(got)}


def check(input):
    tf.autograph.set_verbosity(0)
    folder = input["folder"]
    answers = {name: saved(folder, name, *make()) for name, make in [("mlp", mlp), ("embeddings", embeddings), ("preprocessing", preprocessing)]}
    sparse = tf.SparseTensor([[0, 1], [0, 4], [2, 0]], floats(3), [4, 5])
    answers["parts"] = saved(folder, "parts", Parts(), {"s": sparse, "r": tf.ragged.constant([[0, 4], [], [2], [1, 1, 3]], tf.int64)})
    answers["table"] = saved(folder, "table", Table(folder), table_examples())
    answers["sequences"] = saved(folder, "sequences", Sequences(), sequence_examples())
    answers["old"] = old(folder, table_examples())
    return answers
