"""The call train: run_fn(fn_args) leaves a model."""
from stoker_guest import fnargs


def run(module, assignment):
    module.function("run_fn")(fnargs.make(assignment))
    return {}
