"""Checks .onnx files with the onnx package, strictly, and runs them in ONNX Runtime."""
import onnx
import onnxruntime

dtypes = {"float32": np.float32, "int64": np.int64, "string": object}


def values(v):
    """A value as Go sends it: elements as text, row by row."""
    cast = {"float32": float, "int64": int, "string": str}[v["kind"]]
    return np.array([cast(x) for x in v["elements"]], dtype=dtypes[v["kind"]]).reshape([-1, v["width"]])


def run(case):
    path = case["path"]
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {name: values(v) for name, v in case["inputs"].items()}
    names = [o.name for o in session.get_outputs()]
    found = dict(zip(names, session.run(names, feed)))
    empty = session.run(names, {name: v[:0] for name, v in feed.items()})
    return {
        "outputs": {name: v.reshape(-1) for name, v in found.items()},
        "shapes": {name: list(v.shape) for name, v in found.items()},
        "empty": {name: list(v.shape) for name, v in zip(names, empty)},
        "declared": {o.name: [str(d) for d in o.shape] for o in session.get_outputs()},
        "docs": {i.name: i.doc_string for i in model.graph.input},
        "metadata": dict(session.get_modelmeta().custom_metadata_map),
    }


def check(cases):
    return [run(case) for case in cases]
