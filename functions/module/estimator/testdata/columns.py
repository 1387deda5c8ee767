"""The same feature columns by TensorFlow's own feature_column, with given weights: the input of the deep part, the logits of the wide one."""
import warnings


def check(c):
    tf.get_logger().setLevel("ERROR")  # that feature columns are deprecated is known
    warnings.simplefilter("ignore")
    v1, fc = tf.compat.v1, tf.feature_column
    numbers = fc.numeric_column("number", shape=(2,))
    bucketized = fc.bucketized_column(fc.numeric_column("age"), [10.0, 20.0, 65.0])
    identity = fc.categorical_column_with_identity("hour", 24, default_value=3)
    several = fc.categorical_column_with_identity("areas", 5, default_value=0)
    hashed = fc.categorical_column_with_hash_bucket("company", 7)
    words = fc.categorical_column_with_vocabulary_list("payment", ["Cash", "Card"], num_oov_buckets=1)
    sparse_first = fc.crossed_column(["hour", "payment", "company"], 11)
    buckets = fc.crossed_column([bucketized, words, identity], 13)
    places = fc.crossed_column(["hour", "areas"], 9)
    deep = [numbers, bucketized, fc.indicator_column(identity), fc.indicator_column(several), fc.indicator_column(words),
            fc.embedding_column(hashed, 3), fc.embedding_column(several, 2), fc.indicator_column(buckets), fc.embedding_column(places, 2)]
    wide = [numbers, bucketized, identity, several, hashed, words, sparse_first, buckets, places]
    with tf.Graph().as_default(), v1.Session() as session:
        x = {k: tf.constant(v, tf.string if k in ("company", "payment") else tf.int64 if k in ("hour", "areas") else tf.float32)
             for k, v in c["rows"].items()}
        x["company"] = tf.sparse.from_dense(x["company"])  # a feature without a shape: "" is what a row lacks
        with v1.variable_scope("dnn/input_from_feature_columns"):
            dense = v1.feature_column.input_layer(x, deep)
        with v1.variable_scope("linear"):
            logits = v1.feature_column.linear_model(x, wide, units=2)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        names = []
        for v in v1.global_variables():
            name = v.op.name
            names.append(name)
            v.load(np.array(c["weights"][name]["values"], np.float32).reshape(v.shape), session)
        a, b = session.run([dense, logits])
        return {"names": sorted(names), "dense": a.reshape(-1), "logits": b.reshape(-1)}
