"""Formats in addition to the SavedModel that a module left, made of it when training is over.

Converters run in a process of their own: TensorFlow's has been seen to abort on models that it does not like. What
can't be written is no error here. It is reported with the reason, and the worker knows whether the job can do without.
"""
import json
import os
import subprocess
import sys
import tempfile

from stoker_runner import leaving, said

PLACES = {  # as compute/export names them
    "tflite": ("Format-TFLite", "model.tflite"),
    "tflite-float16": ("Format-TFLite", "model-float16.tflite"),
    "tflite-int8": ("Format-TFLite", "model-int8.tflite"),
    "onnx": ("Format-ONNX", "model.onnx"),
}

MOST = 800  # characters of a reason


def write(assignment):
    """Writes the formats that are asked for and that the module has not written itself; returns why not, by format."""
    model = assignment.get("serving_model_dir") or ""
    if assignment["call"] != "train" or not os.path.exists(os.path.join(model, "saved_model.pb")):
        return {}  # the check of what the module left says what it is
    places = {name: _place(assignment, name) for name in assignment.get("exports") or []}
    todo = {name: path for name, path in places.items() if not os.path.exists(path)}
    unwritten = {}
    while todo:
        results, how = _convert(assignment, todo)
        if leaving.stopping():
            leaving.go()
        for name, reason in results.items():
            del todo[name]
            if reason:
                unwritten[name] = reason[:MOST]
        if todo:  # the process died of the next one; those behind it are for another process
            name = next(iter(todo))
            unwritten[name] = f"the converter {how}"
            _remove(todo.pop(name))
    for name, reason in unwritten.items():
        said.note(f"no {name}: {reason}")
    return unwritten


def _place(assignment, name):
    folder, file = PLACES[name]
    return os.path.join(os.path.dirname(assignment["serving_model_dir"]), folder, file)


def _convert(assignment, todo):
    """What a process reports of some formats, one after the other, until it is through or dies; and how it left."""
    said.note(f"writing {', '.join(todo)} from the SavedModel")
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results")
        request = json.dumps({"assignment": assignment, "todo": todo, "results": results})
        env = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
        env.pop("TF_CONFIG", None)
        command = [sys.executable, "-m", "stoker_runner.converters"]
        status = subprocess.run(command, input=request.encode(), env=env).returncode
        sys.stdout.flush()
        return _read(results), f"ended by signal {-status}" if status < 0 else f"exited with status {status}"


def _read(path):
    """The lines that the process wrote: [format, reason], with an empty reason for one that is there."""
    try:
        with open(path) as lines:
            return dict(json.loads(line) for line in lines)
    except FileNotFoundError:
        return {}


def _remove(path):
    if os.path.exists(path):
        os.remove(path)
