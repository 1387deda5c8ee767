"""Runs one TFX module on one assignment. See the Go package python for the protocol."""
import importlib.util
import json
import os
import sys
import traceback

import stoker


def main():
    stoker._progress = os.fdopen(int(os.environ["STOKER_PROGRESS_FD"]), "w")
    setup, assignment = json.loads(sys.stdin.readline()), json.loads(sys.stdin.readline())
    os.environ.update(setup["env"])
    os.chdir(setup["dir"])
    sys.path[:0] = setup["path"]
    sys.path.append(os.environ["STOKER_SHIM"])
    try:
        work(setup, assignment)
    except BaseException as error:
        traceback.print_exc()
        stoker._send({"type": "error", "error": {"kind": "module", "message": f"{type(error).__name__}: {error}"}})
        sys.exit(1)
    stoker._send({"type": "done", "metrics": {}})


def work(setup, assignment):
    name = os.path.splitext(os.path.basename(setup["file"]))[0]
    spec = importlib.util.spec_from_file_location(name, setup["file"])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    from tfx.components.trainer.fn_args_utils import FnArgs
    fields = {k: assignment.get(k) for k in (
        "train_files", "eval_files", "train_steps", "eval_steps", "serving_model_dir", "model_run_dir", "hyperparameters", "custom_config")}
    module.run_fn(FnArgs(**fields))


main()
