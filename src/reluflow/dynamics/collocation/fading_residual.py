"""FadingResidual: what Newton's method mends of forces that are exponentials of the outputs.

Forces f of a fading loss give back F = e^(-margins), relative to their sum. Where a step is stiff, a guess that is off
by 1e-4 gives back that all force is on one sample, and Newton's method for F - f gains an e-fold of each force in an
iteration. But margins are nearly linear in f. So the logarithm is made linear, at a point p near the forces wanted:

    f + delta = p + p (ln F - d - c - ln p),

with d the change of the margins that delta makes and c that of the sum. With p = F this is Newton's method for the
forces, with p = f that for their logarithms. Best is where each force would settle if it alone changed, ln p = ln F -
kappa (p - f): F where a force answers little to itself, f where it answers much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import wrightomega

from reluflow.arrays import BoolArray, FloatArray

_LEAST_FORCE = 1e-300  # relative to their sum: its logarithm is that of any smaller one
_LEAST_ANSWER = 1e-30


class FadingResidual(NamedTuple):
    """Where forces are made linear and what is then missing of them, at some moments, as shares of their sum."""

    settled: FloatArray  # (q, n): p, up to a factor
    residual: FloatArray  # (q, n): what Newton's equations have on their right

    @classmethod
    def of(
        cls, given_back: FloatArray, missing: FloatArray, answers: FloatArray, counted: BoolArray | None
    ) -> FadingResidual:
        """From shares that forces give back, by how much these are more, and how the logarithm of each answers to it.

        Parameters
        ----------
        given_back
            F, shape (q, n).
        missing
            F - f, shape (q, n), known to more digits than F.
        answers
            By how much a unit of f changes - ln F of the same sample, shape (q, n).
        counted
            The samples in the sum, shape (n,); None: all.

        >>> away = FadingResidual.of(np.array([[1.0, 1e-40]]), np.array([[0.5, -0.5]]), np.full((1, 2), 1e6), None)
        >>> bool(np.max(np.abs(away.settled - 0.5)) < 1e-4)  # almost where they were
        True
        >>> near = FadingResidual.of(np.array([[1.0, 1e-40]]), np.array([[0.5, -0.5]]), np.zeros((1, 2)), None)
        >>> near.residual.round(12).tolist()
        [[0.5, -0.5]]
        """
        given, answers = np.maximum(given_back, _LEAST_FORCE), np.maximum(answers, _LEAST_ANSWER)
        forces = given_back - missing
        way = wrightomega(np.log(given) + np.log(answers) + answers * forces) / answers - forces  # p - f
        gone = given * np.expm1(-answers * way)  # once more by Newton's method: the way may be rounding of p
        way -= (way - missing - gone) / (1.0 + answers * (given + gone))
        settled = forces + way
        residual = way * (1.0 + answers * settled)
        among = slice(None) if counted is None else counted
        total = np.sum(settled[:, among], axis=1, keepdims=True)
        excess = np.sum((residual - missing)[:, among], axis=1, keepdims=True)  # the forces keep their sum
        return cls(settled, residual - settled * (excess / total))
