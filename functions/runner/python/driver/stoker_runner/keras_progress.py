"""How Keras's own fit and evaluate get on: the module need not help.

Whichever Keras a module imports, fit and evaluate of its models get a callback of ours behind the user's. Nothing in it
can fail a training, and between messages it costs a comparison per batch.
"""
import functools
import importlib
import inspect
import threading

from stoker_runner import checkpoints, leaving, progress, reference, said, strategies
from stoker_runner.arrivals import when_imported

EPOCHS = 0.05  # seconds between messages at the ends of epochs

# The classes whose fit and evaluate all models of a Keras have: Keras 3, and Keras 2 as tf_keras and as TensorFlow 2.15
# has it.
TRAINERS = {
    "keras.src.backend.tensorflow.trainer": "TensorFlowTrainer",
    "keras.src.engine.training": "Model",
    "tf_keras.src.engine.training": "Model",
}

_before = 0  # steps of the fits that are over
_here = threading.local()  # fitting: this thread is in a fit or an evaluate that reports already


def listen():
    """Hears of the fits of every Keras that is imported, now or later."""
    for name in TRAINERS:
        when_imported(name, _listen)


def _listen(module):
    trainer = getattr(module, TRAINERS[module.__name__], None)
    if trainer is None:
        said.note(f"{module.__name__} has no {TRAINERS[module.__name__]}: the progress of fit is not reported")
        return
    for name in ("fit", "evaluate"):
        setattr(trainer, name, _heard(getattr(trainer, name), module.__name__))


def _heard(method, of):
    """fit or evaluate of a module of Keras's with our callback behind the user's."""
    keras = of.partition(".")[0]
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        if getattr(_here, "fitting", False):
            return method(self, *args, **kwargs)
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:  # Keras says it better
            return method(self, *args, **kwargs)
        strategies.called(method.__name__, of)
        if method.__name__ == "fit":
            reference.fitting(self)
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
            if not progress.in_trial():
                reference.seen(self, bound.arguments.get("x" if method.__name__ == "evaluate" else "validation_data"))
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
    """A hook that fails no training: what goes wrong in it is reported once, and then it is still."""

    @functools.wraps(hook)
    def call(self, *args, **kwargs):
        if hook.__name__ in self.broken:
            return
        try:
            hook(self, *args, **kwargs)
        except Exception as error:
            self.broken.add(hook.__name__)
            what = f"{hook.__name__}: {type(error).__name__}: {error}"
            said.note(f"the progress of the training is not reported any more: {what}")

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

    def on_train_batch_end(self, batch, logs=None):
        self.batch_end(batch, logs)
        strategies.took("fit has taken a step")

    @_harmless
    def batch_end(self, batch, logs):
        self.batches = max(self.batches, batch + 1)
        if progress.due():
            progress.of_fit("training", self.step(), self.steps(), logs)

    @_harmless
    def epoch_end(self, epoch, logs):
        self.seen = self.batches  # how many there are in an epoch, where Keras did not know
        steps, last = self.steps(), epoch + 1 == self.params.get("epochs")
        known = {} if last and epoch == 0 else {"epoch": epoch + 1}
        if last or progress.due(EPOCHS):
            progress.of_fit("training", self.step(), steps, {**(logs or {}), **known})
        else:
            progress.of_fit("training", self.step(), steps, {}, now=False)
        if not progress.in_trial():
            checkpoints.reached(self.step())

    @_harmless
    def epoch_reported(self, epoch, logs):
        if progress.epoch_ended(epoch + 1, logs):
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        self.epoch_end(epoch, logs)
        self.epoch_reported(epoch, logs)
        leaving.check()

    @_harmless
    def on_train_end(self, logs=None):
        global _before
        _before = self.step() if not progress.in_trial() else 0

    def on_test_batch_begin(self, batch, logs=None):
        leaving.check()

    @_harmless
    def on_test_batch_end(self, batch, logs=None):
        self.tested = batch + 1
        if progress.due() and not progress.in_trial():
            steps = self.params.get("steps") if not self.batches else 0  # in a fit they are the training's
            progress.of_fit("evaluating", self.tested, steps or 0, {})

    @_harmless
    def on_test_end(self, logs=None):
        if logs and not progress.in_trial():
            progress.of_fit("evaluating", self.tested, self.tested, logs, now=False)

    def step(self):
        return _before + self.epoch * self.per_epoch() + self.batches

    def steps(self):
        return _before + (self.params.get("epochs") or 1) * self.per_epoch() if self.per_epoch() else 0

    def per_epoch(self):
        return self.params.get("steps") or self.seen
