"""Where a step must end for the kinks of light crossers: the kernel beside the formula, to the last bit."""

import numpy as np
import pytest

from reluflow.dynamics.event_driven.carrying_kernels import last_within_budget, summed_in_pairs


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 15, 16, 127, 128, 129, 300, 1000, 50_001])
def test_sums_are_those_of_numpy(count, rng):
    for _ in range(20):
        values = rng.standard_normal(count) * 10.0 ** rng.integers(-8, 8, count)
        assert summed_in_pairs(values) == np.sum(values)


def by_numpy(effects, thetas, budget):
    def total(theta):
        return float(np.sum(effects * np.square(np.maximum(theta - thetas, 0.0))))

    if total(1.0) <= budget:
        return 1.0
    first = float(np.min(thetas))
    low, high = first, 1.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if total(middle) <= budget else (low, middle)
    return low if np.count_nonzero(thetas < low) > 1 else first


def test_a_step_ends_where_the_formula_says(rng):
    ends = []
    for _ in range(300):
        count = int(rng.integers(1, 40))
        effects, thetas = 10.0 ** rng.uniform(-14, -9, count), rng.uniform(0.0, 1.0, count)
        ends.append(last_within_budget(effects, thetas, 1e-12))
        assert ends[-1] == by_numpy(effects, thetas, 1e-12)
    assert min(ends) < 1.0
    assert max(ends) == 1.0
