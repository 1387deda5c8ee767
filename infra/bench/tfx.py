"""A TFX module that does next to nothing: it reports when its first line runs and the CPU time of run_fn."""
import json
import os
import time

import tensorflow_transform  # as every module of TFX's own, and tensorflow with it
from tfx import v1 as tfx


def run_fn(fn_args: tfx.components.FnArgs):
    first = time.time_ns()
    began = time.process_time()
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "saved_model.pb"), "wb") as file:
        file.write(b"\x08\x01")  # a SavedModel of schema version 1, and nothing in it
    with open(os.path.join(fn_args.model_run_dir, "report.json"), "w") as file:
        json.dump({"first": first, "cpu": time.process_time() - began, "parent": os.getppid()}, file)
