"""KerasTuner's oracles, with what they come with: nothing is set but the seed.

Seeds are 1000 i + 7: with d parameters KerasTuner's seed s + d replays the random values of seed s, shifted by one
trial. A genuine Bayesian suggestion takes 4 to 6 CPU seconds, so keras-bayesian finds the least of the oracle's own
acquisition function with exact gradients in place of SciPy's finite differences: same model, same function, same
starts, same L-BFGS-B; see exact_gradients. keras-genuine changes nothing.
"""

import copy
import types

import keras_tuner
import numpy
import scipy.linalg
import scipy.optimize
from keras_tuner.src.tuners import bayesian

ABOUT = {
    "keras-random": "RandomSearchOracle",
    "keras-bayesian": "BayesianOptimizationOracle, its L-BFGS-B given the exact gradient of the acquisition function",
    "keras-genuine": "BayesianOptimizationOracle",
}


def versions():
    import sklearn
    return {"keras-tuner": keras_tuner.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__}


def search(make, prepare=lambda oracle: None):
    def begin(space, direction, seed, folder, trials):
        config = {"space": copy.deepcopy(space), "values": {}}  # from_config changes conditions in what it is given
        oracle = make(
            objective=keras_tuner.Objective("score", direction), max_trials=10**6, seed=1000 * seed + 7,
            hyperparameters=keras_tuner.HyperParameters.from_config(config))
        oracle._set_project_dir(folder, "search")
        oracle.verbose = 0
        prepare(oracle)
        running = []

        def ask():
            running.append(oracle.create_trial("tuner"))
            return running[-1].hyperparameters.values

        def tell(score):
            trial = running.pop()
            oracle.update_trial(trial.trial_id, {"score": score})
            trial.status = "COMPLETED"
            oracle.end_trial(trial)

        return ask, tell
    return begin


def exact_gradients(oracle):
    """Has the oracle's module find scipy.optimize.minimize with the gradient. It uses nothing else of SciPy."""
    def minimize(function, x0, bounds, method):
        return scipy.optimize.minimize(bound_of(oracle), x0, jac=True, bounds=bounds, method=method)

    bayesian.scipy = types.SimpleNamespace(optimize=types.SimpleNamespace(minimize=minimize))


def bound_of(oracle):
    """mu - beta sigma and its gradient, from the fitted model of the oracle.

    With r = |x - x_i| / l and s = sqrt(5) r the kernel is k = (1 + s + s^2 / 3) e^-s, and
    dk/dx = -5 / (3 l^2) (x - x_i) (1 + s) e^-s.
    """
    model = oracle.gpr
    points, length = model.X_train_, model.kernel_.length_scale
    mean, scale = float(model._y_train_mean), float(model._y_train_std)
    weights = model.alpha_.ravel()

    def bound(x):
        away = (x - points) / length
        s = numpy.sqrt(5 * numpy.einsum("ij,ij->i", away, away))
        decay = numpy.exp(-s)
        k = (1 + s + s * s / 3) * decay
        slope = (-5 / (3 * length) * (1 + s) * decay)[:, None] * away
        v = scipy.linalg.cho_solve((model.L_, True), k, check_finite=False)
        variance = 1 - k @ v
        if variance <= 0:  # as scikit-learn: no negative variance
            return mean + scale * (k @ weights), scale * (slope.T @ weights)
        sigma = numpy.sqrt(variance)
        value = mean + scale * (k @ weights - oracle.beta * sigma)
        return value, scale * (slope.T @ weights + oracle.beta * (slope.T @ v) / sigma)

    return bound


SAMPLERS = {
    "keras-random": search(keras_tuner.oracles.RandomSearchOracle),
    "keras-bayesian": search(keras_tuner.oracles.BayesianOptimizationOracle, exact_gradients),
    "keras-genuine": search(keras_tuner.oracles.BayesianOptimizationOracle),
}
