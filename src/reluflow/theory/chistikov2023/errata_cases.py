"""Cases for the errata of Chistikov, Englert & Lazic: the printed form fails, the corrected one holds."""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.data.published import chistikov2023 as data
from reluflow.losses import SquareLoss
from reluflow.theory.chistikov2023.bundle import LimitPath, limit_path
from reluflow.theory.chistikov2023.conditions import generic_covariance
from reluflow.theory.chistikov2023.scene import Scene
from reluflow.theory.erratum import Cases, both, on_each
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.measurement import Measurement, at_least, at_most


def _case() -> tuple[Scene, LimitPath]:
    """The two samples with one neuron along the first, and the path of its bundle as lambda -> 0."""
    samples = data.two_samples()
    teacher = np.array([1.0, 0.0])
    here = Scene(samples.X, samples.y, teacher, samples.X[:1], np.ones(1), np.ones(1), -50.0)
    return here, limit_path(here)


def _start_of_bundle(power: int) -> Measurement:
    """|V| of one balanced neuron of norm lambda = 1e-10 against lambda^power."""
    scale = 1e-10
    w = scale * np.array([0.6, 0.8])
    length = float(np.linalg.norm(np.linalg.norm(w) * w))
    return at_least(length, scale**power, allowance=1e-12 * scale**power)


def _pull_late(*, printed: bool) -> Measurement:
    """Largest ln|g| - ln of the bound from T_2 on."""
    here, path = _case()
    late = path.times >= 0.0
    logs = np.log(np.linalg.norm((here.teacher - path.V[late]) @ here.H, axis=1))
    times, top, least = path.times[late], float(here.eta[0]), float(here.eta[-1])
    if printed:
        bounds = np.log(top) - 0.625 * here.speed * times
    else:
        bounds = 0.5 * np.log(top * here.speed) - least * here.speed * times / (5.0 * top)
    worst = float(np.max(logs - bounds))
    return at_most(worst, 0.0, detail=f"|g| is at most {np.exp(worst):.3g} times the bound until |v* - V| = 1e-6")


def _length(*, printed: bool) -> Measurement:
    """Largest |V|/r_1 on the path in S_1 against |gamma|/eta_1, or against 1."""
    here, path = _case()
    r = path.V @ here.spectrum[1][:, 0] / here.nu[0]
    ratio = float(np.max((np.linalg.norm(path.V, axis=1) / r)[r <= 1.0]))
    return at_most(ratio, here.speed / float(here.eta[0]) if printed else 1.0, allowance=1e-6)


def _third_coordinate(divisor: float) -> Measurement:
    """r = (1.001, 0.46, 0.13) of S_2 with eta = (1, 0.9, 0.5): r_3 against eta_3/(divisor eta_1)."""
    return at_least(0.13, 0.5 / divisor)


def _generic(dataset: Dataset) -> Measurement:
    judged = generic_covariance(DatasetFacts(dataset, SquareLoss()))
    return at_least(judged.margin or 0.0, 1e-10, detail=f"{dataset.name}: {judged.detail}")


CASES: dict[str, Cases] = {
    "E1": on_each(_start_of_bundle, 1, 2),
    "E2": both(_pull_late),
    "E4": both(_length),
    "E5": on_each(_third_coordinate, 2.0, 4.0),
    "E6": on_each(_generic, data.simplex(), data.minimal()),
}
