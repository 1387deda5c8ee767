"""Wide & deep on the taxi data by TensorFlow: from given weights, over the batches in the order of the file."""
import itertools


def check(c):
    weights = {n: tf.Variable(tf.reshape(tf.constant(v["values"], tf.float32), v["shape"]), name=n) for n, v in c["weights"].items()}
    deep = [n for n in weights if n.startswith("dnn/")]
    wide = [n for n in weights if n.startswith("linear/")]
    spec = {k: tf.io.FixedLenFeature([], tf.float32 if k in c["numeric"] else tf.int64) for k in c["numeric"] + list(c["buckets"]) + [c["label"]]}

    def rows(pattern):
        return (tf.io.parse_example(r, spec) for r in tf.data.TFRecordDataset(tf.io.gfile.glob(pattern), "GZIP").batch(c["batch"]))

    def logits(x):
        h = tf.stack([x[k] for k in sorted(c["numeric"])], axis=1)
        for i in range(c["layers"]):
            h = tf.nn.relu(h @ weights[f"dnn/hiddenlayer_{i}/kernel"] + weights[f"dnn/hiddenlayer_{i}/bias"])
        z = h @ weights["dnn/logits/kernel"] + weights["dnn/logits/bias"] + weights["linear/linear_model/bias_weights"]
        for k, n in c["buckets"].items():
            i = tf.where((x[k] >= 0) & (x[k] < n), x[k], 0)
            z += tf.gather(weights[f"linear/linear_model/{k}/weights"], i)
        return z

    # The optimizers and rates of tf.estimator.DNNLinearCombinedClassifier.
    adagrad = tf.keras.optimizers.Adagrad(0.001, initial_accumulator_value=0.1, epsilon=1e-7)
    ftrl = tf.keras.optimizers.Ftrl(min(0.005, 1 / np.sqrt(len(c["buckets"]))))
    for o, names in ((adagrad, deep), (ftrl, wide)):
        o.build([weights[n] for n in names])

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape(persistent=True) as tape:
            t = tf.cast(x[c["label"]], tf.float32)[:, None]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(t, logits(x)))
        parts = [(o, [weights[n] for n in names]) for o, names in ((adagrad, deep), (ftrl, wide))]
        gradients = [[tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)] for _, variables in parts]
        for (o, variables), g in zip(parts, gradients):
            o.apply_gradients(zip(g, variables))
        return loss

    losses = [float(step(x)) for x in itertools.islice(rows(c["train"]), c["steps"])]
    auc = tf.keras.metrics.AUC(num_thresholds=10000)
    for x in rows(c["eval"]):
        auc.update_state(x[c["label"]], tf.sigmoid(logits(x))[:, 0])
    return {"losses": losses, "weights": {n: tf.reshape(w, [-1]) for n, w in weights.items()}, "auc": float(auc.result())}
