"""Reads schemas (a JSON list of proto texts) and writes the feature spec that tf.Transform makes of each, or its error."""
import json
import struct
import sys

import tensorflow as tf
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_transform.tf_metadata import schema_utils
from tfx_bsl.tfxio import tensor_representation_util as representations


def value(v):
    if isinstance(v, (str, bytes)):
        return (v.encode() if isinstance(v, str) else v).hex()
    if isinstance(v, float):
        return struct.unpack("<I", struct.pack("<f", v))[0]
    return v


def default(spec):
    if spec.default_value is None:
        return None
    values = spec.default_value if isinstance(spec.default_value, list) else [spec.default_value]
    return [value(v) for v in values]


def partition(p):
    return {"uniform": p.length} if hasattr(p, "length") else {"row_length": p.key}


def tensor(name, spec):
    out = {"layout": type(spec).__name__.removesuffix("Feature").removesuffix("V2"), "type": spec.dtype.name}
    if isinstance(spec, tf.io.FixedLenFeature):
        out |= {"shape": list(spec.shape), "default": default(spec)}
    if isinstance(spec, tf.io.SparseFeature):
        out |= {"values": spec.value_key, "indices": list(spec.index_key), "shape": list(spec.size), "sorted": spec.already_sorted}
    if isinstance(spec, tf.io.RaggedFeature):
        out |= {"values": spec.value_key, "partitions": [partition(p) for p in spec.partitions], "splits": spec.row_splits_dtype.name}
    return out


def domain(d):
    if isinstance(d, schema_pb2.StringDomain):
        return {"words": list(d.value)}
    if isinstance(d, schema_pb2.IntDomain):
        return {"min": d.min if d.HasField("min") else None, "max": d.max if d.HasField("max") else None, "categorical": d.is_categorical}
    return {}


def of_steps(schema):
    """The tensors of feature_lists, for a schema of tf.SequenceExamples. Representations are inferred where there are none, as tfx_bsl does."""
    if not any(f.type == schema_pb2.STRUCT for f in schema.feature):
        return set()
    if "" not in schema.tensor_representation_group:
        representations.SetTensorRepresentationsInSchema(schema, representations.InferTensorRepresentationsFromSchema(schema))
    return set(representations.CreateTfSequenceExampleParserConfig(schema)[1])


def answer(text):
    try:
        schema = text_format.Parse(text, schema_pb2.Schema())
        steps = of_steps(schema)
        spec, domains = schema_utils.schema_as_feature_spec(schema)
    except Exception as e:  # whatever it is, the schema is refused
        return {"schema": text, "error": type(e).__name__}
    tensors = {name: tensor(name, s) | {"sequence": name in steps, "domain": domain(domains.get(name))} for name, s in spec.items()}
    return {"schema": text, "tensors": tensors}


print("[" + ",\n".join(json.dumps(answer(text), sort_keys=True) for text in json.load(sys.stdin)) + "]")
