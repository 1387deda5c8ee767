"""Reads a file of records and parses them as tf.data does it best: batched, then parsed a batch at a time. See files_parse.py too."""
import time

TYPES = {"string": tf.string, "float": tf.float32, "int64": tf.int64}


def dataset(request):
    spec = {
        f["name"]: tf.io.RaggedFeature(TYPES[f["type"]], row_splits_dtype=tf.int64) if f["shape"] is None
        else tf.io.FixedLenFeature(f["shape"], TYPES[f["type"]])
        for f in request["spec"]
    }
    records = tf.data.TFRecordDataset(request["file"], "GZIP" if request["gzip"] else "").batch(request["batch"])
    parse = lambda batch: tf.io.parse_example(batch, spec)
    if request["mode"] == "autotune":
        return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    options.autotune.enabled = False
    return records.map(parse).with_options(options)


passes = {}


def parse(request):
    """Parses all of the file once it has been done before, and counts rows."""
    key = (request["file"], request["mode"])
    if key not in passes:
        data = dataset(request)
        first = next(f["name"] for f in request["spec"] if f["shape"] == [1])

        @tf.function(autograph=False)
        def count():
            return data.reduce(tf.constant(0, tf.int64), lambda n, batch: n + tf.shape(batch[first], tf.int64)[0])

        count()
        passes[key] = count
    cpu, wall = time.process_time(), time.perf_counter()
    rows = int(passes[key]())
    return {"examples": rows, "cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
