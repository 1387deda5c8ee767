# Reads a file of records and parses them as tf.data does it best: a dataset of records, batched,
# then parsed a batch at a time.

TYPES = {"string": tf.string, "float": tf.float32, "int64": tf.int64}


def feature(f):
    if f["shape"] is None:
        return tf.io.RaggedFeature(TYPES[f["type"]], row_splits_dtype=tf.int64)
    return tf.io.FixedLenFeature(f["shape"], TYPES[f["type"]])


def dataset(request):
    context = {f["name"]: feature(f) for f in request["spec"] if not f["sequence"]}
    lists = {f["name"]: feature(f) for f in request["spec"] if f["sequence"]}

    def parse(batch):
        if not lists:
            return tf.io.parse_example(batch, context)
        c, s, _ = tf.io.parse_sequence_example(batch, context, lists)
        return {**c, **s}

    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    records = tf.data.TFRecordDataset(request["file"], "GZIP" if request["gzip"] else "")
    return records.batch(request["batch"]).map(parse).with_options(options)


def total(column):
    values = column.flat_values if isinstance(column, tf.RaggedTensor) else column
    if values.dtype == tf.string:
        values = tf.strings.length(values)
    return tf.reduce_sum(tf.cast(values, tf.float64))


def sums(request):
    """The sum of each column's values, of strings that of their lengths."""
    names = [f["name"] for f in request["spec"]]
    zero = {n: tf.constant(0.0, tf.float64) for n in names}
    result = dataset(request).reduce(zero, lambda at, batch: {n: at[n] + total(batch[n]) for n in names})
    return {n: float(v) for n, v in result.items()}


passes = {}


def parse(request):
    """Parses all of the file, and counts rows."""
    if request["file"] not in passes:
        data = dataset(request)
        first = request["spec"][0]["name"]  # a plain feature of one value

        @tf.function
        def count():
            return data.reduce(tf.constant(0, tf.int64), lambda n, batch: n + tf.shape(batch[first], tf.int64)[0])

        count()
        passes[request["file"]] = count
    return int(passes[request["file"]]())
