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


def load(folder):
    """The function of an artifact: a dict of columns to a dict of tensors."""
    model = os.path.join(folder, "transform_fn")
    if os.path.exists(os.path.join(model, "variables", "variables.index")):
        return tf.saved_model.load(model).transform_fn
    return Old(model)


class Old:
    """The function of a graph of TensorFlow 1, which has a signature, and files that are named in a collection."""

    def __init__(self, model):
        self.session = tf.compat.v1.Session(graph=tf.Graph())
        with self.session.graph.as_default():
            meta = tf.compat.v1.saved_model.load(self.session, ["transform"], model)
            feeds = {}
            for packed in meta.collection_def["saved_model_assets"].any_list.value:
                asset = tf.compat.v1.MetaGraphDef().asset_file_def.add()
                packed.Unpack(asset)
                feeds[asset.tensor_info.name] = os.path.join(model, "assets", asset.filename)
            self.session.run(tf.compat.v1.get_collection("table_initializer"), feeds)
        self.signature = meta.signature_def["transform_signature"]

    @staticmethod
    def parts(info):
        if info.HasField("coo_sparse"):
            s = info.coo_sparse
            return [s.indices_tensor_name, s.values_tensor_name, s.dense_shape_tensor_name]
        if info.HasField("composite_tensor"):
            return [c.name for c in info.composite_tensor.components]
        return [info.name]

    def __call__(self, columns):
        feeds = {}
        for name, info in self.signature.inputs.items():
            values = tf.nest.flatten(columns[name], expand_composites=True)
            feeds |= {tensor: v.numpy() for tensor, v in zip(self.parts(info), values)}
        fetches = {name: self.parts(info) for name, info in self.signature.outputs.items()}
        return {name: self.whole(name, v) for name, v in self.session.run(fetches, feeds).items()}

    def whole(self, name, parts):
        info = self.signature.outputs[name]
        tensors = [tf.constant(p) for p in parts]
        if info.HasField("coo_sparse"):
            return tf.SparseTensor(*tensors)
        if info.HasField("composite_tensor"):
            return tf.RaggedTensor.from_nested_row_splits(tensors[0], tensors[1:])
        return tensors[0]


def golden(folder, features, examples):
    """Answers of the graph in a folder to some batches of the examples."""
    spec = {f: FEATURES[f] for f in features}
    transform = load(folder)

    def batch(rows):
        return {"rows": list(rows), **answer(transform, spec, [examples[r] for r in rows])}

    batches = []
    for rows in BATCHES:
        batches.append(batch(rows))
        if "error" in batches[-1]:  # one bad row spoils its batch: which one?
            single = [batch([r]) for r in rows]
            batches += single + [batch([b["rows"][0] for b in single if "error" not in b])]
    return {"features": list(features), "batches": batches}
