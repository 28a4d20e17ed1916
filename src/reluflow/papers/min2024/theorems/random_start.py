"""Random starts: a Gaussian neuron is active on its class with probability at least 1/2 [min2024]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, SignArray
from reluflow.geometry.alignment import align
from reluflow.papers.min2024.assumptions import CORRELATED, SUMMED_LOSS, UNIT_FORCE
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.constants import data_constants
from reluflow.papers.min2024.theorems.moving_neurons import cones_of
from reluflow.theory.comparison import Comparison, Level, Values, all_of, at_least
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import AtLeast
from reluflow.theory.theorem import Conclusion, Reference, Theorem

NUM_DRAWS = 4000
ALONG = 1e-9  # radians: below this a draw is along an aggregate


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent Gaussian neurons.

    Parameters
    ----------
    directions
        Input weights, shape (NUM_DRAWS, d).
    ends
        By the sign of a class: the patterns in which those that are active on an own sample end under (4), in closed
        form, shape (k, n).
    """

    directions: FloatArray
    ends: Mapping[int, SignArray]


def _draws(evidence: Evidence) -> Draws:
    data = data_constants(evidence)
    drawn = np.random.default_rng(7).standard_normal((NUM_DRAWS, evidence.dataset.d))
    norms, ends = np.linalg.norm(drawn, axis=1), {}
    for sign in data.classes:
        active = np.any(drawn @ data.X[data.members(sign)].T > 0.0, axis=1)
        aligned = align(data.X, evidence.loss.label_forces(data.y), drawn[active], sign * norms[active])
        ends[sign] = aligned.patterns
    return Draws(drawn, ends)


def _active_frequency(evidence: Evidence) -> Comparison:
    """Frequency of being active on at least one own sample; four standard deviations of the draw are forgiven."""
    data, draws = data_constants(evidence), evidence.recorded(Draws).directions
    frequencies = [float(np.mean(np.any(draws @ data.X[data.members(s)].T > 0.0, axis=1))) for s in data.classes]
    words = f"smallest frequency {min(frequencies):.4g} in {len(draws)} draws, at least 1/2"
    return at_least(min(frequencies), 0.5, allowance=2.0 / np.sqrt(len(draws)), detail=words)


def _draws_reach_their_cone(evidence: Evidence) -> Comparison:
    """Every drawn neuron that is active on an own sample ends in its cone."""
    statements, ends = [], evidence.recorded(Draws).ends
    for sign in data_constants(evidence).classes:
        wrong = int(np.sum(cones_of(ends[sign] > 0, evidence.dataset.y) != sign))
        statements.append((wrong == 0, f"{wrong} of {len(ends[sign])} with sign {sign} miss their cone"))
    return all_of(statements, detail="; ".join(words for _, words in statements))


def _draws_meet_assumption_2(evidence: Evidence) -> Values:
    """The angles of the draws to the aggregates, as lengths of differences of unit vectors."""
    data, draws = data_constants(evidence), evidence.recorded(Draws).directions
    unit = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    for sign in data.classes:
        yield np.linalg.norm(unit - data.total(sign) / np.linalg.norm(data.total(sign)), axis=1)


RANDOM_START = Theorem(
    "min2024:random-start",
    Reference("min2024", "Sec. 3.2, random initialisation"),
    "A Gaussian neuron is active on its class with probability at least 1/2 and then reaches its cone, so $S_+$ "
    "is empty at $t_1$ with probability at most $2^{-|V_+|}$; Assumption 2 holds almost surely.",
    hypotheses=(assumed(CORRELATED), assumed(UNIT_FORCE), assumed(SUMMED_LOSS)),
    conclusions=(
        Conclusion("frequency", "frequency of being active on an own sample", _active_frequency),
        Conclusion("reach", "every such neuron reaches its cone under (4)", _draws_reach_their_cone, Level.EXACT),
        Conclusion(
            "assumption-2",
            "no draw is along an aggregate",
            AtLeast(
                _draws_meet_assumption_2, ALONG, words="smallest angle of a draw to an aggregate is {measured:.3g}"
            ),
        ),
    ),
    record=_draws,
    setting=SETTING,
    example=EXAMPLE,
)
