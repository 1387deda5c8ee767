"""A SavedModel with assets is rewritten to TFLite by a process of its own, and gives the answers it gave."""
import os
import sys


def check(given):
    sys.path.append(given["shim"])
    from tfx.components.trainer.rewriting import converters, rewriter, rewriter_factory

    source, made = os.path.join(given["dir"], "source"), os.path.join(given["dir"], "made")
    save(source)
    one = rewriter_factory.create_rewriter("TFLiteRewriter", name="to-tflite", allow_custom_ops=True)
    converters.rewrite_saved_model(source, made, one, rewriter.ModelType.TFLITE_MODEL)
    files = sorted(os.path.relpath(os.path.join(d, f), made) for d, _, names in os.walk(made) for f in names)
    runner = tf.lite.Interpreter(model_path=os.path.join(made, "tflite")).get_signature_runner()
    return {"files": files, "answer": runner(x=np.float32([[1, 2]]))["y"][0]}


def save(folder):
    vocabulary = os.path.join(os.path.dirname(folder), "vocabulary.txt")
    with open(vocabulary, "w") as f:
        f.write("cash\n")
    model = tf.Module()
    model.weights = tf.Variable([[1.0, -1.0], [1.0, -1.0]])
    model.vocabulary = tf.saved_model.Asset(vocabulary)
    serve = tf.function(
        lambda x: {"y": tf.nn.relu(x @ model.weights)}, input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")]
    )
    tf.saved_model.save(model, folder, signatures={"serving_default": serve})
    os.mkdir(os.path.join(folder, "assets.extra"))
    with open(os.path.join(folder, "assets.extra", "requests"), "w") as f:
        f.write("warm up")
