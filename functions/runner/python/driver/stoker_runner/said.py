"""What the driver says: one JSON message a line on the progress stream, as functions/module documents them, and lines
in the log."""
import json
import os
import sys
import threading

MAX_BYTES = 64 << 10  # of a line, its newline included

_descriptor = None
_lock = threading.Lock()


def to(descriptor):
    """Makes descriptor the one that messages go to. No process that the module starts has it."""
    global _descriptor
    os.set_inheritable(descriptor, False)
    _descriptor = descriptor


def only_here():
    """Has children that the module forks say nothing: they are not the job."""
    os.register_at_fork(after_in_child=hush)


def hush():
    global _descriptor
    _descriptor = None


def send(message, before=b""):
    """Sends one message, from any thread. A worker that has gone hears nothing: that is not the module's fault."""
    if _descriptor is None:
        return
    line = before + _line(message)
    if len(line) > MAX_BYTES:
        line = _line({key: value for key, value in message.items() if key != "metrics"})
    try:
        with _lock:
            while line:
                line = line[os.write(_descriptor, line):]
    except OSError:
        pass


def _line(message):
    return json.dumps(message).encode() + b"\n"


def done(metrics, unwritten=None, device=""):
    """The last word of a job that has come to its end; unwritten are formats that it lacks, with the reason of each, and
    device is what it was trained on."""
    details = {"unwritten": unwritten, "device": device}
    _last({"type": "done", "metrics": metrics, **{key: value for key, value in details.items() if value}})


def settings(values):
    """What the training uses. What makes the message too long is left out, and named."""
    values = dict(values)
    for name in (None, "custom_config", "hyperparameters"):
        if name in values:
            del values[name]
            values.setdefault("left_out", []).append(name)
        message = {"type": "settings", "settings": values}
        if len(_line(message)) <= MAX_BYTES:
            send(message)
            return


def error(kind, message):
    _last({"type": "error", "error": {"kind": kind, "message": message}})


def _last(message):
    """The last word goes on a line of its own, whatever else the module has written on the stream. Nothing follows."""
    send(message, before=b"\n")
    hush()


def note(text):
    """A line of Stoker's own in the job's log."""
    print(f"stoker: {text}", file=sys.stderr, flush=True)
