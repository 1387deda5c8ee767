"""The progress of a training, whoever reports it: what is sent, how often, and what is remembered of it."""
import threading
import time

import stoker
from stoker_runner import checkpoints, leaving, reference, said, strategies

INTERVAL = 0.5  # seconds between messages, but for the ends of epochs

_lock = threading.Lock()
_last = 0.0  # when a message went
_held = None  # the newest that did not go yet
_step = 0  # of the training
_evaluated = {}  # metrics of the last evaluation
_trial = None  # phase, step, steps and metrics of a tuner's trial: what its fits are reported as
_epoch = None  # called with the epochs of a trial's fits


def begin(assignment):
    """Listens, and looks after what is to survive, for one job."""
    said.only_here()
    leaving.install()
    checkpoints.start([assignment.get("working_dir"), assignment.get("model_run_dir")], step, flush)
    stoker._on_report, stoker._kept, stoker._asked = reported, checkpoints.said_whole, leaving.stopping
    stoker._seen = reference.seen
    reference.begin(assignment)


def metrics():
    """What the model is known by: the metrics of the last evaluation, be it fit's own. Empty if there was none."""
    return dict(_evaluated)


def step():
    """How far the training is."""
    return _step


def trial(phase=None, number=0, of=0, known=None):
    """Has fits be reported as parts of a tuner's trial from now on; as a training of their own without a phase."""
    global _trial
    _trial = {"phase": phase, "step": number, "steps": of, "metrics": known or {}} if phase else None
    if _trial:
        send({"type": "progress", **_trial}, now=True)


def on_epoch(ended):
    """Has ended(epoch, logs) called at the end of each epoch of a fit, from 1; it says whether to end the fit there."""
    global _epoch
    _epoch = ended


def epoch_ended(epoch, logs):
    """Whether a fit is to end with this epoch."""
    return bool(_epoch and _epoch(epoch, logs))


def in_trial():
    """Whether fits are parts of a tuner's trial."""
    return _trial is not None


def reported(message):
    """Takes a report of the module's, which may show that several workers train alone."""
    strategies.reported(message["phase"], message["step"])
    send(message)


def send(message, now=False):
    """Sends a progress message, or holds it until flush where one went just before."""
    global _last, _held, _step
    with _lock:
        if message["phase"] != "evaluating":
            _step = message["step"]
        elif message["metrics"]:
            _evaluated.clear()
            _evaluated.update(message["metrics"])
        if not now and not due():
            _held = message
            return
        _held, _last = None, time.monotonic()
    said.send(message)


def flush(now=False):
    """Sends what is held, if it was held long enough, or at once."""
    held = _held
    if held is not None and (now or due()):
        send(held, now)


def due(interval=None):
    """Whether the last message went as long ago as the interval; INTERVAL by default."""
    return time.monotonic() - _last >= (INTERVAL if interval is None else interval)


def of_fit(phase, step, steps, logs, now=True):
    """Reports the progress of a fit or an evaluate: as a part of the trial where there is one, as a training else."""
    found = stoker.numbers(logs)
    if _trial and phase != "evaluating":
        send({"type": "progress", **_trial, "metrics": {**found, **_trial["metrics"]}}, now)
    elif not _trial:
        send({"type": "progress", "phase": phase, "step": step, "steps": steps, "metrics": found}, now)
