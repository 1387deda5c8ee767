"""Reads a file of records and parses them as tf.data does it best: a dataset of records, batched, then parsed a batch at a time."""
import time

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

    records = tf.data.TFRecordDataset(request["file"], "GZIP" if request["gzip"] else "").batch(request["batch"])
    if request["mode"] == "autotune":
        return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    options.autotune.enabled = False
    return records.map(parse).with_options(options)


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
    """Parses all of the file, once it has been parsed before, and counts the rows."""
    key = (request["file"], request["mode"])
    if key not in passes:
        data = dataset(request)
        first = next(f["name"] for f in request["spec"] if f["shape"] == [1] and not f["sequence"])

        @tf.function(autograph=False)
        def count():
            return data.reduce(tf.constant(0, tf.int64), lambda n, batch: n + tf.shape(batch[first], tf.int64)[0])

        count()
        passes[key] = count
    cpu, wall = time.process_time(), time.perf_counter()
    rows = int(passes[key]())
    return {"rows": rows, "cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
