"""Rewrites a small model with each quantisation, and one that takes serialised examples, which TFLite can't hold."""
import os
import sys


def check(given):
    sys.path.append(given["shim"])
    return {"models": quantised(given["dir"]), "refused": refused(given["dir"], given["serving"])}


def rewritten(source, folder, name, **options):
    """The path of the TFLite model that is made of a SavedModel."""
    from tfx.components.trainer.rewriting import converters, rewriter, rewriter_factory

    target = os.path.join(folder, name)
    one = rewriter_factory.create_rewriter(
        rewriter_factory.TFLITE_REWRITER, name=name, filename="model.tflite", **options
    )
    converters.rewrite_saved_model(source, target, one, rewriter.ModelType.TFLITE_MODEL)
    return os.path.join(target, "model.tflite")


def quantised(folder):
    """How large the small model is in each quantisation, and by how much its answers are off."""
    source, rows, want = small(folder)
    found = {}
    for name, options in QUANTISED.items():
        path = rewritten(source, folder, name, **{k: v(rows) if callable(v) else v for k, v in options.items()})
        answers = tf.lite.Interpreter(model_path=path).get_signature_runner()(x=rows)["y"]
        found[name] = {"bytes": os.path.getsize(path), "error": float(np.max(np.abs(answers - want)))}
    return found


QUANTISED = {
    "float32": {},
    "dynamic": {"quantization_optimizations": [tf.lite.Optimize.DEFAULT]},
    "float16": {"quantization_optimizations": [tf.lite.Optimize.DEFAULT], "quantization_supported_types": [tf.float16]},
    "int8": {
        "quantization_enable_full_integer": True,
        "representative_dataset": lambda rows: [[row[None]] for row in rows],
    },
}


def small(folder):
    """A model of 64-64-4 on disk, rows for it, and its answers."""
    random = np.random.default_rng(1)
    model = tf.Module()
    model.inner, model.outer = (tf.Variable(random.normal(0, 0.1, s).astype("f4")) for s in [(64, 64), (64, 4)])
    serve = tf.function(lambda x: {"y": tf.nn.relu(x @ model.inner) @ model.outer}, autograph=False,
                        input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    source = os.path.join(folder, "source")
    tf.saved_model.save(model, source, signatures={"serving_default": serve})
    rows = random.uniform(-1, 1, (50, 64)).astype("f4")
    return source, rows, serve(rows)["y"].numpy()


def refused(folder, serving):
    """What is said where there is nothing to be had, in a process that goes on."""
    told = {}
    for name, options in {
        "serving": {},
        "setting": {"no_such_setting": 1},
        "signature": {"signature_key": "nope"},
    }.items():
        try:
            told[name] = "made " + rewritten(serving, folder, f"no-{name}", **options)
        except ValueError as error:
            told[name] = str(error)
    return told
