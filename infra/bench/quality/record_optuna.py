"""Optuna's samplers, with what they come with: nothing is set but the seed, which is the run's number."""

import contextlib

import optuna

ABOUT = {
    "optuna-random": "RandomSampler",
    "optuna-tpe": "TPESampler",
    "optuna-gp": "GPSampler",
}


def versions():
    import scipy
    import torch
    return {"optuna": optuna.__version__, "scipy": scipy.__version__, "torch": torch.__version__}


def older_torch():
    """Gives an older torch the two things that GPSampler asks of a newer one, for tensors on a CPU.

    torch 1.12 is the newest whose wheel for Linux brings all that it links, in 0.8 GB; from 1.13 on that is spread
    over 3 GB of others.
    """
    import torch
    if not hasattr(torch.linalg, "vecdot"):
        torch.linalg.vecdot = lambda a, b: (a * b).sum(-1)
        torch.device = lambda name: contextlib.nullcontext(name)  # used as a context alone, and tensors are on the CPU


def study(sampler):
    def begin(space, direction, seed, folder, trials):
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        search = optuna.create_study(sampler=sampler(seed), direction={"min": "minimize", "max": "maximize"}[direction])
        running = []

        def ask():
            running.append(search.ask())
            return values_of(running[-1], space)

        def tell(score):
            search.tell(running.pop(), score)

        return ask, tell
    return begin


def gaussian(seed):
    older_torch()
    return optuna.samplers.GPSampler(seed=seed)


SAMPLERS = {
    "optuna-random": study(lambda seed: optuna.samplers.RandomSampler(seed=seed)),
    "optuna-tpe": study(lambda seed: optuna.samplers.TPESampler(seed=seed)),
    "optuna-gp": study(gaussian),
}


def values_of(trial, space):
    """Values of the parameters that are active, as a user of Optuna asks for them."""
    values = {}
    for parameter in space:
        config = parameter["config"]
        parents = [condition["config"] for condition in config["conditions"]]
        if all(values.get(parent["name"]) in parent["values"] for parent in parents):
            values[config["name"]] = value_of(trial, parameter["class_name"], config)
    return values


def value_of(trial, kind, config):
    name = config["name"]
    if kind == "Boolean":
        return trial.suggest_categorical(name, [False, True])
    if kind == "Choice":
        return trial.suggest_categorical(name, config["values"])
    low, high, step, log = config["min_value"], config["max_value"], config["step"], config["sampling"] == "log"
    if log and step:  # Optuna has no steps on a logarithmic scale: its users search the exponent
        steps = 0
        while low * step ** (steps + 1) <= high:
            steps += 1
        return low * step ** trial.suggest_int(name, 0, steps)
    if kind == "Int":
        return trial.suggest_int(name, low, high, step=step or 1, log=log)
    return trial.suggest_float(name, low, high, step=step, log=log)
