"""A process that makes other formats of one SavedModel: see convert.py, which starts it and reads what it reports."""
import importlib.util
import json
import os
import subprocess
import sys

from stoker_runner import samples, signatures


def main():
    request = json.load(sys.stdin)
    model = request["assignment"]["serving_model_dir"]
    for name, path in request["todo"].items():
        try:
            CONVERTERS[name](request["assignment"], model, path)
            reason = ""
        except signatures.NoPlainSignature as error:
            reason = str(error)
        except Exception as error:
            reason = f"{type(error).__name__}: {brief(str(error))}"
        with open(request["results"], "a") as results:
            results.write(json.dumps([name, reason]) + "\n")


def tflite(adjust):
    """The converter of a kind of TensorFlow Lite file, which adjust makes of the plain one."""

    def convert(assignment, model, path):
        import tensorflow as tf

        signature = signatures.plain(model, "TensorFlow Lite")
        converter = tf.lite.TFLiteConverter.from_saved_model(
            model, signature_keys=[signature.name], tags=[signatures.TAG])
        adjust(tf, converter, assignment, signature)
        keep(path, converter.convert(), signature)

    return convert


def float16(tf, converter, assignment, signature):
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_types = [tf.float16]


def int8(tf, converter, assignment, signature):
    """Computes in 8 bits where the format has an op for it, and takes and gives what the plain file does."""
    rows = samples.rows(assignment, signature)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: iter(rows)


def onnx(assignment, model, path):
    if importlib.util.find_spec("tf2onnx") is None:
        raise signatures.NoPlainSignature("tf2onnx is not installed: add it to module.requirements")
    signature = signatures.plain(model, "ONNX")
    partial = f"{path}.partial"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    command = [sys.executable, "-m", "tf2onnx.convert", "--saved-model", model, "--tag", signatures.TAG,
               "--signature_def", signature.name, "--output", partial]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    sys.stdout.write(done.stdout)
    if done.returncode or not os.path.exists(partial):
        lines = [line for line in done.stdout.splitlines() if line.strip()] or ["without a word"]
        raise RuntimeError(f"tf2onnx exited with status {done.returncode}: {lines[-1]}")
    with open(partial, "rb") as file:
        keep(path, file.read(), signature)
    os.remove(partial)


def keep(path, content, signature):
    """Writes a file, and next to it what all files of its folder want to be fed."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    with open(os.path.join(os.path.dirname(path), "inputs.json"), "w") as file:
        json.dump({"inputs": signature.described()}, file, indent=2)
        file.write("\n")


def brief(text):
    """The lines of an error that say something, without MLIR's traces of where each op comes from."""
    noise = ("<unknown>", "note:", "error: failed while", "loc(")
    lines = [line.strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(noise))


CONVERTERS = {
    "tflite": tflite(lambda *_: None),
    "tflite-float16": tflite(float16),
    "tflite-int8": tflite(int8),
    "onnx": onnx,
}

if __name__ == "__main__":
    main()
