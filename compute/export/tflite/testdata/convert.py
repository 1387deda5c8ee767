"""Has TensorFlow convert a SavedModel's plain-tensor signature, and analyse our file of the same model."""
import contextlib
import io

from ai_edge_litert.interpreter import Interpreter


def array(a):
    return np.frombuffer(b64(a["data"]), a["type"]).reshape(a["shape"])


def analysis(model):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        tf.lite.experimental.Analyzer.analyze(model_content=model)
    return text.getvalue()


def convert(request):
    converter = tf.lite.TFLiteConverter.from_saved_model(request["dir"], signature_keys=["predict_tensors"])
    if request["kind"] != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if request["kind"] == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if request["kind"] == "int8":
        inputs = {k: array(v) for k, v in request["inputs"].items()}
        rows = len(next(iter(inputs.values())))
        samples = [{k: v[i : i + 1] for k, v in inputs.items()} for i in range(rows)]
        converter.representative_dataset = lambda: (("predict_tensors", s) for s in samples)
    return converter.convert()


def check(requests):
    answers = []
    for request in requests:
        theirs, ours = convert(request), b64(request["model"])
        run = Interpreter(model_content=theirs).get_signature_runner("predict_tensors")
        out = run(**{k: array(v) for k, v in request["inputs"].items()})
        answers.append({
            "size": len(theirs),
            "outputs": {k: {"type": str(v.dtype), "shape": list(v.shape), "data": v.tobytes()} for k, v in out.items()},
            "analysis": analysis(ours),
        })
    return answers
