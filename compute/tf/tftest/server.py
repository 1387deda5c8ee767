"""Answers requests, one JSON line each: runs a script's check(input) in a forked child and returns what it returned.

TensorFlow is imported once, here. A child of its own keeps tests apart: global state, tables and crashes stay in it. The
fork is safe only while this process hasn't run an op (threads of the eager context don't survive it), so it never does.
"""
import base64
import json
import math
import os
import resource
import signal
import sys
import tempfile
import traceback

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever prints to stdout writes to the log instead

import numpy as np
import tensorflow as tf

# A child that hangs doesn't outlive its test. Time on the clock says little on a machine with other work: what a script may use is
# above all processor time.
CHECK_CPU_SECONDS, CHECK_SECONDS = 600, 1500


def plain(value):
    """Tensors, arrays and bytes as JSON values: bytes as base64, NaN and infinities as text."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def work(request, log, answer, folder):
    tempfile.tempdir = os.environ["TMPDIR"] = folder  # os._exit skips what would remove AutoGraph's and Beam's files
    resource.setrlimit(resource.RLIMIT_CPU, (CHECK_CPU_SECONDS, CHECK_CPU_SECONDS))
    signal.alarm(CHECK_SECONDS)
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    scope = {"tf": tf, "np": np, "b64": base64.b64decode, "__name__": "check"}
    try:
        exec(compile(request["script"], "script", "exec"), scope)
        result = {"output": plain(scope["check"](request["input"]))}
    except BaseException:
        result = {"error": traceback.format_exc()}
    json.dump(result, answer)
    answer.flush()
    os._exit(0)


def serve(request):
    with (
        tempfile.TemporaryFile("w+b") as log,
        tempfile.TemporaryFile("w+") as answer,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
    ):
        pid = os.fork()
        if pid == 0:
            work(request, log, answer, folder)
        _, status = os.waitpid(pid, 0)
        answer.seek(0)
        if status == 0:
            result = json.load(answer)
        else:
            result = {"error": f"Python ended by signal {status & 127}, exit code {status >> 8}"}
        log.seek(0)
        result["log"] = log.read().decode(errors="replace")
        return result


for line in sys.stdin:
    answers.write(json.dumps(serve(json.loads(line))) + "\n")
    answers.flush()
