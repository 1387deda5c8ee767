import glob
import json
import sys
import tempfile
import types
import unittest.mock

import apache_beam as beam
from tensorflow.core.protobuf import fingerprint_pb2
from tensorflow.python.saved_model.pywrap_saved_model import fingerprinting
from tfx_bsl.public.beam import RunInference
from tfx_bsl.public.proto import model_spec_pb2


def answer(numbered):
    number, log = numbered
    outputs = log.predict_log.response.outputs
    return json.dumps([number, {k: tf.make_ndarray(v).ravel().tolist() for k, v in outputs.items()}])


def inferred(path, examples):
    """What BulkInferrer runs. Beam gives answers in any order."""
    spec = model_spec_pb2.InferenceSpecType(saved_model_spec=model_spec_pb2.SavedModelSpec(model_path=path))
    numbered = [(i, tf.train.Example.FromString(e)) for i, e in enumerate(examples)]
    with tempfile.TemporaryDirectory() as folder:
        with beam.Pipeline() as pipeline:
            pipeline | beam.Create(numbered) | RunInference(spec) | beam.Map(answer) | beam.io.WriteToText(folder + "/answers")
        answers = [json.loads(line) for name in glob.glob(folder + "/answers*") for line in open(name)]
    answers.sort(key=lambda a: a[0])
    return {k: [x for _, a in answers for x in a[k]] for k in answers[0][1]}


def request_builder():
    """InfraValidator's module alone: importing its package takes all of TFX, which reads artifacts and asks no model."""
    import tfx
    for name in ["types", "types.artifact_utils", "utils", "utils.path_utils", "dsl", "dsl.io", "proto", "components.util"]:
        sys.modules["tfx." + name] = unittest.mock.MagicMock()
    for name in ["components", "components.infra_validator"]:
        package = types.ModuleType("tfx." + name)
        package.__path__ = [p + "/" + name.replace(".", "/") for p in tfx.__path__]
        sys.modules["tfx." + name] = package
    from tfx.components.infra_validator import request_builder
    return request_builder


def requested(path, signature, records):
    """Sends what InfraValidator would send to a server: the key it sends to, and the answers."""
    builder = request_builder()
    found = builder._parse_saved_model_signatures(path, [], [])
    b = builder._TFServingRpcRequestBuilder("model", found)
    b._records = records
    answers, key = [], ""
    for request in b.BuildRequests():
        (key, value), = request.inputs.items()
        answers.extend(flat(signature(**{key: tf.make_ndarray(value)})["outputs"]).tolist())
    return key, {"outputs": answers}


def check(input):
    path, examples = input["model"], [b64(e) for e in input["examples"]]
    loaded = tf.saved_model.load(path)
    served = loaded.signatures["serving_default"]
    again = path + "-again"
    tf.saved_model.save(loaded, again, signatures=dict(loaded.signatures))
    key, answers = requested(path, served, examples[:5])
    computed = fingerprint_pb2.FingerprintDef.FromString(fingerprinting.CreateFingerprintDef(path))
    return {
        "version": tf.__version__,
        "loaded": predict(served, examples=tf.constant(examples)),
        "session": in_session(path, "serving_default", examples),
        "again": predict(tf.saved_model.load(again).signatures["serving_default"], examples=tf.constant(examples)),
        "inference": inferred(path, examples),
        "requested": answers, "key": key,
        "fingerprint": [repr(tf.saved_model.experimental.read_fingerprint(path)),
                        repr(tf.saved_model.experimental.Fingerprint.from_proto(computed))],
    }
