"""Runs an exported model of the inputs x and quarter in every runtime."""
import onnxruntime
from ai_edge_litert.interpreter import Interpreter


def requests(x, quarter):
    for row, q in zip(x, quarter):
        features = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=row)),
            "quarter": tf.train.Feature(int64_list=tf.train.Int64List(value=q)),
        }
        yield tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def check(c):
    feed = {"x": np.array(c["x"], np.float32).reshape(-1, 3), "quarter": np.array(c["quarter"], np.int64).reshape(-1, 1)}
    signatures = tf.saved_model.load(c["model"] + "/Format-Serving").signatures
    session = onnxruntime.InferenceSession(c["model"] + "/Format-ONNX/model.onnx", providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    found = {
        "tensorflow": signatures["predict_tensors"](**{k: tf.constant(v) for k, v in feed.items()}),
        "tensorflow from tf.Examples": signatures["serving_default"](examples=tf.constant(list(requests(feed["x"], feed["quarter"])))),
        "litert": Interpreter(c["model"] + "/Format-TFLite/model.tflite").get_signature_runner("serving_default")(**feed),
        "onnxruntime": dict(zip(names, session.run(names, feed))),
    }
    return {runtime: {k: np.asarray(v).reshape(-1) for k, v in out.items()} for runtime, out in found.items()}
