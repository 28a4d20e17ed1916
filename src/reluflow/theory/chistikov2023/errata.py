"""Errata of Chistikov, Englert & Lazic (2023), long version (arXiv 2306.06479) [chistikov2023]."""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.data.published import chistikov2023 as data
from reluflow.losses import SquareLoss
from reluflow.theory.chistikov2023.bundle import LimitPath, limit_path
from reluflow.theory.chistikov2023.scene import Scene
from reluflow.theory.conditions.chistikov2023 import generic_covariance
from reluflow.theory.erratum import errata_maker
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


_erratum = errata_maker("chistikov2023")

ERRATA = (
    _erratum(
        "E1",
        "Lemma 32(ii), proof",
        "|V(T_1)| is of order lambda",
        "of order lambda^2; the chain then gives 8 + eps, but norms grow at eta_1 or more, and 4 + eps stands",
        lambda: _start_of_bundle(1),
        lambda: _start_of_bundle(2),
    ),
    _erratum(
        "E2",
        "Lemma 34, proof",
        "|g| <= eta_1 exp(-5 |gamma| (t - T_2)/8), from Lemma 28(ix)",
        "(ix) bounds the distance from below; |g| <= sqrt(2 eta_1 L) and Lemma 32 give the decay. The lemma stands",
        lambda: _pull_late(printed=True),
        lambda: _pull_late(printed=False),
    ),
    _erratum(
        "E3",
        "Theorem 7, proof",
        "the integral of |dtheta/dt|^2 is finite, so there is a limit",
        "with L <= C exp(-ct) the steps |theta(t + 1) - theta(t)| <= sqrt(L(t)) are summable",
    ),
    _erratum(
        "E4",
        "Prop. 26, proof",
        "|V| <= r_1 |gamma|/eta_1 in S_1",
        "|V| <= r_1; the constant is then eta_d^2 nu_d*^2/(2 eta_1 |gamma|). Whether the printed one holds is open",
        lambda: _length(printed=True),
        lambda: _length(printed=False),
    ),
    _erratum(
        "E5",
        "Prop. 27, proof",
        "r_k > eta_k/(2 eta_1) for k >= l >= 2",
        "r_k > eta_k/(4 eta_{l-1}); the conclusion stands",
        lambda: _third_coordinate(2.0),
        lambda: _third_coordinate(4.0),
    ),
    _erratum(
        "E6",
        "Example 37",
        "families that satisfy the assumptions of Theorem 8",
        "both break Assumption 1(iii); the proof of Theorem 8 needs 1(i) alone, and other data satisfy all",
        lambda: _generic(data.simplex()),
        lambda: _generic(data.minimal()),
    ),
    _erratum(
        "E7",
        "Sec. 3",
        "the bound on lambda is polynomial in m",
        "for fixed delta; delta is a minimum over neurons and falls with m",
    ),
    _erratum(
        "E8",
        "Sec. 8",
        "L with the factor 1/2",
        "the authors' code has none: time is 0.02 per iteration and training stops at L = 5e-10",
    ),
    _erratum("E9", "Sec. 8", "the distance of v* and mu is sqrt(rho) = 0.644", "that of x_0; of v* it is 0.564"),
    _erratum("E10", "Lemma 28(ix), proof", "first power of |v* - V|", "second power"),
    _erratum("E11", "Lemma 28, proof, Xi", "|f| = (1 + lambda^(eps/3)) |V| |g|", "at most; the minimum is over all k"),
    _erratum("E12", "Theorem 7, proof; Prop. 17(i)", "a_j = |w_j|; max |x_i|^2 = Delta^2", "|a_j| = |w_j|; at most"),
    _erratum("E13", "Fig. 10", "groups by the first teacher", "by the sign of the output weight, as the code has it"),
    _erratum("E14", "Tables 1 to 12", "angles below 4e-6 degrees", "the floor of arccos in doubles"),
    _erratum(
        "E15",
        "Table 8",
        "medians for m = 25, uncentred",
        "equal to four digits to those of Table 7 for m = 200, centred, from 4^-4 to 4^-10; perhaps a mix-up",
    ),
)
