"""Evaluation models: a SavedModel with tag eval whose signature shows features and labels with the predictions.

The signature's inputs have the names by which Model Analysis up to 0.46 finds them: inputs/examples, features/<key>,
labels or labels/<key>, input_refs, tfma/version.
"""
import stoker_lacking

VERSION = "0.46.0"  # whose form it is


def EvalInputReceiver(*, features, labels, receiver_tensors, input_refs=None, iterator_initializer=None):
    """What an eval_input_receiver_fn returns: the Estimator's own receiver, with all tensors as receiver tensors.

    receiver_tensors holds examples alone, the placeholder of serialised examples. input_refs says which example each
    row comes from; left out, row i comes from example i. labels may be None.
    """
    import tensorflow as tf
    from tensorflow_estimator.python.estimator.export import export

    if list(receiver_tensors) != ["examples"]:
        raise ValueError("receiver_tensors must contain exactly one key named examples.")
    if input_refs is None:
        if iterator_initializer is not None:
            raise ValueError("input_refs is required if iterator_initializer is used")
        input_refs = tf.range(tf.size(receiver_tensors["examples"]))
    shown = {
        "inputs/examples": receiver_tensors["examples"],
        "input_refs": input_refs,
        "tfma/version": tf.constant(VERSION),
        **_named("features", features),
        **_named("labels", labels),
    }
    if iterator_initializer is not None:
        shown["iterator_initializer"] = tf.constant(iterator_initializer)
    if labels is None:
        return export.UnsupervisedInputReceiver(features=_apart(features), receiver_tensors=shown)
    return export.SupervisedInputReceiver(features=_apart(features), labels=_apart(labels), receiver_tensors=shown)


def export_eval_savedmodel(
    *,
    estimator,
    export_dir_base,
    eval_input_receiver_fn,
    serving_input_receiver_fn=None,
    assets_extra=None,
    checkpoint_path=None,
):
    """Exports a trained Estimator below export_dir_base, and returns the folder."""
    import tensorflow as tf

    receivers = {tf.estimator.ModeKeys.EVAL: eval_input_receiver_fn}
    if serving_input_receiver_fn is not None:
        receivers[tf.estimator.ModeKeys.PREDICT] = serving_input_receiver_fn
    return estimator.experimental_export_all_saved_models(
        export_dir_base, receivers, assets_extra=assets_extra, checkpoint_path=checkpoint_path)


def _named(name, tensors):
    """Tensors by the names of a signature."""
    if tensors is None:
        return {}
    return (
        {f"{name}/{key}": tensor for key, tensor in tensors.items()} if isinstance(tensors, dict) else {name: tensors}
    )


def _apart(tensors):
    """Copies of tensors: what the model computes on must not be what the receiver is fed by."""
    import tensorflow as tf

    return tf.nest.map_structure(tf.identity, tensors, expand_composites=True)


__path__, __getattr__ = stoker_lacking.of(__name__)
