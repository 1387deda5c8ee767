"""How a training gets on, from Keras's own fit and evaluate: the module need not help.

Whichever Keras a module imports, fit and evaluate of its models get a callback of ours behind the user's. Nothing in it
can fail a training, and between messages it costs a comparison per batch.
"""
import functools
import importlib
import inspect
import sys
import threading
import time
from importlib.machinery import PathFinder

import stoker
from stoker_guest import checkpoints, leaving, said

INTERVAL = 0.5  # seconds between messages, but for the ends of epochs
EPOCHS = 0.05  # seconds between those

# The classes whose fit and evaluate all models of a Keras have: Keras 3, and Keras 2 as tf_keras and as TensorFlow 2.15
# has it.
TRAINERS = {
    "keras.src.backend.tensorflow.trainer": "TensorFlowTrainer",
    "keras.src.engine.training": "Model",
    "tf_keras.src.engine.training": "Model",
}

_lock = threading.Lock()
_last = 0.0  # when a message went
_held = None  # the newest that did not go yet
_step = 0  # of the training
_before = 0  # steps of the fits that are over
_evaluated = {}  # metrics of the last evaluation
_trial = None  # phase, step, steps and metrics of a tuner's trial: what its fits are told as
_here = threading.local()  # fitting: this thread is in a fit or an evaluate that tells already


def begin(assignment):
    """Listens, and looks after what is to survive, for one job."""
    said.only_here()
    leaving.install()
    checkpoints.start([assignment.get("working_dir"), assignment.get("model_run_dir")], step, flush)
    stoker._told, stoker._kept, stoker._asked = tell, checkpoints.said_whole, leaving.stopping
    sys.meta_path.insert(0, _Imports)
    for name in TRAINERS:
        if name in sys.modules:
            _listen(sys.modules[name])


def metrics():
    """What the model is known by: the metrics of the last evaluation, be it fit's own. Empty if there was none."""
    return dict(_evaluated)


def step():
    """How far the training is."""
    return _step


def trial(phase=None, number=0, of=0, known=None):
    """Has fits be told as parts of a tuner's trial from now on; as a training of their own without a phase."""
    global _trial
    _trial = phase and {"phase": phase, "step": number, "steps": of, "metrics": known or {}}
    if _trial:
        tell({"type": "progress", **_trial}, now=True)


def tell(message, now=False):
    """Sends a progress message, or holds it until flush where one went just before."""
    global _last, _held, _step
    with _lock:
        if message["phase"] != "evaluating":
            _step = message["step"]
        elif message["metrics"]:
            _evaluated.clear()
            _evaluated.update(message["metrics"])
        if not now and time.monotonic() - _last < INTERVAL:
            _held = message
            return
        _held, _last = None, time.monotonic()
    said.send(message)


def flush(now=False):
    """Sends what is held, if it was held long enough, or at once."""
    held = _held
    if held is not None and (now or _due(INTERVAL)):
        tell(held, now)


def _due(interval):
    return time.monotonic() - _last >= interval


def _say(phase, step, steps, logs, now=True):
    found = stoker.numbers(logs)
    if _trial and phase != "evaluating":
        tell({"type": "progress", **_trial, "metrics": {**found, **_trial["metrics"]}}, now)
    elif not _trial:
        tell({"type": "progress", "phase": phase, "step": step, "steps": steps, "metrics": found}, now)


class _Imports:
    """Finds the modules with the classes to listen to as Python does, and listens once they are loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path) if name in TRAINERS else None
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                _listen(module)

            spec.loader.exec_module = exec_module
        return spec


def _listen(module):
    trainer = getattr(module, TRAINERS[module.__name__], None)
    if trainer is None:
        said.note(f"{module.__name__} has no {TRAINERS[module.__name__]}: how fit gets on is not told")
        return
    for name in ("fit", "evaluate"):
        setattr(trainer, name, _heard(getattr(trainer, name), module.__name__.partition(".")[0]))


def _heard(method, keras):
    """fit or evaluate with our callback behind the user's."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        if getattr(_here, "fitting", False):
            return method(self, *args, **kwargs)
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:  # Keras says it better
            return method(self, *args, **kwargs)
        callbacks, ours = bound.arguments.get("callbacks"), _callback(keras)()
        _here.fitting = True
        try:
            if hasattr(callbacks, "append") and hasattr(callbacks, "set_model"):  # a CallbackList: it has its model
                ours.set_model(self)
                ours.set_params(callbacks.params)
                callbacks.append(ours)
            else:
                bound.arguments["callbacks"] = [*_each(callbacks), ours]
            return method(*bound.args, **bound.kwargs)
        finally:
            _here.fitting = False
            if hasattr(callbacks, "callbacks") and ours in callbacks.callbacks:
                callbacks.callbacks.remove(ours)

    return call


def _each(callbacks):
    if not callbacks:
        return []
    return callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]


@functools.cache
def _callback(keras):
    """The class of our callback, for a Keras."""
    return type("StokerProgress", (_Hooks, importlib.import_module(f"{keras}.src.callbacks").Callback), {})


def _harmless(hook):
    """A hook that fails no training: what goes wrong in it is told once, and then it is still."""

    @functools.wraps(hook)
    def call(self, *args, **kwargs):
        if hook.__name__ in self.broken:
            return
        try:
            hook(self, *args, **kwargs)
        except Exception as error:
            self.broken.add(hook.__name__)
            what = f"{hook.__name__}: {type(error).__name__}: {error}"
            said.note(f"how the training gets on is not told any more: {what}")

    return call


class _Hooks:
    """What Keras calls. Batches and epochs count from zero there."""

    async_safe = True  # Keras 3 need not wait for on_train_batch_end
    _supports_tf_logs = True  # Keras 2 need not make numbers of what nobody looks at

    def __init__(self):
        super().__init__()
        self.epoch = self.batches = self.tested = self.seen = 0
        self.broken = set()

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch, self.batches = epoch, 0

    def on_train_batch_begin(self, batch, logs=None):
        leaving.check()

    @_harmless
    def on_train_batch_end(self, batch, logs=None):
        self.batches = max(self.batches, batch + 1)
        if _due(INTERVAL):
            _say("training", self.step(), self.steps(), logs)

    @_harmless
    def epoch_end(self, epoch, logs):
        self.seen = self.batches  # how many there are in an epoch, where Keras did not know
        steps, last = self.steps(), epoch + 1 == self.params.get("epochs")
        known = {} if last and epoch == 0 else {"epoch": epoch + 1}
        if last or _due(EPOCHS):
            _say("training", self.step(), steps, {**(logs or {}), **known})
        else:
            _say("training", self.step(), steps, {}, now=False)
        if not _trial:
            checkpoints.reached(self.step())

    def on_epoch_end(self, epoch, logs=None):
        self.epoch_end(epoch, logs)
        leaving.check()

    @_harmless
    def on_train_end(self, logs=None):
        global _before
        _before = self.step() if not _trial else 0

    def on_test_batch_begin(self, batch, logs=None):
        leaving.check()

    @_harmless
    def on_test_batch_end(self, batch, logs=None):
        self.tested = batch + 1
        if _due(INTERVAL) and not _trial:
            steps = self.params.get("steps") if not self.batches else 0  # in a fit they are the training's
            _say("evaluating", self.tested, steps or 0, {})

    @_harmless
    def on_test_end(self, logs=None):
        if logs and not _trial:
            _say("evaluating", self.tested, self.tested, logs, now=False)

    def step(self):
        return _before + self.epoch * self.per_epoch() + self.batches

    def steps(self):
        return _before + (self.params.get("epochs") or 1) * self.per_epoch() if self.per_epoch() else 0

    def per_epoch(self):
        return self.params.get("steps") or self.seen
