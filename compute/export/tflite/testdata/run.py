"""Runs .tflite files in every runtime at hand: [{model, inputs}] -> [{runtime: {output: array}}]."""
from ai_edge_litert.interpreter import Interpreter as LiteRT


def runtimes(model):
    yield "LiteRT", LiteRT(model_content=model)
    yield "TensorFlow Lite", tf.lite.Interpreter(model_content=model)
    plain = tf.lite.experimental.OpResolverType.BUILTIN_REF  # the kernels that define what an op is
    yield "reference kernels", tf.lite.Interpreter(model_content=model, experimental_op_resolver_type=plain)


def array(a):
    return np.frombuffer(b64(a["data"]), a["type"]).reshape(a["shape"])


def told(v):
    if v.dtype.kind in "OS":
        return {"type": "string", "shape": list(v.shape), "data": b"".join(s + b"\0" for s in v.ravel())}
    return {"type": str(v.dtype), "shape": list(v.shape), "data": v.tobytes()}


def answers(interpreter, inputs):
    return {name: told(v) for name, v in interpreter.get_signature_runner("serving_default")(**inputs).items()}


def check(calls):
    return [
        {name: answers(r, {k: array(v) for k, v in c["inputs"].items()}) for name, r in runtimes(b64(c["model"]))}
        for c in calls
    ]
