"""Rows of the training data as a signature takes them, for converters that have to see numbers like those to come."""
import glob
import itertools

MOST = 200  # records that are read: the ranges of numbers are known by then


def rows(assignment, signature):
    """Some rows, each a dict of arrays with one row. What a signature takes is known by the names of features."""
    found = [row for row in (_row(values, signature) for values in _values(assignment)) if row is not None]
    if not found:
        names = ", ".join(name for name, _, _ in signature.inputs)
        raise ValueError("the scales of 8-bit numbers are computed from rows of the training data, but no row has "
                         f"{names} as signature {signature.name} takes them")
    return found


def _values(assignment):
    """The values of some rows by feature: those of the records, behind the transform graph if they are raw."""
    records = itertools.islice(_records(assignment["train_files"]), MOST)
    if assignment.get("transformed") or not assignment.get("transform_graph_path"):
        return map(_features, records)
    import tensorflow as tf
    import tensorflow_transform as tft

    graph = tft.TFTransformOutput(assignment["transform_graph_path"])
    spec = graph.raw_feature_spec()
    return (_dense(graph.transform_raw_features(tf.io.parse_example([record], spec))) for record in records)


def _records(patterns):
    """The records of all files, packed or not."""
    import tensorflow as tf

    for path in itertools.chain.from_iterable(sorted(glob.glob(pattern)) for pattern in patterns):
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        for record in tf.data.TFRecordDataset(path, compression_type="GZIP" if packed else ""):
            yield record.numpy()


def _features(record):
    """The lists of a tf.Example by name."""
    import tensorflow as tf

    features = tf.train.Example.FromString(record).features.feature
    kinds = {name: feature.WhichOneof("kind") for name, feature in features.items()}
    return {name: list(getattr(features[name], kind).value) for name, kind in kinds.items() if kind}


def _dense(tensors):
    """The values of one row by name."""
    import tensorflow as tf

    dense = {name: tf.sparse.to_dense(t) if isinstance(t, tf.SparseTensor) else t for name, t in tensors.items()}
    return {name: tensor.numpy().ravel().tolist() for name, tensor in dense.items()}


def _row(values, signature):
    """One row as the signature takes it, or None where it lacks something."""
    import numpy as np

    row = {}
    for name, dtype, shape in signature.inputs:
        sizes = [1] + [size if size is not None else -1 for size in shape[1:]]
        try:
            row[name] = np.asarray(values[name], dtype=dtype).reshape(sizes)
        except (KeyError, ValueError, TypeError):
            return None
    return row
