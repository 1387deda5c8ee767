"""Asks a SavedModel as TensorFlow serves it: python ask.py answer <model> <questions.json> <answers.json> <seed> <rounded by>.

Or transforms raw rows by a transform graph: python ask.py transform <transform_fn>. Each line of standard input is a JSON list of
serialized tf.Examples, and is answered by a line on descriptor 3.
"""
import base64
import importlib
import json
import os
import re
import sys

import numpy as np
import tensorflow as tf

# Packages that have ops of their own, which models of TFX modules use.
OPS = ("tensorflow_text", "struct2tensor", "tensorflow_decision_forests", "tensorflow_addons")

# What TensorFlow says of ops that have no implementation for a CPU.
OTHER_DEVICE = ("No OpKernel was registered", "on the CPU", "platform CPU", "current platform")


def tensor(t):
    if t["dtype"] == "DT_STRING":
        texts = [base64.b64decode(s) for s in t["texts"] or []]
        return tf.reshape(tf.constant(texts, tf.string), t["shape"])
    dtype = {"DT_FLOAT": "<f4", "DT_DOUBLE": "<f8", "DT_INT64": "<i8", "DT_INT32": "<i4"}[t["dtype"]]
    return tf.constant(np.frombuffer(base64.b64decode(t["bytes"] or ""), dtype).reshape(t["shape"]))


def encoded(t):
    v = t.numpy()
    if t.dtype == tf.string:
        texts = [base64.b64encode(bytes(b)).decode() for b in v.reshape(-1)]
        return {"dtype": "DT_STRING", "shape": list(v.shape), "texts": texts}
    names = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "int64": "DT_INT64", "int32": "DT_INT32"}
    if v.dtype.name not in names:
        return None
    little = v.astype(v.dtype.newbyteorder("<")).tobytes()
    return {"dtype": names[v.dtype.name], "shape": list(v.shape), "bytes": base64.b64encode(little).decode()}


def parts(name, v):
    if isinstance(v, tf.SparseTensor):
        return {name + "/indices": v.indices, name + "/values": v.values, name + "/dense_shape": v.dense_shape}
    if isinstance(v, tf.RaggedTensor):
        return {}
    return {name: v}


def of_machine(error):
    """Whether the model was made for another device, or is too large for this one: it is no worse for that."""
    kinds = (tf.errors.UnimplementedError, tf.errors.ResourceExhaustedError, tf.errors.UnavailableError, tf.errors.AbortedError)
    return isinstance(error, kinds) or any(words in str(error) for words in OTHER_DEVICE)


def ask(model, question):
    try:
        answer = model.signatures[question["signature"]](**{k: tensor(t) for k, t in question["inputs"].items()})
    except tf.errors.OpError as e:  # a graph can put anything into the message, which is published: it stays here
        print(e, file=sys.stderr)
        missing = re.search(r"Feature: (.*?) \(data type: \w+\) is required but could not be found", str(e))
        return {"unable" if of_machine(e) else "error": type(e).__name__, "missing": missing.group(1) if missing else ""}
    tensors = {k: t for name, v in answer.items() for k, t in parts(name, v).items()}
    outputs = {k: encoded(t) for k, t in tensors.items()}
    return {"outputs": {k: v for k, v in outputs.items() if v is not None}}


def round_otherwise(model, seed, by):
    """Makes each weight larger or smaller by a part of itself, at random; seed 0 leaves them as they are."""
    if not seed:
        return
    random = np.random.default_rng(seed)
    variables = {id(v): v for s in model.signatures.values() for v in s.variables}
    for v in sorted(variables.values(), key=lambda v: v.name):
        if v.dtype == tf.float32:
            value = v.numpy()
            v.assign((value * (1 + by * random.choice([-1.0, 1.0], value.shape))).astype(np.float32))


def load(folder):
    """Loads the model, with the packages that register ops of their own if it needs one and they are installed."""
    try:
        return tf.saved_model.load(folder)
    except (tf.errors.NotFoundError, KeyError) as error:  # Op type not registered
        if not any([importable(name) for name in OPS]):
            raise error
        return tf.saved_model.load(folder)


def importable(name):
    try:
        importlib.import_module(name)
    except Exception:
        return False
    return True


def transformation(model):
    """The function of a transform graph, and how a row is parsed for it."""
    function = model.transform_fn.concrete_functions[0]
    (inputs,), _ = function.structured_input_signature
    return model.transform_fn, {name: parsed(name, spec) for name, spec in inputs.items()}


def parsed(name, spec):
    """How a raw feature is parsed: as saved_transform_io_v2 of TensorFlow Transform feeds it."""
    if isinstance(spec, tf.SparseTensorSpec) and spec.shape.rank == 2:
        return tf.io.VarLenFeature(spec.dtype)
    if isinstance(spec, tf.RaggedTensorSpec) and spec.shape.rank == 2:
        return tf.io.RaggedFeature(spec.dtype, row_splits_dtype=spec.row_splits_dtype)
    if isinstance(spec, tf.TensorSpec) and spec.shape.rank and spec.shape[1:].is_fully_defined():
        return tf.io.FixedLenFeature(spec.shape[1:], spec.dtype)
    raise ValueError(f"raw feature {name} is of a kind that is not parsed here: {spec}")


def transform(transformed, features, texts):
    """What a transform graph makes of rows."""
    try:
        answer = transformed(tf.io.parse_example([base64.b64decode(text) for text in texts], features))
    except tf.errors.OpError as e:
        print(e, file=sys.stderr)
        return {"error": type(e).__name__}
    outputs = {}
    for name, v in answer.items():
        tensors = parts(name, v.to_sparse() if isinstance(v, tf.RaggedTensor) else v)
        outputs.update({k: encoded(t) for k, t in tensors.items()})
    return {"outputs": {k: v for k, v in outputs.items() if v is not None}}


def transform_all(folder):
    with os.fdopen(3, "w") as answers:
        transformed, features = transformation(load(folder))
        for line in sys.stdin:
            print(json.dumps(transform(transformed, features, json.loads(line))), file=answers, flush=True)


def answer_all(folder, questions, answers, seed, by):
    model = load(folder)
    round_otherwise(model, int(seed), float(by))
    with open(questions) as f:
        asked = json.load(f)
    with open(answers, "w") as f:
        json.dump([ask(model, q) for q in asked], f)


if __name__ == "__main__":
    {"answer": answer_all, "transform": transform_all}[sys.argv[1]](*sys.argv[2:])
