"""The chicago-taxi model by TensorFlow 2.15's own Estimator and train_and_evaluate, over the batches in the order of the file."""
import os


def check(c):
    fc = tf.feature_column
    deep = [fc.numeric_column(k, shape=()) for k in c["numeric"]]
    wide = [fc.categorical_column_with_identity(k, n, default_value=0) for k, n in c["buckets"].items()]
    spec = {k: tf.io.FixedLenFeature([], tf.float32) for k in c["numeric"]}
    spec.update({k: tf.io.FixedLenFeature([], tf.int64) for k in list(c["buckets"]) + [c["label"]]})

    def rows(pattern):
        def parse(r):
            x = tf.io.parse_example(r, spec)
            return x, x.pop(c["label"])
        return lambda: tf.data.TFRecordDataset(tf.io.gfile.glob(pattern), "GZIP").batch(c["batch"]).map(tf.autograph.experimental.do_not_convert(parse))

    config = tf.estimator.RunConfig(model_dir=c["dir"], save_checkpoints_steps=c["steps"], keep_checkpoint_max=5, tf_random_seed=5)
    estimator = tf.estimator.DNNLinearCombinedClassifier(
        config=config, linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[100, 70, 48, 34],
        weight_column=c["weight"] or None)
    raw = {k: v for k, v in spec.items() if k != c["label"]}
    exporter = tf.estimator.FinalExporter("chicago-taxi", tf.estimator.export.build_parsing_serving_input_receiver_fn(raw))
    metrics, _ = tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(rows(c["train"]), max_steps=c["steps"]),
        tf.estimator.EvalSpec(rows(c["eval"]), steps=None, exporters=[exporter], name="chicago-taxi-eval"))
    versions = tf.io.gfile.glob(os.path.join(c["dir"], "export", "chicago-taxi", "*"))
    served = tf.saved_model.load(versions[0]).signatures["predict"]
    names = [n for n in estimator.get_variable_names() if n.startswith(("dnn/", "linear/")) and "/Adagrad" not in n and "/Ftrl" not in n]
    return {
        "metrics": {k: float(v) for k, v in metrics.items()},
        "weights": {n: estimator.get_variable_value(n).ravel() for n in names},
        "answers": sorted(served.structured_outputs),
        "exports": [v[len(c["dir"]):] for v in versions],
    }
