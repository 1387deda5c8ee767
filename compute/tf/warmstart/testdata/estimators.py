"""Trains Estimators of TensorFlow 2.15, the last that has them, and leaves their checkpoints and exports: their weights, by name."""
import os


def columns():
    fc = tf.feature_column
    miles, fare = fc.numeric_column("miles"), fc.numeric_column("fare")
    company = fc.categorical_column_with_vocabulary_list("company", ["cab", "taxi", "carl"], num_oov_buckets=2)
    hour = fc.categorical_column_with_identity("hour", 24, default_value=0)
    deep = [miles, fare, fc.indicator_column(hour), fc.embedding_column(company, 3)]
    return deep, [company, hour]


def rows():
    n = 32
    features = {
        "miles": np.linspace(0, 9, n, dtype=np.float32), "fare": np.linspace(3, 50, n, dtype=np.float32),
        "company": np.array([["cab", "taxi", "carl", "other"][i % 4] for i in range(n)]), "hour": np.arange(n) % 24,
    }
    return tf.data.Dataset.from_tensor_slices((features, np.arange(n) % 2)).repeat().batch(8)


def check(out):
    deep, wide = columns()
    old = tf.compat.v1.fixed_size_partitioner(2)
    estimators = {
        "deep": tf.estimator.DNNClassifier([4, 4], deep, os.path.join(out, "deep"), optimizer="Adagrad"),
        "deep v1": tf.compat.v1.estimator.DNNClassifier([4, 4], deep, os.path.join(out, "deep v1"), input_layer_partitioner=old),
        "wide and deep": tf.estimator.DNNLinearCombinedClassifier(
            os.path.join(out, "wide and deep"), linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[4, 4]),
    }
    weights = {}
    for name, estimator in estimators.items():
        estimator.train(rows, max_steps=3)
        parse = tf.feature_column.make_parse_example_spec(deep + wide)
        receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(parse)
        estimator.export_saved_model(os.path.join(out, name, "Format-Serving", "export", "taxi"), receiver)
        weights[name] = {n: estimator.get_variable_value(n).ravel() for n in estimator.get_variable_names()
                         if not n.startswith(("training/", "global_step")) and "/Adagrad" not in n and "/Ftrl" not in n and n != "beta1_power"}
    return weights
