"""The older way of TFX: trainer_fn(fn_args, schema) describes an Estimator, which is trained, and exported.

What trainer_fn returns says which way it is: a description with an Estimator, or anything else of one that trains and
saves by itself, as run_fn does. Its parameters may be (fn_args) or (fn_args, schema) either way.

Training runs below model_run_dir, where its checkpoints survive a lost worker. What it exports there, for serving and
for evaluation, is copied to the folders of the model, flat, as TFX 1.15 did.
"""
import inspect
import json
import os
import shutil

import stoker
from stoker_runner import cluster, ending, fnargs, no_estimators, progress, reference, strategies

KEYS = {"estimator", "train_spec", "eval_spec", "eval_input_receiver_fn"}


def run(module, assignment):
    """Trains by the module's trainer_fn, and returns the metrics of the last evaluation."""
    fn_args = fnargs.make(assignment)
    serving, evaluation = fn_args.serving_model_dir, fn_args.eval_model_dir
    fn_args.serving_model_dir = os.path.join(fn_args.model_run_dir, os.path.basename(serving))
    if evaluation:
        fn_args.eval_model_dir = os.path.join(fn_args.model_run_dir, os.path.basename(evaluation))
    trainer_fn = module.required("trainer_fn", "trainer_fn(fn_args, schema)")
    with strategies.scope(assignment):
        returned = _called(trainer_fn, fn_args)
        if _describes(returned):
            strategies.no_estimator()
            return _estimate(returned, fn_args, serving, evaluation)
    return _own(returned, {fn_args.serving_model_dir: serving, **({fn_args.eval_model_dir: evaluation} if evaluation else {})},
                assignment)


def _estimate(returned, fn_args, serving, evaluation):
    """Trains the Estimator that trainer_fn returned, and exports it."""
    import tensorflow as tf

    if getattr(tf, "estimator", None) is None:
        raise ImportError(f"trainer_fn needs Estimators: {no_estimators.NEEDED}")
    spec = _checked(returned)
    metrics = _train(tf, spec)
    if _chief():
        _export(spec, fn_args)
        shutil.copytree(newest(os.path.join(fn_args.model_run_dir, os.path.basename(serving))), serving)
        shutil.copytree(newest(os.path.join(fn_args.model_run_dir, os.path.basename(evaluation))), evaluation)
    return metrics


def _called(trainer_fn, fn_args):
    """What trainer_fn returns, called with the schema if it takes one."""
    try:
        parameters = inspect.signature(trainer_fn).parameters.values()
    except (TypeError, ValueError):  # of a callable that Python can't look into
        return trainer_fn(fn_args, _schema(fn_args))
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    several = len(places) > 1 or any(p.kind == p.VAR_POSITIONAL for p in parameters)
    if several and (places[1:2] and places[1].default is not inspect.Parameter.empty) and not fn_args.schema_path:
        return trainer_fn(fn_args)
    return trainer_fn(fn_args, _schema(fn_args)) if several else trainer_fn(fn_args)


def _describes(returned):
    """Whether trainer_fn returned the description of an Estimator, as a dict or as an object with its fields."""
    if isinstance(returned, dict):
        return "estimator" in returned
    return getattr(returned, "estimator", None) is not None


def _own(returned, places, assignment):
    """Takes the model of a trainer_fn that has trained and saved by itself to where it is to be."""
    ending.settle(list(places))
    serving = next(iter(places))
    if not os.path.isdir(serving) or not os.listdir(serving):
        got = f"a dict of {sorted(map(str, returned))}" if isinstance(returned, dict) else f"a {type(returned).__name__}"
        raise ValueError(f"trainer_fn must return a dict of {sorted(KEYS)}, or save a model in fn_args.serving_model_dir: "
                         f"it returned {got} and wrote no model")
    for left, wanted in places.items():
        if os.path.isdir(left) and not os.path.exists(wanted):
            shutil.move(left, wanted)
    reference.write(assignment)
    return progress.metrics()


def _schema(fn_args):
    """The parsed schema, which trainer_fn takes."""
    from tensorflow_metadata.proto.v0 import schema_pb2
    from tfx.utils import io_utils

    if not fn_args.schema_path:
        raise ValueError("trainer_fn has a schema parameter, but neither the examples nor the transform graph have a schema")
    return io_utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())


def _checked(spec):
    """What trainer_fn returned, if it is what TFX asks for."""
    if all(hasattr(spec, key) for key in KEYS):
        spec = {key: getattr(spec, key) for key in KEYS}
    if not isinstance(spec, dict) or set(spec) != KEYS:
        got = f"a dict of {sorted(map(str, spec))}" if isinstance(spec, dict) else f"a {type(spec).__name__}"
        raise ValueError(f"trainer_fn must return a dict of {sorted(KEYS)}, but it returned {got}")
    return spec


def _train(tf, spec):
    """Trains and evaluates, and returns the last evaluation's metrics."""
    from stoker_runner import estimator_progress

    estimator, train_spec, eval_spec = spec["estimator"], spec["train_spec"], spec["eval_spec"]
    train_spec = estimator_progress.heard(train_spec)
    result = tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    metrics = result[0] if result else None  # nothing comes back in a cluster
    if metrics is None and _chief() and estimator.latest_checkpoint():
        # An earlier attempt had trained to the end, and was lost before it had exported.
        metrics = _finish(estimator, eval_spec)
    if not metrics:
        return {}
    stoker.report(metrics.get("global_step", 0), _named(metrics), phase="evaluating")
    return stoker.numbers(_named(metrics))


def _named(metrics):
    return {name: value for name, value in metrics.items() if name != "global_step"}


def _finish(estimator, eval_spec):
    """Evaluates and exports what is trained already, as train_and_evaluate does at the end of a training."""
    metrics = estimator.evaluate(eval_spec.input_fn, eval_spec.steps, eval_spec.hooks, name=eval_spec.name)
    for exporter in eval_spec.exporters:
        exporter.export(
            estimator,
            os.path.join(estimator.model_dir, "export", exporter.name),
            estimator.latest_checkpoint(),
            metrics,
            is_the_final_export=True,
        )
    return metrics


def _export(spec, fn_args):
    """Exports the evaluation model."""
    from tensorflow_model_analysis import export

    export.export_eval_savedmodel(estimator=spec["estimator"], export_dir_base=fn_args.eval_model_dir,
                                  eval_input_receiver_fn=spec["eval_input_receiver_fn"])


def _chief():
    """Whether this process is the one of its cluster that exports; without a cluster it is. A cluster that has neither a chief
    nor a master is led by worker 0, as TensorFlow's strategies have it."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    if not config.get("cluster"):
        return True
    task = config["task"]
    return task["type"] == "master" and task["index"] == 0 or "master" not in config["cluster"] and cluster.is_chief(config)


def newest(folder):
    """The newest export in a folder: export/<exporter>/<seconds> or <seconds>; the folder itself if it is a model."""
    if os.path.exists(os.path.join(folder, "saved_model.pb")):
        return folder
    exporters = os.path.join(folder, "export")
    homes = _folders(exporters) if os.path.isdir(exporters) else [folder]
    found = [path for home in homes for path in _folders(home) if os.path.basename(path).isdigit()]
    if not found:
        raise RuntimeError(
            f"trainer_fn exported nothing below {folder}: eval_spec needs an exporter (tf.estimator.FinalExporter), "
            "and the estimator's model_dir must be fn_args.serving_model_dir"
        )
    return max(found, key=lambda path: (int(os.path.basename(path)), path))


def _folders(home):
    return [entry.path for entry in os.scandir(home) if entry.is_dir()] if os.path.isdir(home) else []
