import contextlib
import ctypes
import glob
import io
import os
import tempfile

from absl import flags
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.python.tools import saved_model_cli


def records(pattern):
    for path in sorted(glob.glob(pattern)):
        kind = "GZIP" if open(path, "rb").read(2) == b"\x1f\x8b" else ""
        for record in tf.data.TFRecordDataset(path, compression_type=kind):
            yield record.numpy()


def values(feature):
    return list(feature.float_list.value) + list(feature.int64_list.value)


def column(rows, name, dtype):
    return tf.constant([values(e.features.feature[name]) for e in rows], dtype)


def transformed_then_model(loaded, rows):
    """The answers to TFX's own transformed rows, by the signature that takes them as they are."""
    signature = loaded.signatures["predict_tensors"]
    specs = signature.structured_input_signature[1]
    return as_arrays(signature(**{name: column(rows, name, spec.dtype) for name, spec in specs.items()}))


def as_arrays(outputs):
    return {k: np.asarray(v) for k, v in outputs.items()}


def in_session(path, examples):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        signature = tf.compat.v1.saved_model.load(session, ["serve"], path).signature_def["serving_default"]
        fetch = {k: v.name for k, v in signature.outputs.items()}
        return session.run(fetch, {signature.inputs["examples"].name: examples})


class Output(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("free", ctypes.c_void_p)]


class CLoader:
    """C++'s LoadSavedModel and a session, through TensorFlow's C API: what TensorFlow Serving is built on."""

    STRING, FLOAT, STRING_BYTES = 7, 1, 24

    def __init__(self, path):
        folder = os.path.dirname(tf.__file__)
        self.c = ctypes.CDLL(os.path.join(folder, "libtensorflow_cc.so.2"), mode=ctypes.RTLD_GLOBAL)
        for name in ["NewStatus", "NewGraph", "NewSessionOptions", "NewBuffer", "LoadSessionFromSavedModel", "AllocateTensor",
                     "TensorData", "GraphOperationByName", "Message"]:
            getattr(self.c, "TF_" + name).restype = ctypes.c_void_p
        self.c.TF_TensorByteSize.restype = ctypes.c_size_t
        self.c.TF_Dim.restype = ctypes.c_int64
        self.status = ctypes.c_void_p(self.c.TF_NewStatus())
        self.graph = ctypes.c_void_p(self.c.TF_NewGraph())
        meta = self.c.TF_NewBuffer()
        tags = (ctypes.c_char_p * 1)(b"serve")
        options = ctypes.c_void_p(self.c.TF_NewSessionOptions())
        self.session = ctypes.c_void_p(self.c.TF_LoadSessionFromSavedModel(
            options, None, path.encode(), tags, 1, self.graph, ctypes.c_void_p(meta), self.status))
        self.check()
        buffer = ctypes.cast(meta, ctypes.POINTER(Buffer)).contents
        self.meta = meta_graph_pb2.MetaGraphDef.FromString(ctypes.string_at(buffer.data, buffer.length))

    def check(self):
        if self.c.TF_GetCode(self.status):
            raise RuntimeError(ctypes.string_at(self.c.TF_Message(self.status)).decode())

    def output(self, name):
        node, index = name.split(":")
        operation = self.c.TF_GraphOperationByName(self.graph, node.encode())
        if not operation:
            raise KeyError(name)
        return Output(operation, int(index))

    def strings(self, rows):
        dims = (ctypes.c_int64 * 1)(len(rows))
        tensor = self.c.TF_AllocateTensor(self.STRING, dims, 1, ctypes.c_size_t(len(rows) * self.STRING_BYTES))
        data = self.c.TF_TensorData(ctypes.c_void_p(tensor))
        for i, row in enumerate(rows):
            at = ctypes.c_void_p(data + i * self.STRING_BYTES)
            self.c.TF_StringInit(at)
            self.c.TF_StringCopy(at, row, ctypes.c_size_t(len(row)))
        return tensor

    def serve(self, rows):
        signature = self.meta.signature_def["serving_default"]
        keys = sorted(signature.outputs)
        inputs = (Output * 1)(self.output(signature.inputs["examples"].name))
        given = (ctypes.c_void_p * 1)(self.strings(rows))
        outputs = (Output * len(keys))(*[self.output(signature.outputs[k].name) for k in keys])
        got = (ctypes.c_void_p * len(keys))()
        self.c.TF_SessionRun(self.session, None, inputs, given, 1, outputs, got, len(keys), None, 0, None, self.status)
        self.check()
        return {k: self.array(ctypes.c_void_p(t)) for k, t in zip(keys, got)}

    def array(self, tensor):
        assert self.c.TF_TensorType(tensor) == self.FLOAT
        shape = [self.c.TF_Dim(tensor, i) for i in range(self.c.TF_NumDims(tensor))]
        data = ctypes.string_at(self.c.TF_TensorData(tensor), self.c.TF_TensorByteSize(tensor))
        return np.frombuffer(data, np.float32).reshape(shape)


def command_line(path, example):
    """saved_model_cli shows the model and runs it on one example."""
    features = {k: values(f) or list(f.bytes_list.value) for k, f in example.features.feature.items()}
    features = {k: v for k, v in features.items() if v}
    shown = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(shown):
        flags.FLAGS(["saved_model_cli", "--dir=" + path, "--all"])
        saved_model_cli.show()
        flags.FLAGS(["saved_model_cli", "--dir=" + path, "--tag_set=serve", "--signature_def=serving_default",
                     "--input_examples=examples=%r" % [features], "--outdir=" + folder])
        saved_model_cli.run()
        ran = {name[:-4]: np.load(os.path.join(folder, name)) for name in os.listdir(folder)}
    return shown.getvalue(), ran


def fine_tuned(path, rows, labels, key, loss):
    """Keras trains the served model on, then it is saved and loaded again."""
    k = tf.keras
    x = k.Input(shape=(), dtype="string")
    layer = k.layers.TFSMLayer(path, call_endpoint="serving_default")
    model = k.Model(x, layer(x)[key])
    model.compile(optimizer=k.optimizers.SGD(0.01), loss=loss)
    losses = model.fit(tf.constant(rows), labels, batch_size=100, epochs=3, verbose=0).history["loss"]
    again = path + "-tuned"
    tf.saved_model.save(layer._reloaded_obj, again, signatures=dict(layer._reloaded_obj.signatures))
    served = tf.saved_model.load(again).signatures["serving_default"](examples=tf.constant(rows))
    return losses, difference({key: model.predict(tf.constant(rows), verbose=0)}, {key: served[key].numpy()})


def difference(got, want):
    """The largest difference of any row and output, relative where values are over 1."""
    assert sorted(got) == sorted(want), (sorted(got), sorted(want))
    largest = 0.0
    for k, w in want.items():
        assert got[k].shape == w.shape, (k, got[k].shape, w.shape)
        largest = max(largest, float(np.max(np.abs(got[k] - w) / np.maximum(1, np.abs(w)))))
    return largest


def check(input):
    path = input["model"]
    parsed = [tf.train.Example.FromString(r) for r in records(input["examples"])]
    for e in parsed:
        e.features.feature.pop(input["raw_label"], None)
    rows = [e.SerializeToString(deterministic=True) for e in parsed]
    transformed = [tf.train.Example.FromString(r) for r in records(input["transformed"])]
    loaded = tf.saved_model.load(path)
    want = transformed_then_model(loaded, transformed)
    again = path + "-again"
    tf.saved_model.save(loaded, again, signatures=dict(loaded.signatures))
    layer = tf.keras.layers.TFSMLayer(path, call_endpoint="serving_default")
    shown, ran = command_line(path, parsed[0])
    labels = column(transformed, input["label"], tf.int64)
    k = tf.keras.losses
    loss = k.SparseCategoricalCrossentropy(from_logits=True) if want["logits"].shape[1] > 1 else k.BinaryCrossentropy(from_logits=True)
    losses, kept = fine_tuned(path, rows, labels, "logits", loss)
    return {
        "version": tf.__version__, "rows": len(rows), "shown": shown, "losses": losses,
        "differences": {
            "tf.saved_model.load": difference(as_arrays(loaded.signatures["serving_default"](examples=tf.constant(rows))), want),
            "session": difference(in_session(path, rows), want),
            "C++ loader": difference(CLoader(path).serve(rows), want),
            "TFSMLayer": difference(as_arrays(layer(tf.constant(rows))), want),
            "loaded, saved, loaded": difference(
                as_arrays(tf.saved_model.load(again).signatures["serving_default"](examples=tf.constant(rows))), want),
            "saved_model_cli": difference(ran, {k: v[:1] for k, v in want.items()}),
            "trained on, saved, loaded": kept,
        },
    }
