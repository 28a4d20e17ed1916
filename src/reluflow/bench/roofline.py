"""Roofline: what a run by collocation must at least compute and move, beside what the machine can do in its time.

The least is one iteration per step: outputs at the nodes and at the checks between them, the pulls of the forces at
the nodes, and two passes over the samples. Newton's matrices, events, rejected steps, further iterations and
certificates are the work of this method, not of the problem: they count in the time alone. A small share therefore
says where the time does not go, and how much a perfect implementation of the same steps could save at most.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np

from reluflow.dynamics.collocation.collocation_run import CollocationRun
from reluflow.dynamics.collocation.tuning import CHECK_PLACES, NUM_NODES
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Trajectory
from reluflow.threads import product

_SIDE = 2048  # of the matrices multiplied: 3e10 operations and 100 MB, a second on one core
_REPEATS = 3
_BYTES_PER_NUMBER = 8


@dataclass(frozen=True)
class AlgorithmWork:
    """Operations (an addition or a multiplication each) and bytes read from or written to memory."""

    flops: float
    bytes: float


@dataclass(frozen=True)
class MachineRates:
    """What the cores at hand can do in a second."""

    flops_per_s: float
    bytes_per_s: float

    def seconds(self, work: AlgorithmWork) -> float:
        """The least time for some work: its operations or its traffic, whichever takes longer."""
        return max(work.flops / self.flops_per_s, work.bytes / self.bytes_per_s)


@cache
def this_machine() -> MachineRates:
    """Measure it, once per process: the best of three products of matrices and of three copies."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, _SIDE, _SIDE))
    out = np.empty_like(left)
    product_s = copy_s = np.inf
    for _ in range(_REPEATS):
        start = time.perf_counter()
        product(left, right, out=out)
        product_s = min(product_s, time.perf_counter() - start)
        start = time.perf_counter()
        np.copyto(out, left)
        copy_s = min(copy_s, time.perf_counter() - start)
    return MachineRates(2.0 * _SIDE**3 / product_s, 2.0 * left.nbytes / copy_s)


def least_work(n: int, d: int, m: int, outputs: int, steps: int) -> AlgorithmWork:
    """Of so many steps: products of n samples, in the coordinates of their span, with m neurons."""
    size = min(n, d)
    products = m * (2 * NUM_NODES + len(CHECK_PLACES)) * 2.0 * n * size
    sums = m * (2 * NUM_NODES + len(CHECK_PLACES)) * 2.0 * n * outputs
    return AlgorithmWork(flops=steps * (products + sums), bytes=steps * 2.0 * n * size * _BYTES_PER_NUMBER)


class SamplesInSteps:
    """A recorder that counts with how many samples each step of a run was made.

    Attributes
    ----------
    steps_with
        The number of steps, by that of their samples.
    """

    def __init__(self) -> None:
        self.steps_with: Counter[int] = Counter()
        self._next = 0

    def __call__(self, run: AbstractRun) -> None:
        if isinstance(run, CollocationRun):
            self.steps_with[self._next or run.num_samples_in_steps] += run.steps - self.steps_with.total()
            self._next = run.num_samples_in_steps


def roofline_words(run: Trajectory, seconds: float, counted: SamplesInSteps | None = None) -> str:
    """The share of the roofline that a run by collocation reached in so many seconds, for the row of a benchmark.

    Its steps were made with the samples that were `counted`, or with all.
    """
    data, network = run.problem.dataset, run.problem.network
    steps_with = {data.n: run.steps} if counted is None else counted.steps_with
    size = len(network.w), network.num_outputs
    share = (
        sum(this_machine().seconds(least_work(n, data.d, *size, steps)) for n, steps in steps_with.items()) / seconds
    )
    return f"{100.0 * share:.2g} % of the roofline"
