"""What the driver says: one JSON message a line on the progress stream, as functions/module documents them, and lines in the log."""
import os
import sys

import stoker


def to(descriptor):
    """Takes the descriptor of the progress stream, which is no child's of this process."""
    os.set_inheritable(descriptor, False)
    stoker._progress = os.fdopen(descriptor, "w")


def done(metrics):
    stoker._send({"type": "done", "metrics": metrics})


def error(kind, message):
    stoker._send({"type": "error", "error": {"kind": kind, "message": message}})


def note(text):
    """A line of Stoker's own in the job's log."""
    print(f"stoker: {text}", file=sys.stderr, flush=True)


def by_lines():
    """Has each line of the log leave as it is written, whatever characters it holds: a crash loses no line that was printed."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, write_through=False, errors="backslashreplace")
