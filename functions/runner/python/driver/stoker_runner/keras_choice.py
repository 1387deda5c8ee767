"""Keras 2 or 3: what a module's source says that it needs, and what an error says.

Run as a program it reads the source, without importing anything: `python keras_choice.py FOLDER FILE...` prints a JSON
object, Keras to the reason for it. FILEs are what is called, below FOLDER; what they import from there is read too.
"""
import ast
import json
import os
import sys

# What only one of them says, in errors.
NEEDS_2 = (
    "The `save_format` argument is deprecated in Keras 3",
    "`keras.optimizers.legacy` is not supported in Keras 3",
    "Invalid filepath extension for saving. Please add either a `.keras` extension",  # model.save(serving_model_dir)
    "Keras 3 only supports V3 `.keras` files",  # load_model of a SavedModel
)
NEEDS_3 = (
    "to return a valid Keras Model instance. Received: <tf_keras.",  # KerasTuner's search
)

MOST_BYTES = 1 << 20  # of a source file that is read
MOST_FILES = 200
MOST_WORDS = 100  # characters of a sign


def needed(texts):
    """The Keras that an error asks for, by its words or those of what caused it; "" if they say nothing of it."""
    for text in texts:
        if any(words in text for words in NEEDS_2):
            return "2"
        if any(words in text for words in NEEDS_3):
            return "3"
    return ""


def signs(folder, files):
    """Keras to the first sign in the source that it is needed."""
    found = {}
    for path, nodes in _reached(folder, files):
        for node in nodes:
            for keras, sign in _sign(node):
                found.setdefault(keras, f"{sign[:MOST_WORDS]} ({os.path.relpath(path, folder)}:{node.lineno})")
    return found


def _sign(node):
    """What a node of the source says of Keras."""
    if isinstance(node, ast.Call) and any(k.arg == "save_format" for k in node.keywords) and "save" in _last(node.func):
        yield "2", f"{_last(node.func)}(save_format=...)"
    for name in _imports(node):
        top = name.partition(".")[0]
        if top in ("keras_tuner", "kerastuner"):
            yield "3", f"it imports {top}"
        if top == "tf_keras":
            yield "2", "it imports tf_keras"


def _last(function):
    """The last part of a called name."""
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _imports(node):
    """The dotted names that a node imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        head = f"{node.module}." if node.module else ""
        return [head + alias.name for alias in node.names]
    return []


def _reached(folder, files):
    """The files and what they import below folder, by the parts of their names, each with its source's nodes."""
    known = _sources(folder)
    queue, seen = [os.path.join(folder, file) for file in files], set()
    while queue and len(seen) < MOST_FILES:
        path = queue.pop(0)
        if path in seen:
            continue
        seen.add(path)
        nodes = _nodes(path)
        yield path, nodes
        for name in (name for node in nodes for name in _imports(node)):
            for part in name.split("."):
                queue += known.get(part, [])


def _sources(folder):
    """The source files below a folder by their names as imports have them."""
    known = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            stem, suffix = os.path.splitext(name)
            if suffix == ".py":
                key = os.path.basename(parent) if stem == "__init__" else stem
                known.setdefault(key, []).append(os.path.join(parent, name))
    return known


def _nodes(path):
    """A file's syntax tree, node by node; none where there is none to be had: its import will say why."""
    try:
        with open(path, "rb") as file:
            return list(ast.walk(ast.parse(file.read(MOST_BYTES))))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []


if __name__ == "__main__":
    print(json.dumps(signs(sys.argv[1], sys.argv[2:])))
