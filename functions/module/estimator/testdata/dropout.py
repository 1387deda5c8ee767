"""The losses of TensorFlow 2.15's own DNNClassifier with dropout, over the first batch again and again, from given weights that stay as they are."""
import os


def check(c):
    v1, fc = tf.compat.v1, tf.feature_column
    start = os.path.join(c["dir"], "start", "weights")
    with tf.Graph().as_default(), v1.Session() as session:
        for name, w in c["weights"].items():
            v1.get_variable(name, initializer=np.array(w["values"], np.float32).reshape(w["shape"]))
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, start)
    spec = {k: tf.io.FixedLenFeature([], tf.float32) for k in c["numeric"]}
    spec[c["label"]] = tf.io.FixedLenFeature([], tf.int64)

    def rows():
        def parse(r):
            x = tf.io.parse_example(r, spec)
            return x, x.pop(c["label"])
        files = tf.data.TFRecordDataset(tf.io.gfile.glob(c["train"]), "GZIP")
        return files.batch(c["batch"]).map(tf.autograph.experimental.do_not_convert(parse)).take(1).cache().repeat()

    config = tf.estimator.RunConfig(model_dir=c["dir"], save_checkpoints_steps=c["steps"], save_summary_steps=1, tf_random_seed=5)
    tf.estimator.DNNClassifier(
        config=config, hidden_units=c["hidden"], feature_columns=[fc.numeric_column(k, shape=()) for k in c["numeric"]],
        optimizer=tf.keras.optimizers.legacy.SGD(1e-12), dropout=c["rate"],
        warm_start_from=tf.estimator.WarmStartSettings(start, vars_to_warm_start="dnn/.*")).train(rows, max_steps=c["steps"])
    losses = []
    for path in tf.io.gfile.glob(os.path.join(c["dir"], "events.*")):
        for event in v1.train.summary_iterator(path):
            losses += [v.simple_value for v in event.summary.value if v.tag == "loss"]
    return {"losses": losses}
