"""What Figures 1 to 3 of Lee, Sim & Ye (2022) share: the settings of App. D.3, the samples and the starts."""

from __future__ import annotations

from typing import Literal

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.papers.lee2022.data import SingleNeuronData, single_neuron

NUM_SAMPLES = 10_000
DIMENSION = 100
QUICK_SAMPLES = 4_000  # with the paper's n/d, which decides how far samples are from the population
QUICK_DIMENSION = 40
DEPTHS = ("one layer", "two layers", "three layers")  # q = 0, 1, 2 scalar layers above the neuron
SHORT_DEPTHS = ("1L", "2L", "3L")
SIZES: tuple[Literal["small", "medium", "large"], ...] = ("small", "medium", "large")
SHORT_SIZES = ("SN", "MN", "LN")
START_FACTORS = (0.1, 1.0, 2.0)  # k over k*
TEACHER_STDS = (1.0, 0.5, 0.3)  # k* of Figs. 1 and 2, a standard deviation (erratum E12)
RATES = (3e-4, 8e-6, 2e-6)
STEPS = 100_000
REBUILT_AT = 20_000

RESTART_STD = 1.2  # k* of Fig. 3
RESTART_RATES = (6e-4, 1e-4)
RESTART_STEPS = (30_000, 2_000)
RESTARTS = ((0, 2_500, 5_000, 7_500), (0, 120, 250, 500))


def samples(*, n: int, d: int, layers: int, std: float, seed: int) -> SingleNeuronData:
    """The labelled samples; a seed gives the same inputs and the same direction of the teacher at every depth."""
    return single_neuron(np.random.default_rng(seed), n=n, d=d, layers=layers, std=std)


def start_direction(d: int, seed: int) -> FloatArray:
    """Standard Gaussian g of the start w_0 = k g, shape (d,): the same for all sizes, so that they share phi_0."""
    return np.random.default_rng([seed, 1]).standard_normal(d)


def recorded_steps(last: int, *, kept: tuple[int, ...] = (), lines: int = 400) -> IntArray:
    """Step numbers to record: evenly spaced, geometrically spaced from 1, and `kept`.

    >>> recorded_steps(4, kept=(3,), lines=2).tolist()
    [0, 1, 2, 3, 4]
    """
    even, geometric = np.linspace(0, last, lines + 1), np.geomspace(1, last, lines // 2)
    return np.unique(np.concatenate([even, geometric, kept]).astype(np.int64))
