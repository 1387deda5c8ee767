"""A TensorFlow without Estimators: 2.16 and later have none, and 2.15 is the last that has."""
import re

NEEDED = (
    "TensorFlow has had no Estimators since 2.16: create an environment that has them with "
    "`stoker python setup --estimator` and name it in module.python, or give the module a run_fn"
)

_MISSED = re.compile(r"(attribute|import name|module named) '(tensorflow\.|tensorflow_)?estimator\b")


def hint(text):
    """What to do about an error with this text, if it is that Estimators are missed; else ""."""
    return NEEDED if _MISSED.search(text) else ""
