"""What a module may tell Stoker while it trains. Outside Stoker the functions print, so that a module runs anywhere."""
import json
import os
import sys

_progress = None  # the progress stream; stoker_guest sets it


def _send(message):
    line = json.dumps(message)
    if _progress is None:
        print(line, file=sys.stderr)
        return
    _progress.write(line + "\n")
    _progress.flush()


def report(step, metrics=None, steps=0, phase="training"):
    """Tells how the training gets on: its step, of how many, and metrics by name (floats)."""
    _send({"type": "progress", "phase": phase, "step": int(step), "steps": int(steps),
           "metrics": {str(k): float(v) for k, v in (metrics or {}).items()}})


def checkpoint(step=0):
    """Says that the files below fn_args.working_dir and fn_args.model_run_dir are whole: another attempt may go on from them."""
    _send({"type": "checkpoint", "step": int(step)})
