"""Runs .tflite files in TensorFlow 2.16's own runtime: [{model, inputs}] -> [{runtime: {output: array}}]."""


def array(a):
    return np.frombuffer(b64(a["data"]), a["type"]).reshape(a["shape"])


def check(calls):
    found = []
    for c in calls:
        run = tf.lite.Interpreter(model_content=b64(c["model"])).get_signature_runner("serving_default")
        out = run(**{k: array(v) for k, v in c["inputs"].items()})
        found.append({"TensorFlow " + tf.__version__: {
            k: {"type": str(v.dtype), "shape": list(v.shape), "data": v.tobytes()} for k, v in out.items()
        }})
    return found
