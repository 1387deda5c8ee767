"""One job, read top to bottom: become its process, load the module, call it, say the last word."""
import json
import os
import sys

from stoker_runner import (
    cluster, convert, entry, faults, import_threads, keras_progress, leaving, precedence, progress, reference,
    repeatable, said, sandbox, settings, sparing, train, tune,
)


def serve(lines):
    """Works on the one assignment behind a setup, and returns the status to leave with."""
    setup, assignment = json.loads(lines.readline()), json.loads(lines.readline())
    try:
        become(setup)
        trace(assignment.get("trace"))
        if cluster.wanted(assignment):
            return cluster.lead(setup, assignment)
        assignment = cluster.join(assignment)
        sparing.arrange(setup["autograph"])
        progress.begin(assignment)
        keras_progress.listen()
        repeatable.arrange(assignment)
        module = entry.load(setup, assignment["call"])
        metrics = CALLS[assignment["call"]](module, assignment)
        unwritten = convert.write(assignment)
        leaving.finish()
    except leaving.Leaving:
        leaving.go()
    except sandbox.OtherThreads as error:  # before anything of the module was run
        said.error("threads", str(error))
        return 1
    except BaseException as error:
        leaving.finish()
        if not left_with_a_model(error, assignment):
            faults.show(error)
            said.error(*faults.describe(error, setup, assignment))
            return 1
        reference.write(assignment)
        metrics, unwritten = progress.metrics(), convert.write(assignment)
    progress.flush(now=True)
    settings.report()
    said.done(metrics, unwritten, repeatable.device())
    return 0


# What is called for each call of an assignment: with the loaded module and the assignment; returns the model's metrics.
CALLS = {"train": train.run, "tune": tune.run}


def become(setup):
    """Makes this process that of one job, whenever it was started."""
    for stream in (sys.stdout, sys.stderr):  # a crash loses no line that was printed, and none is refused
        stream.reconfigure(line_buffering=True, write_through=False, errors="backslashreplace")
    sandbox.show_memory()
    sandbox.enter(setup["sandbox"])
    import_threads.allow()
    os.environ.update(setup["env"])
    os.chdir(setup["dir"])
    precedence.give_way(setup["path"])
    sys.path[:0] = setup["path"]
    sys.path.append(os.environ["STOKER_SHIM"])


def trace(place):
    """Leaves where in a trace the job is worked on, as OpenTelemetry's tools look for it."""
    if place:
        os.environ.update(TRACEPARENT=place["parent"], TRACESTATE=place.get("state", ""))


def left_with_a_model(error, assignment):
    """Whether a module only left as a script does, sys.exit(0), behind the model that it was asked for."""
    if not isinstance(error, SystemExit) or error.code not in (None, 0) or assignment["call"] != "train":
        return False
    folder = assignment["serving_model_dir"]
    return os.path.isdir(folder) and bool(os.listdir(folder))
