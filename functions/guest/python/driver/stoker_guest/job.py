"""One job, read top to bottom: become its process, load the module, call it, say the last word."""
import json
import os
import sys
import traceback

from stoker_guest import entry, faults, said, train


def serve(lines):
    """Works on the one assignment behind a setup, and returns the status to leave with."""
    setup, assignment = json.loads(lines.readline()), json.loads(lines.readline())
    try:
        become(setup)
        metrics = CALLS[assignment["call"]](entry.load(setup), assignment)
    except BaseException as error:
        traceback.print_exc()
        said.error(*faults.told(error))
        return 1
    said.done(metrics)
    return 0


# What is called for each call of an assignment: with the loaded module and the assignment; returns the model's metrics.
CALLS = {"train": train.run}


def become(setup):
    """Makes this process that of one job, whenever it was started."""
    os.environ.update(setup["env"])
    os.chdir(setup["dir"])
    sys.path[:0] = setup["path"]
    sys.path.append(os.environ["STOKER_SHIM"])
