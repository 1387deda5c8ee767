"""SMAC3 with what it comes with: nothing is set but the seed, which is the run's number, and the number of trials.

Its documentation has a facade for mixed spaces and another for floats alone; each function gets the one it is for. Both
begin with a Sobol design of ten points a parameter, and at most a quarter of the trials.
"""

import importlib.metadata
import logging
import pathlib
import sys
import types

# SMAC3 imports pynisher, which has no wheel, to limit the memory and time of the programs that it
# runs; it runs none here.
sys.modules["pynisher"] = types.ModuleType("pynisher")
sys.modules["pynisher"].MemoryLimitException = sys.modules["pynisher"].WallTimeoutException = RuntimeError
sys.modules["pynisher"].limit = None

import ConfigSpace
import smac
from ConfigSpace.conditions import AndConjunction, InCondition
from smac.runhistory import TrialValue

ABOUT = {"smac": "HyperparameterOptimizationFacade; of floats alone BlackBoxFacade"}


def versions():
    return {name: importlib.metadata.version(name) for name in ("smac", "ConfigSpace", "scikit-learn")}


def begin(space, direction, seed, folder, trials):
    parameters = {one["config"]["name"]: parameter(one["class_name"], one["config"]) for one in space}
    scenario = smac.Scenario(
        configuration_space(space, parameters, seed), n_trials=trials, deterministic=True, seed=seed,
        output_directory=pathlib.Path(folder))
    floats = all(one["class_name"] == "Float" for one in space)
    facade = smac.BlackBoxFacade if floats else smac.HyperparameterOptimizationFacade
    search = facade(scenario, lambda config, seed: 0.0, overwrite=True, logging_level=logging.ERROR)
    sign = {"min": 1, "max": -1}[direction]
    running = []

    def ask():
        running.append(search.ask())
        config = dict(running[-1].config)
        return {name: value(config[name]) for name, (_, value) in parameters.items() if name in config}

    def tell(score):
        search.tell(running.pop(), TrialValue(cost=sign * score), save=False)

    return ask, tell


def configuration_space(space, parameters, seed):
    made = ConfigSpace.ConfigurationSpace(seed=seed)
    for made_of, _ in parameters.values():
        made.add(made_of)
    for one in space:
        conditions = []
        for condition in one["config"]["conditions"]:
            parent = made[condition["config"]["name"]]
            values = condition["config"]["values"]
            if {type(value) for value in values} == {bool}:
                values = [str(value) for value in values]
            conditions.append(InCondition(made[one["config"]["name"]], parent, values))
        if conditions:
            made.add(conditions[0] if len(conditions) == 1 else AndConjunction(*conditions))
    return made


def parameter(kind, config):
    """A parameter of ConfigSpace's, and how its value becomes one of the space. Steps are searched by their index,
    since ConfigSpace has none; a truth is a category."""
    name = config["name"]
    if kind == "Boolean":
        return ConfigSpace.CategoricalHyperparameter(name, ["False", "True"]), lambda value: str(value) == "True"
    if kind == "Choice":
        return ConfigSpace.CategoricalHyperparameter(name, config["values"]), str
    low, high, step, log = config["min_value"], config["max_value"], config["step"], config["sampling"] == "log"
    if kind == "Float" and step:
        most = round((high - low) / step)
        return ConfigSpace.UniformIntegerHyperparameter(name, 0, most), lambda i: low + int(i) * step
    if log and step:
        steps = 0
        while low * step ** (steps + 1) <= high:
            steps += 1
        return ConfigSpace.UniformIntegerHyperparameter(name, 0, steps), lambda i: low * step ** int(i)
    if kind == "Int":
        return ConfigSpace.UniformIntegerHyperparameter(name, low, high, log=log), int
    return ConfigSpace.UniformFloatHyperparameter(name, low, high, log=log), float


SAMPLERS = {"smac": begin}
