import os
import time


def feature(spec):
    if isinstance(spec, tf.SparseTensorSpec):
        return tf.io.VarLenFeature(spec.dtype)
    return tf.io.FixedLenFeature(spec.shape[1:], spec.dtype)


def check(input):
    """Rows per CPU-second of the graph alone, in some windows: the rows are parsed beforehand."""
    transform = tf.saved_model.load(os.path.join(input["graph"], "transform_fn")).transform_fn
    specs = transform.structured_input_signature[0][0]
    examples = tf.constant([b64(e) for e in input["examples"]])
    columns = tf.io.parse_example(examples, {name: feature(spec) for name, spec in specs.items()})
    for _ in range(20):
        transform(columns)
    rates = []
    for _ in range(input["windows"]):
        start, end, batches = time.process_time(), time.time() + input["seconds"], 0
        while time.time() < end:
            transform(columns)
            batches += 1
        rates.append(batches * len(input["examples"]) / (time.process_time() - start))
    return rates
