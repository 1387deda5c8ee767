"""A trial that continues another continues with its optimizer, too.

KerasTuner's checkpoint of a trial has the weights of its best epoch, and with them what the optimizer knew then: its
steps, its moments. Keras 2 puts all of it into the model that goes on. Keras 3 passes over an optimizer without
variables, and that of a new model makes them with its first step. So they are made here, and given what the checkpoint
has, before anything else that the model's fit begins with: what a module keeps by itself, by BackupAndRestore say, is
newer.
"""
import functools
import re

from stoker_runner import said


def carry(tuner):
    """Has the trials of a KerasTuner Hyperband, which lays weights out by itself, go on with the optimizer as well."""
    import keras_tuner
    from keras_tuner.src.backend import config

    model_maker = getattr(tuner, "hypermodel", None)
    if not isinstance(tuner, keras_tuner.Hyperband) or model_maker is None or not config.multi_backend():
        return
    fit = model_maker.fit

    def fit_of_trial(hp, model, *args, **kwargs):
        parent = hp.values.get("tuner/trial_id")
        if parent is not None:
            before_fit(model, functools.partial(go_on, model, tuner._get_checkpoint_fname(parent)))
        return fit(hp, model, *args, **kwargs)

    model_maker.fit = fit_of_trial


def before_fit(model, call):
    """Calls once, when the model's fit is called: the module may have compiled it anew until then."""
    fit = model.fit

    @functools.wraps(fit)
    def first_fit(*args, **kwargs):
        del model.fit
        call()
        return fit(*args, **kwargs)

    model.fit = first_fit


def go_on(model, checkpoint):
    """Gives the model's optimizer what the checkpoint has of one, if that is of its kind. Fails no training.

    The log says how it went: Keras has warned there that it passed over the optimizer.
    """
    try:
        with model.distribute_strategy.scope():
            reason = put_back(model, checkpoint)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    if reason:
        said.note(f"the optimizer begins anew, and does not go on from {checkpoint}: {reason}")
    else:
        said.note(f"the optimizer goes on from {checkpoint}")


def put_back(model, checkpoint):
    """Puts the checkpoint's variables into the optimizer's: all, or none for the reason that it returns."""
    import h5py  # Keras 3 brings it, for its checkpoints

    optimizer = model.optimizer
    with h5py.File(checkpoint, "r") as file:
        kept = file.get("optimizer/vars")
        if kept is None:
            return "no optimizer is kept there"
        if kind(kept.attrs.get("name", optimizer.name)) != kind(optimizer.name):
            return f"{kept.attrs['name']} is kept there, not {optimizer.name}"
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        had = [kept[name] for name in sorted(kept, key=int)]
        if [form(value) for value in had] != [form(variable) for variable in optimizer.variables]:
            return f"the variables that are kept there are not as those of {optimizer.name}"
        for variable, value in zip(optimizer.variables, had):
            variable.assign(value[()])
    return ""


def kind(name):
    """An optimizer's name without the number that Keras gives a second one of its class."""
    return re.sub(r"_\d+$", "", name)


def form(value):
    return tuple(value.shape), str(value.dtype)
