def flat(value):
    return np.asarray(value).ravel()


def predict(signature, **inputs):
    return {k: flat(v) for k, v in signature(**inputs).items()}


def in_session(path, key, examples):
    """The loader of TensorFlow 1, whose path through the files is that of the C++ one."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], path)
        signature = meta.signature_def[key]
        fetch = {k: v.name for k, v in signature.outputs.items()}
        return {k: flat(v) for k, v in session.run(fetch, {signature.inputs["examples"].name: examples}).items()}


def tensor(kind, width, elements):
    convert = {"float32": float, "int64": int, "string": b64}[kind]
    return tf.reshape(tf.constant([convert(e) for e in elements], kind), [-1, width])


def check(input):
    examples = [b64(e) for e in input["examples"]]
    loaded = tf.saved_model.load(input["model"])
    serve = loaded.signatures["serving_default"]
    again = input["model"] + "-again"
    tf.saved_model.save(loaded, again, signatures=dict(loaded.signatures))
    layer = tf.keras.layers.TFSMLayer(input["model"], call_endpoint="serving_default")
    checkpoint = tf.train.load_checkpoint(input["model"] + "/variables/variables")
    with tf.GradientTape() as tape:
        loss = tf.add_n([tf.reduce_sum(v) for v in serve(examples=tf.constant(examples)).values() if v.dtype == tf.float32])
    gradients = tape.gradient(loss, loaded.trainable_variables)
    return {
        "signatures": sorted(loaded.signatures),
        "loaded": predict(serve, examples=tf.constant(examples)),
        "positional": {k: flat(v) for k, v in serve(tf.constant(examples)).items()},
        "tensors": predict(loaded.signatures["predict_tensors"], **{k: tensor(*v) for k, v in input["tensors"].items()}),
        "empty": [list(v.shape) for _, v in sorted(serve(examples=tf.constant([], tf.string)).items())],
        "session": in_session(input["model"], "serving_default", examples),
        "again": predict(tf.saved_model.load(again).signatures["serving_default"], examples=tf.constant(examples)),
        "layer": {k: flat(v) for k, v in layer(tf.constant(examples)).items()},
        "layer_weights": [len(layer.weights), len(layer.trainable_weights)],
        "variables": {v.name: flat(v) for v in loaded.variables},
        "trainable": [v.name for v in loaded.trainable_variables],
        "gradients": [g is not None for g in gradients],
        "checkpoint": {k: list(v) for k, v in checkpoint.get_variable_to_shape_map().items()},
    }
