"""The call train: run_fn(fn_args) leaves a model, or trainer_fn: see estimator.py."""
from stoker_runner import ending, fnargs, progress, reference, strategies


def run(module, assignment):
    """Trains, and returns the metrics that the model is known by."""
    fnargs.folders(assignment)
    run_fn = module.function("run_fn")
    if run_fn is None and module.function("trainer_fn") is not None:
        from stoker_runner import estimator

        return estimator.run(module, assignment)
    if run_fn is None:
        run_fn = module.required("run_fn", "run_fn(fn_args), or trainer_fn(fn_args, schema)")
    with strategies.scope(assignment):
        run_fn(fnargs.make(assignment))
    ending.settle([assignment[name] for name in ("serving_model_dir", "eval_model_dir") if assignment.get(name)])
    reference.write(assignment)
    return progress.metrics()
