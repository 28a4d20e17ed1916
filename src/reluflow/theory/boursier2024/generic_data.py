"""What holds almost surely for data with densities: Lemmas 2, 3, 9 and 10 [boursier2024].

No dataset can show that it was drawn from a density. So the lemmas are held against data that are: the given samples
and labels, each moved by a Gaussian step. What the given dataset itself does is reported among the constants.
"""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.geometry.extremal import extremal_vectors
from reluflow.geometry.general_position import general_position
from reluflow.geometry.thresholds import AlignmentConstants, alignment_constants
from reluflow.theory.comparison import Comparison, at_least, judgement, none_of, require
from reluflow.theory.evidence import Evidence, computed_once, drawn
from reluflow.theory.facts import MAX_FACES
from reluflow.theory.measures import Constants


@drawn("datasets")
def moved_datasets(evidence: Evidence) -> tuple[Dataset, ...]:
    """The dataset with every sample and label moved by a Gaussian step; binary labels stay as they are."""
    X, y = evidence.dataset.X, evidence.dataset.y
    spread, rng = evidence.parameter("spread"), np.random.default_rng(0)
    size, height = float(np.sqrt(np.mean(X**2))), float(np.sqrt(np.mean(y**2)))
    found = []
    for _ in range(round(evidence.parameter("draws"))):
        step = height * rng.standard_normal(y.shape) * (not evidence.loss.is_classification)
        found.append(Dataset(X + spread * size * rng.standard_normal(X.shape), y + spread * step))
    return tuple(found)


def _datasets(evidence: Evidence) -> tuple[Dataset, ...]:
    """The moved datasets, where their cones can be visited."""
    require(evidence.facts.has_affordable_cones, "there are too many cones to visit")
    return moved_datasets(evidence)


def _constants_of(dataset: Dataset, evidence: Evidence) -> AlignmentConstants:
    return alignment_constants(dataset, evidence.loss, leak=evidence.leak, max_cones=MAX_FACES)


@computed_once
def _constants_around(evidence: Evidence) -> list[AlignmentConstants]:
    return [_constants_of(data, evidence) for data in _datasets(evidence)]


def _affordable(evidence: Evidence) -> Comparison:
    holds = evidence.facts.has_affordable_cones
    words = "can" if holds else "cannot"
    return judgement(holds or None, None, f"the cones of {evidence.dataset.n} samples {words} be visited one by one")


def _in_general_position(evidence: Evidence) -> Comparison:
    leak, loss = evidence.leak, evidence.loss
    margins = [general_position(data, loss, leak=leak, max_cones=MAX_FACES).margin for data in _datasets(evidence)]
    return at_least(min(margins), 0.0, detail=f"smallest margin {min(margins):.4g} over {len(margins)} datasets")


def _has_extremal_vector(evidence: Evidence) -> Comparison:
    leak, loss = evidence.leak, evidence.loss
    counts = [len(extremal_vectors(data, loss, leak=leak, max_cones=MAX_FACES)) for data in _datasets(evidence)]
    return at_least(min(counts), 1.0, detail=f"between {min(counts)} and {max(counts)} over {len(counts)} datasets")


def positive_constants(evidence: Evidence, *names: str) -> Comparison:
    """Constants of App. D.1 above 0 on every moved dataset; the slack is the smallest value."""
    require(evidence.facts.has_affordable_cones, "there are too many cones to visit")
    found = {name: [float(getattr(constants, name)) for constants in _constants_around(evidence)] for name in names}
    values = [min(each) for each in zip(*found.values(), strict=True)]
    not_positive = sum(value <= 0.0 for value in values)
    smallest = ", ".join(f"{name} >= {min(each):.4g}" for name, each in found.items())
    if not_positive:
        return none_of(not_positive, total=len(values), detail=f"{not_positive} datasets have none: {smallest}")
    return at_least(min(values), 0.0, detail=f"{smallest} over {len(values)} datasets")


def _of_this_dataset(evidence: Evidence) -> Constants:
    if not evidence.facts.has_affordable_cones:
        return {}
    found, generic = _constants_of(evidence.dataset, evidence), evidence.facts.general_position
    return {
        "margin_of_dataset": None if generic is None else generic.margin,
        "extremal_vectors_of_dataset": len(evidence.facts.extremal),
        "alpha_min_of_dataset": found.alpha_min,
        "D_min_of_dataset": found.d_min,
        "delta_0_of_dataset": found.delta_0,
    }
