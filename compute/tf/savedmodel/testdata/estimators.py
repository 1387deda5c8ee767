# Models of TensorFlow 2.15, the last with Estimators and with Keras 2 inside, and what they answer. It stands behind models.py.


def features(columns):
    fc = tf.feature_column
    words = fc.categorical_column_with_vocabulary_file("w", columns, num_oov_buckets=2)
    shops = fc.categorical_column_with_hash_bucket("shop", 7)
    hours = fc.categorical_column_with_identity("hour", 24, default_value=0)
    fare = fc.numeric_column("fare")
    buckets = fc.bucketized_column(fare, [-0.5, 0.0, 1.0])
    crossed = fc.crossed_column([buckets, hours], 11)
    deep = [fare, fc.embedding_column(words, 3, combiner="sqrtn"), fc.embedding_column(shops, 2), fc.indicator_column(hours)]
    return [words, shops, buckets, crossed], deep


def trained(kind, folder, vocabulary):
    wide, deep = features(vocabulary)
    config = tf.estimator.RunConfig(os.path.join(folder, kind + "-run"), tf_random_seed=3)
    made = {
        "combined": lambda: tf.estimator.DNNLinearCombinedClassifier(
            config=config, linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[5, 4], n_classes=3,
            label_vocabulary=["no", "maybe", "yes"]),
        "binary": lambda: tf.estimator.DNNClassifier(config=config, feature_columns=deep, hidden_units=[4], batch_norm=True),
        "number": lambda: tf.estimator.LinearRegressor(config=config, feature_columns=wide),
        "old": lambda: tf.compat.v1.estimator.DNNRegressor(config=config, feature_columns=deep, hidden_units=[4]),
    }[kind]()
    labels = {"combined": ["no", "yes", "maybe", "no"], "binary": [0, 1, 1, 0]}.get(kind, [0.5, -1.0, 2.0, 0.0])
    data = {"w": [["red"], ["blue"], ["?"], ["green"]], "shop": [["a"], ["b"], ["a"], ["c"]], "hour": [[1], [2], [23], [1]],
            "fare": [[0.5], [-1.0], [3.0], [0.1]]}
    made.train(lambda: tf.data.Dataset.from_tensors((data, tf.constant([[v] for v in labels]))).repeat(5))
    spec = tf.feature_column.make_parse_example_spec(wide + deep)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    return made.export_saved_model(os.path.join(folder, kind), receiver).decode()


def requests():
    def one(**f):
        lists = {bytes: lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v)), int: lambda v: tf.train.Feature(
            int64_list=tf.train.Int64List(value=v)), float: lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v))}
        made = {k: lists[type(v[0])](v) for k, v in f.items()}
        return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString(deterministic=True)

    rows = [one(w=[b"red"], shop=[b"a"], hour=[3], fare=[0.25]), one(w=[b"blue", b"none", b"red"], shop=[b"zzz"], hour=[22], fare=[-7.0]),
            one(fare=[1.0]), one(w=[b"unknown"], shop=[b"a", b"b"], hour=[99], fare=[1e6])]
    return np.array(rows, object)


def estimator(kind, folder, vocabulary):
    path = trained(kind, folder, vocabulary)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], path)
        name = "predict" if "predict" in meta.signature_def else "serving_default"
        of = meta.signature_def[name]
        (key, info), = of.inputs.items()
        want = session.run({k: v.name for k, v in of.outputs.items()}, {info.name: requests()})
    return {"folder": path, "signature": name, "inputs": {key: encode(requests())}, "outputs": {k: encode(v) for k, v in want.items()}}


def keras_2(folder):
    x, w = tf.keras.Input([4], name="x"), tf.keras.Input([1], name="w", dtype=tf.string)
    ids = tf.keras.layers.StringLookup(vocabulary=["red", "green"], num_oov_indices=1)(w)
    h = tf.keras.layers.concatenate([tf.keras.layers.BatchNormalization()(x), tf.keras.layers.Flatten()(tf.keras.layers.Embedding(3, 2)(ids))])
    model = tf.keras.Model({"x": x, "w": w}, tf.keras.layers.Dense(3, "softmax")(tf.keras.layers.Dense(5, "gelu")(h)))
    model.compile("adam", "mse")
    inputs = {"x": floats(6, 4), "w": texts(6, 1)}
    fed = {k: tf.constant(v) for k, v in inputs.items()}
    model.fit(fed, np.zeros([6, 3], np.float32), verbose=0)
    path = os.path.join(folder, "keras_2")
    model.save(path)
    got = tf.saved_model.load(path).signatures["serving_default"](**fed)
    return {"folder": path, "signature": "serving_default", "inputs": {k: encode(v) for k, v in inputs.items()},
            "outputs": {k: encode(v.numpy()) for k, v in got.items()}}


def check(folder):
    vocabulary = os.path.join(folder, "words.txt")
    with open(vocabulary, "w") as f:
        f.write("red\ngreen\nblue\n")
    answers = {kind: estimator(kind, folder, vocabulary) for kind in ["combined", "binary", "number", "old"]}
    return answers | {"keras_2": keras_2(folder)}
