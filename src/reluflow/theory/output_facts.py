"""OutputFacts: what the assumptions that have a meaning for several outputs ask of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import HardMargin, linear_separator
from reluflow.data.dataset import Dataset
from reluflow.geometry.cones import num_cones
from reluflow.geometry.extremal_pairs import ExtremalPairs, extremal_pairs
from reluflow.geometry.pairs import ClassCosines, class_cosines
from reluflow.losses import AbstractLoss
from reluflow.network.network import checked_leak
from reluflow.theory.comparison import Comparison, undecided
from reluflow.theory.condition import Assumption
from reluflow.theory.facts import MAX_SEPARATOR_ENTRIES, DatasetFacts

MAX_FACES = 50_000  # each takes a singular value decomposition, and all of them seconds


@dataclass(frozen=True, eq=False)
class OutputFacts:
    """A dataset with several classes or several targets, its loss and leak, and what the assumptions share."""

    dataset: Dataset
    loss: AbstractLoss
    leak: float = 0.0

    def __post_init__(self) -> None:
        checked_leak(self.leak)
        self.loss.check_labels(self.dataset.y, self.dataset.classes)

    @property
    def way_out(self) -> str:
        """How to come to one output."""
        if self.dataset.classes is not None:
            return "one class against the rest, `dataset.one_against_rest(CLASS)` or `--labels CLASS`, answers it"
        return "one column, `dataset.target(k)` or `--target NAME`, answers it"

    @property
    def without_meaning(self) -> str:
        """Why an assumption on one output is not judged."""
        return f"stated for one output, got {self.dataset.num_outputs}; {self.way_out}"

    @cached_property
    def norms(self) -> FloatArray:
        """|x_k|, shape (n,)."""
        return np.asarray(np.linalg.norm(self.dataset.X, axis=1))

    @cached_property
    def rank(self) -> int:
        """Rank of the samples."""
        return int(np.linalg.matrix_rank(self.dataset.X))

    @cached_property
    def cosines(self) -> ClassCosines | None:
        """Extreme cosines within and across classes; None where the labels are numbers."""
        classes = self.dataset.classes
        return None if classes is None else class_cosines(self.dataset.X, self.dataset.y, len(classes))

    @cached_property
    def separators(self) -> dict[str, HardMargin] | None:
        """The max-margin separator of each class that has a member from the rest; None where out of reach."""
        data = self.dataset
        if data.classes is None or data.X.size * len(data.classes) > MAX_SEPARATOR_ENTRIES:
            return None
        present = [name for c, name in enumerate(data.classes) if 0 < np.sum(data.y == c) < data.n]
        return {name: linear_separator(data.one_against_rest(name)) for name in present}

    @cached_property
    def extremal(self) -> ExtremalPairs | None:
        """All extremal pairs; None where there are too many cones to visit in seconds."""
        smallest = min(self.dataset.n, self.rank)
        if 3.0**smallest - 1.0 > MAX_FACES or num_cones(self.dataset.n, self.rank) > MAX_FACES:
            return None
        return extremal_pairs(self.dataset, self.loss, leak=self.leak, max_cones=MAX_FACES)


def judged(assumption: Assumption, facts: DatasetFacts | OutputFacts) -> Comparison:
    """Whether a dataset meets an assumption; of several outputs, nothing where it has no meaning for them."""
    if isinstance(facts, DatasetFacts):
        return assumption.judge(facts)
    return undecided(facts.without_meaning) if assumption.judge_outputs is None else assumption.judge_outputs(facts)
