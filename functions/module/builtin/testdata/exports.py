"""Feeds the exported files as their inputs.json says, and compares them with the SavedModel that TensorFlow serves."""
import glob
import json

import onnxruntime


def records(pattern):
    for path in sorted(glob.glob(pattern)):
        kind = "GZIP" if open(path, "rb").read(2) == b"\x1f\x8b" else ""
        for record in tf.data.TFRecordDataset(path, compression_type=kind):
            yield record.numpy()


def values(example, name):
    f = example.features.feature[name] if name in example.features.feature else tf.train.Feature()
    return list(f.bytes_list.value) + list(f.float_list.value) + list(f.int64_list.value)


def filled(rows, name, default, width):
    if isinstance(default, str) and default != "NaN":
        default = default.encode()
    return [v + [default] * (width - len(v)) for v in (values(r, name) for r in rows)]


def column(rows, note):
    """What to feed an input: the feature's values, the default where a row lacks one, and what else the note asks for."""
    source = note.get("computed_from")
    if source and "crossed" in source:  # of features of one place
        sides = [tf.constant(filled(rows, s["feature"], s.get("default"), 1)) for s in source["crossed"]]
        sides = [s if s.dtype == tf.string else tf.cast(s, tf.int64) for s in sides]
        return tf.sparse.to_dense(tf.sparse.cross_hashed(sides, source["buckets"])).numpy()
    name, default = (source["feature"], source.get("default")) if source else (note["name"], note.get("default"))
    full = filled(rows, name, default, note["shape"][1])
    if not source:
        if note["type"] == "string":
            return np.array([[x.decode() for x in row] for row in full], object)
        return np.array(full, note["type"])
    if "hash" in source:
        assert source["hash"] == "FarmHash Fingerprint64"
        return tf.strings.to_hash_bucket_fast(tf.constant(full), source["buckets"]).numpy()
    ids = {word.encode(): i for i, word in reversed(list(enumerate(source["vocabulary"])))}
    return np.array([[ids.get(x, source["unknown"]) for x in row] for row in full], np.int64)


def run_onnx(path, feed):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, feed)))


def run_tflite(path, feed):
    from ai_edge_litert.interpreter import Interpreter
    return Interpreter(path).get_signature_runner("serving_default")(**feed)


def answer(out):
    """The class of each row, where there are classes."""
    if "predictions" in out:
        return np.zeros(len(out["predictions"]))
    p = np.asarray(out["probabilities"])
    return p[:, 0] > 0.5 if p.shape[1] == 1 else p.argmax(1)


def check(c):
    rows = [tf.train.Example.FromString(r) for r in records(c["rows"])]
    requests = []
    for record in records(c["raw"]):
        e = tf.train.Example.FromString(record)
        e.features.feature.pop(c["label"], None)
        requests.append(e.SerializeToString(deterministic=True))
    want = tf.saved_model.load(c["model"] + "/Format-Serving").signatures["serving_default"](examples=tf.constant(requests))
    found = {}
    for path in c["files"]:
        notes = json.load(open(c["model"] + "/" + path.split("/")[0] + "/inputs.json"))["inputs"]
        feed = {note["name"]: column(rows, note) for note in notes}
        out = (run_onnx if path.endswith(".onnx") else run_tflite)(c["model"] + "/" + path, feed)
        assert sorted(out) == sorted(want), (sorted(out), sorted(want))
        off = np.concatenate([np.abs(out[k] - want[k]) / np.maximum(1, np.abs(want[k])) for k in want], 1)
        found[path] = {"rows": len(rows), "largest": off.max(), "mean": off.mean(), "agree": np.mean(answer(out) == answer(want))}
    return found
