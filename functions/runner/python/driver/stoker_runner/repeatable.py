"""Makes a training repeatable, as far as the pipeline asks for it: the same seed for all that draws at random, and ops that
give the same result each time.

Seeds are set before the module is loaded, so that one that the module sets itself counts.
"""
import random
import sys

from stoker_runner import said
from stoker_runner.arrivals import when_imported

MOST = 2**32  # NumPy's seeds are below

WITHOUT = ("seeded, without trainer.deterministic: another training of the same may differ in the last digits of sums that "
           "threads or a GPU add up in any order, and in the order of data that are read in parallel, and so in all weights")

seed = 0  # that everything was seeded with


def arrange(assignment):
    """Seeds Python, NumPy, TensorFlow and Keras with the assignment's seed, those that are not imported yet as soon as they
    are; and has TensorFlow's ops be deterministic where that is asked for."""
    global seed
    seed = assignment.get("seed", 0) % MOST
    random.seed(seed)
    when_imported("numpy", lambda numpy: numpy.random.seed(seed))
    when_imported("tensorflow.python.framework.random_seed", lambda module: module.set_seed(seed))
    when_imported("keras.src.utils.rng_utils", lambda module: _keras(module, seed))
    if assignment.get("deterministic"):
        when_imported("tensorflow.python.framework.config", lambda module: module.enable_op_determinism())
    elif seed and assignment["call"] == "train":  # somebody wants it to be repeatable
        said.note(WITHOUT)


def _keras(module, seed):
    """Has Keras 3 know of the seed, for what it draws in tf.data; the rest it draws from Python's random numbers."""
    try:
        module.global_state.set_global_attribute(module.GLOBAL_RANDOM_SEED, seed)
    except AttributeError:  # one that knows of none
        pass


def device():
    """What TensorFlow trained on, "gpu" or "cpu"; "" where it has computed nothing."""
    context = sys.modules.get("tensorflow.python.eager.context")
    try:
        if not context.context()._initialized:
            return ""
        return "gpu" if sys.modules["tensorflow"].config.get_visible_devices("GPU") else "cpu"
    except Exception:  # no TensorFlow, or an odd one
        return ""
