"""The signature of a SavedModel that takes and gives plain tensors. Runtimes for devices parse no tf.Examples."""
import os

TAG = "serve"
DEFAULT = "serving_default"


class NoPlainSignature(Exception):
    """Says why a model can't be written in a format, in words for the user."""


class Signature:
    """One signature: its name, and its inputs as (name, dtype, shape) with None for a size that is open."""

    def __init__(self, name, inputs, outputs):
        self.name, self.inputs, self.outputs = name, inputs, outputs

    def strings(self):
        """The names of what is no number."""
        return [name for name, dtype, _ in self.inputs + self.outputs if dtype not in NUMBERS]

    def described(self):
        """The inputs as inputs.json has them, -1 for a size that is open."""
        note = f"as signature {self.name} of the SavedModel takes it"
        return [{"name": name, "type": dtype, "shape": [-1 if size is None else size for size in shape], "note": note}
                for name, dtype, shape in self.inputs]


NUMBERS = ("float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool")


def plain(model, form):
    """The signature to convert: serving_default if it is one of numbers, else the first by name that is."""
    found = read(model)
    for signature in found:
        if not signature.strings():
            return signature
    listed = "; ".join(f"{s.name} has {', '.join(s.strings())}" for s in found[:5]) or "it has none"
    raise NoPlainSignature(f"{form} can neither parse tf.Examples nor look up strings, and every signature of the model "
                           f"has strings as inputs or outputs ({listed}): export another signature that takes numeric tensors")


def read(model):
    """The signatures of a SavedModel, serving_default first."""
    from tensorflow.core.protobuf import saved_model_pb2

    with open(os.path.join(model, "saved_model.pb"), "rb") as file:
        proto = saved_model_pb2.SavedModel.FromString(file.read())
    graphs = [graph for graph in proto.meta_graphs if TAG in graph.meta_info_def.tags]
    if not graphs:
        raise NoPlainSignature(f"the SavedModel has no graph with the tag {TAG}")
    defs = graphs[0].signature_def
    names = sorted((name for name in defs if not name.startswith("__")), key=lambda name: (name != DEFAULT, name))
    return [Signature(name, _tensors(defs[name].inputs), _tensors(defs[name].outputs)) for name in names]


def _tensors(infos):
    import tensorflow as tf

    found = [(name, infos[name]) for name in sorted(infos)]
    return [(name, tf.dtypes.as_dtype(info.dtype).name, _shape(info.tensor_shape)) for name, info in found]


def _shape(proto):
    return [] if proto.unknown_rank else [None if dim.size < 0 else dim.size for dim in proto.dim]
