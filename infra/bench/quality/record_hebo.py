"""HEBO with what it comes with: nothing is set but the seed, which is the run's number.

It knows no conditions: it is given the values of all parameters, and those of inactive ones change nothing.
"""

import importlib.metadata
import random
import warnings

import numpy
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

ABOUT = {"hebo": "HEBO, one suggestion at a time"}


def versions():
    return {name: importlib.metadata.version(name) for name in ("HEBO", "torch", "gpytorch", "pymoo")}


def begin(space, direction, seed, folder, trials):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for seeded in (random.seed, numpy.random.seed, torch.manual_seed):
        seeded(seed)
    parameters = [parameter(one["class_name"], one["config"]) for one in space]
    search = HEBO(DesignSpace().parse([design for design, _ in parameters]), scramble_seed=seed)
    sign = {"min": 1, "max": -1}[direction]
    running = []

    def ask():
        running.append(search.suggest(n_suggestions=1))
        values = {}
        for one, (design, value) in zip(space, parameters):
            conditions = [condition["config"] for condition in one["config"]["conditions"]]
            if all(values.get(parent["name"]) in parent["values"] for parent in conditions):
                values[design["name"]] = value(running[-1][design["name"]].iloc[0])
        return values

    def tell(score):
        search.observe(running.pop(), numpy.array([[sign * score]]))

    return ask, tell


def parameter(kind, config):
    """A parameter of HEBO's, and how its value becomes one of the space. A step of a float is searched by its index,
    since HEBO has none."""
    name = config["name"]
    if kind == "Boolean":
        return {"name": name, "type": "bool"}, bool
    if kind == "Choice":
        return {"name": name, "type": "cat", "categories": config["values"]}, str
    low, high, step, log = config["min_value"], config["max_value"], config["step"], config["sampling"] == "log"
    if kind == "Float" and step:
        return {"name": name, "type": "int", "lb": 0, "ub": round((high - low) / step)}, lambda i: low + int(i) * step
    if log and step:
        return {"name": name, "type": "int_exponent", "lb": low, "ub": high, "base": step}, int
    types = {("Int", False): "int", ("Int", True): "pow_int", ("Float", False): "num", ("Float", True): "pow"}
    return {"name": name, "type": types[kind, log], "lb": low, "ub": high}, int if kind == "Int" else float


SAMPLERS = {"hebo": begin}
