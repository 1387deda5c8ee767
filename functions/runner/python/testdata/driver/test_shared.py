"""What each of KerasTuner's own oracles is as a study, and which others search by themselves."""
from stoker_runner import directions, shared

directions.mend()
import keras_tuner as kt  # noqa: E402


def space():
    hp = kt.HyperParameters()
    hp.Boolean("b")
    hp.Choice("model", ["mlp", "cnn"])
    hp.Int("filters", 8, 64, step=8, parent_name="model", parent_values=["cnn"])
    hp.Float("rate", 1e-4, 1e-1, sampling="log")
    return hp


def study(oracle, *given, **more):
    return shared.study(oracle(*given, hyperparameters=space(), **more))


def apart(oracle):
    try:
        shared.study(oracle)
    except shared.Apart as reason:
        return str(reason)
    raise AssertionError(f"{oracle} is taken for a study")


random = study(kt.oracles.RandomSearchOracle, "val_accuracy", max_trials=7, seed=3, max_retries_per_trial=2,
               max_consecutive_failed_trials=5)
assert [p["config"]["name"] for p in random["space"]] == ["b", "model", "filters", "rate"], random
del random["space"]
assert random == {
    "algorithm": {"name": "random"}, "objectives": [{"name": "val_accuracy", "direction": "max"}], "seed": 3,
    "max_trials": 7, "max_retries_per_trial": 2, "max_consecutive_failed_trials": 5,
}, random
assert study(kt.oracles.RandomSearchOracle, "loss", max_trials=None)["max_trials"] == shared.ENDLESS
grid = study(kt.oracles.GridSearchOracle, kt.Objective("own", "max"))
assert (grid["algorithm"], grid["max_trials"], grid["objectives"][0]["direction"]) == ({"name": "grid"}, 0, "max"), grid
hyperband = study(kt.oracles.HyperbandOracle, "val_f1_score", max_epochs=27, factor=4, hyperband_iterations=2)
assert hyperband["algorithm"] == {"name": "hyperband", "max_epochs": 27, "factor": 4, "iterations": 2}, hyperband
assert hyperband["max_trials"] == 0 and hyperband["objectives"][0]["direction"] == "max", hyperband
bayesian = study(kt.oracles.BayesianOptimizationOracle, ["loss", "val_loss"], num_initial_points=4, beta=9.0)
assert bayesian["algorithm"] == {"name": "bayesian", "initial_points": 4}, bayesian
assert bayesian["objectives"] == [{"name": "multi_objective", "direction": "min"}], bayesian


class Own(kt.oracles.RandomSearchOracle):
    pass


assert "Own is not one of" in apart(Own("loss", hyperparameters=space()))
assert "defines no hyperparameters" in apart(kt.oracles.RandomSearchOracle("loss"))
assert "repeats without limit" in apart(kt.oracles.HyperbandOracle("loss", hyperband_iterations=0, hyperparameters=space()))
assert "NoneType is not one of" in apart(None)
