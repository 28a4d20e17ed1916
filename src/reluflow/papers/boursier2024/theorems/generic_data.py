"""What holds almost surely for data with densities: Lemmas 2, 3, 9 and 10 [boursier2024].

No dataset can show that it was drawn from a density. So the lemmas are held against data that are: the given samples
and labels, each moved by a Gaussian step. What the given dataset itself does is reported among the constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.geometry.extremal import extremal_vectors
from reluflow.geometry.general_position import general_position
from reluflow.geometry.thresholds import AlignmentConstants, alignment_constants
from reluflow.papers.boursier2024.assumptions import SMOOTH_LOSS
from reluflow.papers.boursier2024.paper import SETTING, THREE_POINTS
from reluflow.theory.comparison import Comparison, Level, at_least, judgement, none_of, require
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.facts import MAX_FACES
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import Constants
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

SPREAD = Parameter("spread", 0.05, "size of the Gaussian steps, relative to the samples and labels", low=0.0)
DRAWS = Parameter("draws", 8.0, "number of moved datasets", low=0.5, high=1000.5)


@dataclass(frozen=True, eq=False)
class MovedDatasets:
    """Datasets around the given one, drawn from densities."""

    datasets: tuple[Dataset, ...]


def moved_datasets(evidence: Evidence) -> MovedDatasets:
    """The dataset with every sample and label moved by a Gaussian step; binary labels stay as they are."""
    X, y = evidence.dataset.X, evidence.dataset.y
    spread, rng = evidence.parameter("spread"), np.random.default_rng(0)
    size, height = float(np.sqrt(np.mean(X**2))), float(np.sqrt(np.mean(y**2)))
    found = []
    for _ in range(round(evidence.parameter("draws"))):
        step = height * rng.standard_normal(y.shape) * (not evidence.loss.is_classification)
        found.append(Dataset(X + spread * size * rng.standard_normal(X.shape), y + spread * step))
    return MovedDatasets(tuple(found))


def _datasets(evidence: Evidence) -> tuple[Dataset, ...]:
    """The moved datasets, where their cones can be visited."""
    require(evidence.facts.has_affordable_cones, "there are too many cones to visit")
    return evidence.recorded(MovedDatasets).datasets


def _constants_of(dataset: Dataset, evidence: Evidence) -> AlignmentConstants:
    return alignment_constants(dataset, evidence.loss, leak=evidence.leak, max_cones=MAX_FACES)


@computed_once
def _constants_around(evidence: Evidence) -> list[AlignmentConstants]:
    return [_constants_of(data, evidence) for data in _datasets(evidence)]


def _affordable(evidence: Evidence) -> Comparison:
    holds = evidence.facts.has_affordable_cones
    words = "can" if holds else "cannot"
    return judgement(holds or None, None, f"the cones of {evidence.dataset.n} samples {words} be visited one by one")


AFFORDABLE = Hypothesis("affordable", "every cone can be visited", _affordable)


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


def _in_general_position(evidence: Evidence) -> Comparison:
    leak, loss = evidence.leak, evidence.loss
    margins = [general_position(data, loss, leak=leak, max_cones=MAX_FACES).margin for data in _datasets(evidence)]
    return at_least(min(margins), 0.0, detail=f"smallest margin {min(margins):.4g} over {len(margins)} datasets")


LEMMA_2 = Theorem(
    "boursier2024:lemma2",
    Reference("boursier2024", "Lemma 2"),
    "Data with densities are in general position: any $d$ of the $r_k x_k$ are independent, and no subgradient "
    "lies on the boundary of its cone or of the opposite one.",
    hypotheses=(assumed(SMOOTH_LOSS), AFFORDABLE),
    conclusions=(
        Conclusion("generic", "every moved dataset is in general position", _in_general_position, Level.EXACT),
    ),
    constants=_of_this_dataset,
    parameters=(SPREAD, DRAWS),
    record=moved_datasets,
    setting=SETTING,
    example=THREE_POINTS,
    departs="Held against datasets around the given one that do have densities; the given one is in the constants.",
)

# Lemma 3 --------------------------------------------------------------------------------------------------------------


def _has_extremal_vector(evidence: Evidence) -> Comparison:
    leak, loss = evidence.leak, evidence.loss
    counts = [len(extremal_vectors(data, loss, leak=leak, max_cones=MAX_FACES)) for data in _datasets(evidence)]
    return at_least(min(counts), 1.0, detail=f"between {min(counts)} and {max(counts)} over {len(counts)} datasets")


LEMMA_3 = Theorem(
    "boursier2024:lemma3",
    Reference("boursier2024", "Lemma 3"),
    "Data with densities have at least one extremal vector.",
    hypotheses=(assumed(SMOOTH_LOSS), AFFORDABLE),
    conclusions=(
        Conclusion("exists", "every moved dataset has an extremal vector", _has_extremal_vector, Level.EXACT),
    ),
    constants=_of_this_dataset,
    parameters=(SPREAD, DRAWS),
    record=moved_datasets,
    setting=SETTING,
    example=THREE_POINTS,
    departs="Held against datasets around the given one that do have densities; the given one is in the constants.",
)

# Lemma 9, Lemma 10 ----------------------------------------------------------------------------------------------------


def _alpha_min(constants: AlignmentConstants) -> float:
    return constants.alpha_min


def _d_min(constants: AlignmentConstants) -> float:
    return constants.d_min


def _delta_0(constants: AlignmentConstants) -> float:
    return constants.delta_0


def positive_constants(
    evidence: Evidence, constants: Mapping[str, Callable[[AlignmentConstants], float]]
) -> Comparison:
    """Constants of App. D.1 above 0 on every moved dataset; the slack is the smallest value."""
    require(evidence.facts.has_affordable_cones, "there are too many cones to visit")
    around = _constants_around(evidence)
    found = {name: [float(constant(each)) for each in around] for name, constant in constants.items()}
    values = [min(each) for each in zip(*found.values(), strict=True)]
    not_positive = sum(value <= 0.0 for value in values)
    smallest = ", ".join(f"{name} >= {min(each):.4g}" for name, each in found.items())
    if not_positive:
        return none_of(not_positive, total=len(values), detail=f"{not_positive} datasets have none: {smallest}")
    return at_least(min(values), 0.0, detail=f"{smallest} over {len(values)} datasets")


LEMMA_9 = Theorem(
    "boursier2024:lemma9",
    Reference("boursier2024", "Lemma 9"),
    r"For data with densities $\alpha_{\min} > 0$ and $D_{\min} > 0$.",
    hypotheses=(assumed(SMOOTH_LOSS), AFFORDABLE),
    conclusions=(
        Conclusion(
            "positive",
            r"$\alpha_{\min}$ and $D_{\min}$ are positive on every moved dataset",
            partial(positive_constants, constants={"alpha_min": _alpha_min, "d_min": _d_min}),
        ),
    ),
    constants=_of_this_dataset,
    parameters=(SPREAD, DRAWS),
    record=moved_datasets,
    setting=SETTING,
    example=THREE_POINTS,
    departs="Held against datasets around the given one that do have densities; the given one is in the constants.",
)

LEMMA_10 = Theorem(
    "boursier2024:lemma10",
    Reference("boursier2024", "Lemma 10"),
    r"For data with densities $\delta_0 > 0$: no extremal vector has a slope at an end of its interval.",
    hypotheses=(assumed(SMOOTH_LOSS), AFFORDABLE),
    conclusions=(
        Conclusion(
            "positive",
            r"$\delta_0$ is positive on every moved dataset",
            partial(positive_constants, constants={"delta_0": _delta_0}),
        ),
    ),
    constants=_of_this_dataset,
    parameters=(SPREAD, DRAWS),
    record=moved_datasets,
    setting=SETTING,
    example=THREE_POINTS,
    departs="Held against datasets around the given one that do have densities; the given one is in the constants.",
)
