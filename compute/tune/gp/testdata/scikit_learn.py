"""Writes scikit_learn.json: what scikit-learn's Gaussian process says of a few points, with the kernel's parameters
given."""
import json
import sys

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel


def case(generator, points, dimensions, variance, noise):
    x = generator.random((points, dimensions))
    y = np.sin(5 * x).sum(axis=1) + 0.1 * generator.standard_normal(points)
    scales = 0.2 + generator.random(dimensions)
    kernel = ConstantKernel(variance) * Matern(scales, nu=2.5) + WhiteKernel(noise)
    weights = np.linalg.solve(kernel(x), np.ones(points))
    mean = float(weights @ y / (weights.sum() + 1))  # the most likely one under a standard normal prior
    process = GaussianProcessRegressor(kernel, optimizer=None, alpha=0).fit(x, y - mean)
    likelihood, gradient = process.log_marginal_likelihood(process.kernel_.theta, eval_gradient=True)
    at = generator.random((5, dimensions))
    expected, deviation = process.predict(at, return_std=True)
    return {
        "x": x.tolist(), "y": y.tolist(), "scales": scales.tolist(), "variance": variance, "noise": noise, "mean": mean,
        "likelihood": float(likelihood),
        "gradient": gradient[1:-1].tolist() + [float(gradient[0]), float(gradient[-1])],  # scales, variance, noise
        "at": at.tolist(), "expected": (expected + mean).tolist(),
        "deviation": deviation.tolist(),  # with noise
    }


random = np.random.default_rng(7)
cases = [case(random, *sizes) for sizes in [(6, 1, 1.0, 1e-2), (20, 3, 2.5, 1e-4), (40, 6, 0.7, 0.3)]]
json.dump(cases, sys.stdout, indent=1)
