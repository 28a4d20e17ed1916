"""The setting of Figs. 1 and 2 (n = 10000, d = 100), at ten times the paper's rate and a tenth of its steps."""

import numpy as np
import pytest

from reluflow.papers.lee2022.data import single_neuron
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.bounds import published_magnitude_range
from reluflow.papers.lee2022.single_neuron.descent import balanced_columns, sample_descent
from reluflow.papers.lee2022.single_neuron.descent_bounds import descent_angle_band, descent_magnitude_band

STUDENT_STD = {"small": 0.1, "medium": 1.0, "large": 2.0}  # times k*


@pytest.mark.slow
@pytest.mark.parametrize(("q", "rate", "std"), [(0, 3e-3, 1.0), (1, 8e-5, 0.5), (2, 2e-5, 0.3)])
def test_bounds_hold_on_samples_and_depth_orders_the_sizes(q, rate, std, rng):
    data = single_neuron(rng, layers=q)
    w = np.stack([factor * std * rng.standard_normal(100) for factor in STUDENT_STD.values()], axis=1)
    steps = np.unique(np.concatenate([[0], np.geomspace(1, 10_000, 120).astype(int), np.arange(0, 10_001, 100)]))
    record = sample_descent(balanced_columns(w, q=q), data.dataset, data.teacher, steps, step_size=rate)
    target = float(np.linalg.norm(data.teacher))
    arrival = {}
    for j, size in enumerate(STUDENT_STD):
        start = BalancedNeuron(q, record.magnitude[0, j], gap=record.gap[0, j], teacher_magnitude=target)
        limits = published_magnitude_range(start, size)
        band = descent_angle_band(start, steps, step_size=rate, magnitudes=limits)
        assert band.slack(record.gap[:, j]).min() > -0.01
        if q < 2:
            magnitude = descent_magnitude_band(start, steps, step_size=rate)
            assert magnitude.slack(record.magnitude[:, j]).min() > -0.01 * target
        falls = np.diff(record.magnitude[:, j]).min() < -1e-6 * target
        assert falls == (size != "small")
        reached = np.flatnonzero(record.gap[:, j] < np.radians(5.0))
        arrival[size] = steps[reached[0]] if reached.size else np.inf
    if q == 0:
        assert arrival["small"] < arrival["medium"] <= arrival["large"]
    elif q == 1:
        assert max(arrival.values()) < 1.25 * min(arrival.values())
    else:
        assert np.isinf(arrival["small"])
        assert max(arrival["medium"], arrival["large"]) < 10_000
