"""How an Estimator's training gets on: a hook in its sessions reports steps and loss, a listener what is saved."""
import time

import stoker
import tensorflow as tf
from stoker_runner import leaving

INTERVAL = 0.5  # seconds between looks at the loss


def heard(train_spec):
    """The train_spec with the hook and the listener behind the user's own."""
    return train_spec._replace(hooks=(*train_spec.hooks, _Steps(train_spec.max_steps)),
                               saving_listeners=(*train_spec.saving_listeners, _Saved()))


class _Steps(tf.compat.v1.train.SessionRunHook):
    """Reports step and loss; fetches them every now and then alone."""

    def __init__(self, max_steps):
        self.max_steps, self.last, self.fetched = max_steps or 0, 0.0, {}

    def begin(self):
        losses = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)
        self.fetched = {"step": tf.compat.v1.train.get_global_step()}
        if losses:
            self.fetched["loss"] = losses[-1]  # the Estimator puts the total there last

    def before_run(self, run_context):
        if time.monotonic() - self.last >= INTERVAL:
            return tf.compat.v1.train.SessionRunArgs(self.fetched)
        return None

    def after_run(self, run_context, run_values):
        if stoker.stopping():
            run_context.request_stop()  # a checkpoint is saved at the end of the session
        if run_values.results:
            self.last = time.monotonic()
            self._report(run_values.results)

    def end(self, session):
        self._report({"step": session.run(self.fetched["step"])})

    def _report(self, found):
        stoker.report(found["step"], {"loss": found["loss"]} if "loss" in found else {}, self.max_steps)


class _Saved(tf.compat.v1.train.CheckpointSaverListener):
    """Has each checkpoint kept. Who was asked to leave leaves behind it: before the evaluation, which listens too."""

    def after_save(self, session, global_step_value):
        stoker.checkpoint(global_step_value)
        leaving.check()
