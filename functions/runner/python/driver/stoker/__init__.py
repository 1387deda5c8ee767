"""What a module may report to Stoker while it trains, and ask it.

None of it is needed: where Keras's fit and evaluate are used, Stoker hears by itself. Nothing here fails a training, but
for a report by which each of several workers trains the whole model alone; and outside Stoker reports are printed, so that a module that calls these functions runs anywhere.
"""
from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["checkpoint", "report", "stopping"]

# Where Stoker runs the module, stoker_runner sets these: they take a message, and a step, say whether to stop, and take a
# model with the data that it is evaluated on.
_on_report = None
_kept = None
_asked = None
_seen = None


def report(step: Any, metrics: Mapping[str, Any] | None = None, steps: Any = 0, phase: str = "training", *,
           model: Any = None, data: Any = None) -> None:
    """Reports the progress of a training loop of your own.

    step is how many steps were taken, steps of how many (0: nobody knows). metrics are numbers by name: Python's,
    NumPy's, or tensors of one element; what is no number, NaN or infinite is left out. In phase "evaluating" they are
    what the model is known by: those of the last evaluation stand in ModelTrained. Call it as often as you like, from
    any thread: of reports in quick succession the newest goes.

    model is the one that is trained, and data what it is evaluated on: a tf.data.Dataset of batches as model(...) takes
    them, alone or with labels behind them. When the training is over, the model's answers for these rows are compared
    with those of the files that the module leaves. Without data, the dataset is taken that the module has made of
    fn_args.data_accessor's for fn_args.eval_files.
    """
    if model is not None and _seen is not None:
        _seen(model, data)
    message = {"type": "progress", "phase": str(phase), "step": _whole(step), "steps": _whole(steps),
               "metrics": numbers(metrics)}
    if _on_report is not None:
        _on_report(message)
        return
    of = f" of {message['steps']}" if message["steps"] else ""
    metrics = "".join(f", {name} {value:.6g}" for name, value in message["metrics"].items())
    print(f"stoker: {phase}: step {message['step']}{of}{metrics}", file=sys.stderr)


def checkpoint(step: Any = 0) -> None:
    """Says that the files below fn_args.working_dir and fn_args.model_run_dir are whole now: another attempt may go on
    from them.

    Without it Stoker goes by the ends of epochs and trials, and keeps what is whole by its format or has rested for 2 s.
    step is that of the files; 0: the one reported last.
    """
    if _kept is not None:
        _kept(_whole(step))


def stopping() -> bool:
    """Says whether the process is to leave. A loop of your own then saves what it wants to go on from, and returns."""
    return _asked is not None and _asked()


def numbers(metrics: Mapping[str, Any] | None) -> dict[str, float]:
    """The metrics that are finite numbers, as floats."""
    found = ((str(name), _number(value)) for name, value in dict(metrics or {}).items())
    return {name: value for name, value in found if value is not None and math.isfinite(value)}


def _number(value):
    """value as a float, or None."""
    try:
        value = value.numpy() if hasattr(value, "numpy") else value
        return float(value.item() if hasattr(value, "item") else value)
    except Exception:  # whatever a value of the user's makes of it
        return None


def _whole(value):
    """value as an int that is not negative; 0 for what is none."""
    number = _number(value)
    return max(0, int(number)) if number is not None and math.isfinite(number) else 0
