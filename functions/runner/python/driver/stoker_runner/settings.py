"""What a training of this process was given and how it ran, for people who look up what a model was trained with.

Every value is taken from where the training has it: the FnArgs that the module got, and what TensorFlow says of itself.
"""
import copy
import sys

from stoker_runner import repeatable, said, strategies

NAMES = ("train_steps", "eval_steps", "custom_config")

_given = None


def keep(args):
    """Notes what the module is about to get. It may change it afterwards."""
    global _given
    _given = {name: copy.deepcopy(getattr(args, name, None)) for name in NAMES}
    values = (getattr(args, "hyperparameters", None) or {}).get("values")
    _given["hyperparameters"] = copy.deepcopy(values)


def report():
    """Reports them; nothing where the module got no FnArgs."""
    if _given is None:
        return
    effective = {name: value for name, value in _given.items() if value is not None}
    effective["seed"] = repeatable.seed
    effective["deterministic"] = _deterministic()
    effective.update(strategies.used)
    said.settings(effective)


def _deterministic():
    """Whether TensorFlow's ops are, by its own word."""
    config = sys.modules.get("tensorflow.python.framework.config")
    enabled = getattr(config, "is_op_determinism_enabled", None)  # a TensorFlow that lacks it can't be asked
    return bool(enabled and enabled())
