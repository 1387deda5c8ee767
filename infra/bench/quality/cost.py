"""One suggestion of KerasTuner's Bayesian oracle at its defaults, after given trials.

KerasTuner is imported in begin: no CPU time of its import is counted.
"""

import tempfile

folder = tempfile.TemporaryDirectory()  # gone with the process
oracle = None


def begin(work):
    """Makes an oracle that knows some trials. Its own random values are replaced by those given."""
    import keras_tuner

    global oracle
    given = keras_tuner.HyperParameters.from_config({"space": work["space"], "values": {}})
    oracle = keras_tuner.oracles.BayesianOptimizationOracle(
        keras_tuner.Objective("value", "min"), max_trials=10**6, num_initial_points=len(work["trials"]), seed=1,
        hyperparameters=given)
    oracle._set_project_dir(tempfile.mkdtemp(dir=folder.name), "search")
    oracle.verbose = 0
    for trial_in in work["trials"]:
        trial = oracle.create_trial("tuner")
        trial.hyperparameters.values = trial_in["values"]
        oracle.update_trial(trial.trial_id, {"value": trial_in["value"]})
        trial.status = "COMPLETED"
        oracle.end_trial(trial)


def suggest(_):
    """Suggests on one thread, as ours do."""
    import threadpoolctl

    with threadpoolctl.threadpool_limits(1):
        return oracle.create_trial("tuner").hyperparameters.values
