"""Data assumptions of Chistikov, Englert & Lazic (2023) [chistikov2023]; the teacher is the least-squares line."""

from __future__ import annotations

import numpy as np

from reluflow.theory.comparison import Comparison, fails, positive, undecided
from reluflow.theory.condition import Assumption
from reluflow.theory.facts import DatasetFacts

FIT = 1e-9  # relative residual of the labels that counts as none
UNIT = 1e-9  # how far the teacher's length may be from 1
MAX_SAMPLES = 2000  # whose pairs are compared
GENERIC = 1e-10  # gaps and coordinates below this count as 0


def correlated_teacher(facts: DatasetFacts) -> Comparison:
    """Sec. 2: the labels are those of one neuron within 45 degrees of every sample.

    The margin is 45 degrees minus the largest angle between the neuron and a sample, in radians. Where no neuron
    that is active on all samples gives the labels there is no such angle: it is then the smallest label against the
    largest, at most 0, or minus the relative residual.
    """
    data = facts.dataset
    if not np.all(data.y > 0.0) or not np.all(facts.norms > 0.0):
        smallest = float(np.min(data.y) / (np.max(np.abs(data.y)) or 1.0))
        return fails(
            "a label is not positive or a sample is 0, so no neuron within 45 degrees gives the labels",
            min(smallest, 0.0),
        )
    teacher = facts.least_squares
    residual = float(np.linalg.norm(data.y - data.X @ teacher) / np.linalg.norm(data.y))
    if residual > FIT:
        words = f"no neuron that is active on all samples gives the labels, relative residual {residual:.3g}"
        return fails(words, -residual)
    unit = data.X / facts.norms[:, None]
    direction = teacher / np.linalg.norm(teacher)
    # atan2 keeps its digits where the cosine is near 1
    apart, along = np.linalg.norm(unit - direction, axis=1), np.linalg.norm(unit + direction, axis=1)
    largest = float(np.max(2.0 * np.arctan2(apart, along)))
    return positive(0.25 * np.pi - largest, f"the largest angle with the teacher is {np.rad2deg(largest):.4g} degrees")


def spanning_unit_teacher(facts: DatasetFacts) -> Comparison:
    """Assumption 1(i): d > 1, the samples span R^d, the teacher has length 1.

    The margin is the smallest singular value of X/sqrt(n), or minus what the length or the rank is short of.
    """
    data = facts.dataset
    if data.d < 2 or facts.rank < data.d:
        return positive(float(min(facts.rank - data.d, data.d - 2)), f"rank {facts.rank} in dimension {data.d}")
    length = float(np.linalg.norm(facts.least_squares))
    if abs(length - 1.0) > UNIT:
        words = f"the teacher has length {length:.6g}; divide the labels by it"
        return fails(words, margin=-abs(length - 1.0))
    smallest = float(np.linalg.svd(data.X, compute_uv=False)[-1] / np.sqrt(data.n))
    return positive(smallest, f"rank {facts.rank} in dimension {data.d}, teacher of length {length:.6g}")


def generic_covariance(facts: DatasetFacts) -> Comparison:
    """Assumption 1(iii): distinct directions of samples, distinct eigenvalues of H, teacher in no eigenspan.

    H = X^T X/n. The margin is the smallest of: the angle of two samples in radians, the gap of two successive
    eigenvalues relative to the largest, the coordinate of the unit teacher in the eigenbasis.
    """
    data = facts.dataset
    length = float(np.linalg.norm(facts.least_squares))
    if length == 0.0 or not np.all(facts.norms > 0.0):
        return fails("a sample or the least-squares line is 0")
    eigenvalues, basis = np.linalg.eigh(data.X.T @ data.X / data.n)
    gap = float(np.min(np.diff(eigenvalues), initial=np.inf) / eigenvalues[-1])
    coordinate = float(np.min(np.abs(basis.T @ facts.least_squares)) / length)
    words = f"eigenvalue gap {gap:.3g}, teacher's coordinate {coordinate:.3g}"
    margin = min(gap, coordinate)
    if data.n > MAX_SAMPLES and margin > GENERIC:
        return undecided(f"{words}; pairs of samples are not compared for $n$ = {data.n}, above {MAX_SAMPLES}")
    if 1 < data.n <= MAX_SAMPLES:
        unit = data.X / facts.norms[:, None]
        cosines = np.clip(unit @ unit.T, -1.0, 1.0)
        np.fill_diagonal(cosines, -1.0)
        k, i = np.unravel_index(int(np.argmax(cosines)), cosines.shape)
        apart = float(2.0 * np.arctan2(np.linalg.norm(unit[k] - unit[i]), np.linalg.norm(unit[k] + unit[i])))
        words, margin = f"smallest angle of samples {apart:.3g}, {words}", min(margin, apart)
    return positive(margin if margin > GENERIC else margin - GENERIC, words)


CORRELATED_TEACHER = Assumption(
    "correlated-teacher",
    "chistikov2023",
    "Sec. 2: the labels are those of one neuron within 45 degrees of every sample",
    correlated_teacher,
)
SPANNING_UNIT_TEACHER = Assumption(
    "chistikov-a1i",
    "chistikov2023",
    r"Assumption 1(i): $d > 1$, the samples span $\mathbb{R}^d$, the teacher has length 1",
    spanning_unit_teacher,
)
GENERIC_COVARIANCE = Assumption(
    "chistikov-a1iii",
    "chistikov2023",
    r"Assumption 1(iii): distinct directions and eigenvalues of $X^\top X$, teacher in no eigenspan",
    generic_covariance,
)

ASSUMPTIONS = (CORRELATED_TEACHER, SPANNING_UNIT_TEACHER, GENERIC_COVARIANCE)
