"""What TensorFlow answers to rows, in a form that can be compared bit for bit."""
import base64
import os

import numpy as np
import tensorflow as tf

from rows import FEATURES

BATCHES = [range(1), range(1, 8), range(0), range(8, 48)]  # of rows


def parsed(spec, examples):
    """Columns of the examples, as the graph takes them."""
    return tf.io.parse_example(tf.constant(examples, tf.string), spec)


def plain(tensor):
    """A tensor as JSON: numbers as the base64 of their bytes, so that no bit is lost."""
    values = tensor.numpy()
    if tensor.dtype == tf.string:
        data = [base64.b64encode(v).decode() for v in np.ravel(values)]
    else:
        data = base64.b64encode(np.ascontiguousarray(values).astype(tensor.dtype.as_numpy_dtype).tobytes()).decode()
    return {"dtype": tensor.dtype.name, "shape": list(tensor.shape), "data": data}


def answer(transform, spec, examples):
    """What TensorFlow makes of a batch: the outputs' tensors, or the error."""
    try:
        outputs = transform(parsed(spec, examples))
    except (tf.errors.OpError, UnicodeDecodeError) as e:  # the second: a message with bytes that are no text
        return {"error": getattr(e, "message", "a value that is no text")}
    return {"outputs": {k: [plain(t) for t in tf.nest.flatten(v, expand_composites=True)] for k, v in sorted(outputs.items())}}


def golden(folder, features, examples):
    """Answers of the graph in a folder to some batches of the examples."""
    spec = {f: FEATURES[f] for f in features}
    loaded = tf.saved_model.load(os.path.join(folder, "transform_fn"))

    def batch(rows):
        return {"rows": list(rows), **answer(loaded.transform_fn, spec, [examples[r] for r in rows])}

    batches = []
    for rows in BATCHES:
        batches.append(batch(rows))
        if "error" in batches[-1]:  # one bad row spoils its batch: which one?
            single = [batch([r]) for r in rows]
            batches += single + [batch([b["rows"][0] for b in single if "error" not in b])]
    return {"features": list(features), "batches": batches}
