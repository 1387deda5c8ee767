"""The progress stream: one JSON message a line, as functions/module documents them."""
import os

import stoker


def to(descriptor):
    os.set_inheritable(descriptor, False)
    stoker._progress = os.fdopen(descriptor, "w")


def done(metrics):
    stoker._send({"type": "done", "metrics": metrics})


def error(kind, message):
    stoker._send({"type": "error", "error": {"kind": kind, "message": message}})
