"""The best continuous piecewise linear fit with a given number of kinks, to hold a trained network against."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset


def best_continuous_fit(data: Dataset, *, num_kinks: int, starts: int, seed: int = 0) -> tuple[float, FloatArray]:
    """Least mean squared error of c + b x + sum_i d_i max(x - k_i, 0) found from many starts, and its kinks.

    Given the kinks the rest is linear least squares, so only the kinks are searched (variable projection). Any network
    with one neuron that is active on all samples and `num_kinks` others is of this form; the value is attained, so it
    bounds the best fit from above.

    Parameters
    ----------
    data
        One input with the constant coordinate 1 beside it.
    num_kinks, starts, seed
        How many kinks, from how many random starts, and the seed of these.
    """
    from scipy.optimize import least_squares

    inputs, labels = data.X[:, 0], data.y
    low, high = float(np.min(inputs)), float(np.max(inputs))
    rng = np.random.default_rng(seed)

    def residuals(kinks: FloatArray) -> FloatArray:
        features = np.column_stack([data.X, np.maximum(inputs[:, None] - kinks, 0.0)])
        coefficients = np.linalg.lstsq(features, labels, rcond=None)[0]
        return np.asarray(features @ coefficients - labels)

    best, best_kinks = np.inf, np.full(num_kinks, np.nan)
    for _ in range(starts):
        start = np.sort(rng.uniform(low, high, num_kinks))
        found = least_squares(residuals, start, bounds=(low, high), xtol=1e-10, ftol=1e-12)
        loss = float(np.mean(residuals(found.x) ** 2))
        if loss < best:
            best, best_kinks = loss, np.sort(found.x)
    return best, best_kinks
