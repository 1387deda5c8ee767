"""Which Keras models the module writes to files, and whether anything was seen to give them their weights.

The state of a model that is written need not be the last one of its training: it may be the best one that was read again.
Each model is noted with a number for each weight that it has when it is written, by which its files are known.
"""
import functools

from stoker_runner.arrivals import when_imported

KEPT = 3  # the last models that were written: one to serve, one to evaluate, one more
NODES = 2000  # that are looked at below an object that is written

_written = []  # (model, numbers of its weights in their order), the last first
_given = set()  # by id: models, layers and optimizers' variables that got weights
_all_given = False  # weights were changed, of whatever model
_fingerprints = None


def listen(fingerprints):
    """Hears of what is written from now on. fingerprints(model) gives a number for each weight, or None."""
    global _fingerprints
    if _fingerprints is not None:
        return
    _fingerprints = fingerprints
    when_imported("tensorflow.python.saved_model.save", lambda module: _before(module, "save_and_return_nodes", _saving))
    when_imported("keras.src.models.model", lambda module: _before(module.Model, "export", writing))
    for name in ("keras.src.export.saved_model", "keras.src.export.saved_model_export_archive", "keras.src.export.export_lib"):
        when_imported(name, _follow_archive)
    _follow_weights()


def _follow_archive(module):
    for name in ("ExportArchive", "SavedModelExportArchive"):
        archive = getattr(module, name, None)
        if archive is not None and "track" in vars(archive):
            _before(archive, "track", lambda self, resource, *args, **kwargs: writing(resource))


def _follow_weights():
    """Hears of all ways in which Keras and TensorFlow give a model weights."""
    for name in ("keras.src.layers.layer", "tf_keras.src.engine.base_layer", "keras.src.engine.base_layer"):
        when_imported(name, lambda module: _before(module.Layer, "set_weights", give))
    for name in ("keras.src.saving.saving_lib", "tf_keras.src.saving.saving_lib"):
        when_imported(name, lambda module: _before(module, "_load_state", give))
    for name in ("keras.src.legacy.saving.legacy_h5_format", "tf_keras.src.saving.legacy.hdf5_format", "keras.src.saving.legacy.hdf5_format"):
        for load in ("load_weights_from_hdf5_group", "load_weights_from_hdf5_group_by_name"):
            when_imported(name, lambda module, load=load: _before(module, load, lambda group, model, *args, **kwargs: give(model)))
    when_imported("keras.src.optimizers.base_optimizer", lambda module: _before(module.BaseOptimizer, "apply", _step))
    for name in ("tf_keras.src.optimizers", "keras.src.optimizers"):
        when_imported(f"{name}.legacy.optimizer_v2", lambda module: _before(module.OptimizerV2, "apply_gradients", _pairs))
        when_imported(f"{name}.optimizer", lambda module: _before(getattr(module, "_BaseOptimizer", None), "apply_gradients", _pairs))
    when_imported("tensorflow.python.checkpoint.checkpoint", lambda module: _before(module.TrackableSaver, "restore", _restored))


def _before(holder, name, do):
    """Has do see the arguments of a function or method before it runs. What goes wrong in do changes nothing."""
    first = getattr(holder, name, None)
    if first is None:
        return

    @functools.wraps(first)
    def call(*args, **kwargs):
        try:
            do(*args, **kwargs)
        except Exception:  # nothing is known of this model then
            pass
        return first(*args, **kwargs)

    setattr(holder, name, call)


def give(holder, *args, **kwargs):
    """A model or layer gets weights, or is about to be trained."""
    _given.add(id(holder))


def _step(optimizer, grads, trainable_variables=None):
    _given.update(map(id, trainable_variables if trainable_variables is not None else optimizer._trainable_variables))


def _pairs(optimizer, grads_and_vars, *args, **kwargs):
    global _all_given
    if isinstance(grads_and_vars, (list, tuple)):
        _given.update(id(variable) for _, variable in grads_and_vars)
        return
    _all_given = True  # a zip would be spent by looking at it: it may be of any variables


def _restored(saver, *args, **kwargs):
    """A checkpoint is read into all that an object holds."""
    from tensorflow import train

    _given.update(map(id, train.TrackableView(saver._graph_view.root).descendants()))


def learned(model):
    """Whether a model, or any part of it, was seen to get weights."""
    if _all_given or not getattr(model, "trainable_weights", None):
        return True
    parts = [model, *(model._flatten_layers() if hasattr(model, "_flatten_layers") else ())]
    return any(id(part) in _given for part in [*parts, *model.weights])


def is_model(thing):
    return callable(thing) and all(hasattr(thing, name) for name in ("layers", "weights", "call"))


def _saving(obj, *args, **kwargs):
    """tf.saved_model.save of an object: of a model, or of one that holds models."""
    from tensorflow import train

    waiting, known, view = [obj], set(), train.TrackableView(obj)
    while waiting and len(known) < NODES:
        node = waiting.pop(0)
        if id(node) in known:
            continue
        known.add(id(node))
        if is_model(node):
            writing(node)
            continue
        waiting += view.children(node).values()


def writing(model, *args, **kwargs):
    """A model is about to be written, in the state that it has now."""
    if not is_model(model):
        return
    numbers = _fingerprints(model)
    if numbers:
        _written[:] = [(model, numbers)] + [kept for kept in _written if kept[0] is not model or kept[1] != numbers][:KEPT - 1]


def written(numbers):
    """The model last written whose weights are all in files that hold weights of these numbers, with its own."""
    return next(((model, own) for model, own in _written if set(own) <= numbers), (None, None))


def last():
    """The model that was written last, if any."""
    return _written[0][0] if _written else None
