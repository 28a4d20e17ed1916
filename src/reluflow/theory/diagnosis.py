"""Diagnosis: every data assumption of the papers on one dataset, and which theorems that leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from reluflow.data.dataset import Dataset
from reluflow.data.given import as_dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss, loss_named
from reluflow.tables import RowsToFrame, html_table
from reluflow.theory.condition import Condition, Judgement
from reluflow.theory.conditions import boursier2024, chistikov2023, lee2022, lyu2021, min2024, phuong2021
from reluflow.theory.facts import DatasetFacts


@dataclass(frozen=True)
class Assumption:
    """A condition before it meets a dataset: its key, its paper, where it stands, how it is judged."""

    key: str
    paper: str
    statement: str
    judge: Callable[[DatasetFacts], Judgement]


ASSUMPTIONS: tuple[Assumption, ...] = (
    Assumption(
        "linearly-separable",
        "lyu2021",
        "Assumption 3.2: some w has y_i <w, x_i> > 0 for all i",
        lyu2021.linear_separability,
    ),
    Assumption(
        "orthogonally-separable",
        "phuong2021",
        "Eq. (1), also H.1 of lyu2021: inner products > 0 within a class, <= 0 across",
        min2024.orthogonal_separability,
    ),
    Assumption(
        "orthogonally-separable-strict",
        "min2024",
        "Assumption 1: mu = min cos(y_i x_i, y_k x_k) > 0",
        min2024.correlation,
    ),
    Assumption(
        "min-a2",
        "min2024",
        "Assumption 2: no neuron starts along the aggregate of the other class",
        min2024.directions_at_start,
    ),
    Assumption(
        "min-loss", "min2024", "Lemma 2 (E4): |force(h, y) - y| <= 2|h| on [-1, 1]", min2024.loss_has_unit_force
    ),
    Assumption(
        "summed-loss",
        "min2024",
        "Sec. 2: the loss is a sum over samples (also phuong2021, Eq. (3))",
        min2024.sum_reduction,
    ),
    Assumption(
        "support-spans", "phuong2021", "Sec. 2: the support samples of each class span R^d", phuong2021.support_spans
    ),
    Assumption(
        "dead-cone-empty",
        "phuong2021",
        "Remark on Thm 1: no w != 0 has <w, x_k> <= 0 for all k",
        phuong2021.dead_cone_is_empty,
    ),
    Assumption("symmetric", "lyu2021", "Assumption 4.1: with (x, y) the data hold (-x, -y)", lyu2021.symmetry),
    Assumption("lyu-4.5", "lyu2021", "Assumption 4.5: <mu, x_i> != 0 for all i", lyu2021.mean_is_off_boundaries),
    Assumption(
        "non-branching",
        "lyu2021",
        "Assumptions 4.6, A.6: the flow near aligned networks is unique",
        lyu2021.non_branching,
    ),
    Assumption("unit-ball", "lyu2021", "Sec. 3: |x_i| <= 1 (explicit constants only)", lyu2021.unit_ball),
    Assumption(
        "principal-direction",
        "lyu2021",
        "Assumption A.1: a direction dominates every sample",
        lyu2021.principal_direction,
    ),
    Assumption(
        "lyu-a2",
        "lyu2021",
        "Assumption A.2: <mu, z_i> > (1-leak)/(n leak) sum_j max(-<z_i, z_j>, 0)",
        lyu2021.pairwise_condition,
    ),
    Assumption("lyu-a3", "lyu2021", "Assumption A.3: |mu^+| > |mu^-|", lyu2021.positive_mean_is_longer),
    Assumption(
        "lyu-a5",
        "lyu2021",
        "Assumption A.5 as printed: negative networks have margin < gamma^+/2 on the support of w^+",
        lyu2021.negative_networks_are_worse,
    ),
    Assumption(
        "lyu-a5-star",
        "lyu2021",
        "Assumption A.5* (E4): the same for the dual multipliers of w^+",
        lyu2021.negative_neurons_do_not_take_over,
    ),
    Assumption("lyu-a8", "lyu2021", "Assumption A.8: |mu^+| < |mu^-|", lyu2021.negative_mean_is_longer),
    Assumption(
        "lyu-a9",
        "lyu2021",
        "Assumption A.9 (E5), repaired as A.5*: positive networks, support of w^-",
        lyu2021.positive_neurons_do_not_take_over,
    ),
    Assumption(
        "hinted", "lyu2021", "Def. 6.1: a separable set with three hints, admissible for Thm 6.2", lyu2021.hinted
    ),
    Assumption(
        "boursier-a1",
        "boursier2024",
        "Assumption 1: dl/dh is 1-Lipschitz and not 0 at h = 0 unless y = 0",
        boursier2024.loss_is_smooth,
    ),
    Assumption(
        "boursier-a2",
        "boursier2024",
        "Assumption 2: independent samples with densities",
        boursier2024.samples_have_densities,
    ),
    Assumption(
        "general-position",
        "boursier2024",
        "Lemma 2: samples independent, no D_u on the boundary of its cone",
        boursier2024.general_position,
    ),
    Assumption("no-saddle", "boursier2024", "Theorem 1: no extremal vector is a saddle of G", boursier2024.no_saddle),
    Assumption(
        "no-dead-saddle",
        "boursier2024",
        "Theorem 1 (E14): no saddle of G on a cone with D_u = 0 either",
        boursier2024.no_dead_saddle,
    ),
    Assumption(
        "three-point-box",
        "boursier2024",
        "Assumption 3 with eta < 1/6, as printed in Thm 2",
        boursier2024.three_point_box,
    ),
    Assumption(
        "three-point-box-corrected",
        "boursier2024",
        "Assumption 3 with the eta for which Lemma 8 is true (E3)",
        boursier2024.corrected_three_point_box,
    ),
    Assumption(
        "boursier-a4",
        "boursier2024",
        "Assumption 4: acute samples, positive labels, n >= d, independent",
        boursier2024.acute_positive_data,
    ),
    Assumption(
        "boursier-a5",
        "boursier2024",
        "Assumption 5: a single active neuron stays active on all samples",
        boursier2024.facet_condition,
    ),
    Assumption(
        "boursier-a6",
        "boursier2024",
        "Assumption 6: no mixed neuron lowers the loss at the least-squares line",
        boursier2024.residual_condition,
    ),
    Assumption("lee-gaussian", "lee2022", "Sec. 2: standard Gaussian inputs, infinitely many", lee2022.gaussian_inputs),
    Assumption(
        "lee-realizable", "lee2022", "Sec. 2: the labels are those of one ReLU neuron", lee2022.single_neuron_realizable
    ),
    Assumption(
        "lee-unique-minimum",
        "lee2022",
        "Prop. B.2 (E7): mean of 1{<w*, x> > 0} x x^T is positive definite",
        lee2022.active_covariance_is_definite,
    ),
    Assumption(
        "correlated-teacher",
        "chistikov2023",
        "Sec. 2: the labels are those of one neuron within 45 degrees of every sample",
        chistikov2023.correlated_teacher,
    ),
    Assumption(
        "chistikov-a1i",
        "chistikov2023",
        "Assumption 1(i): d > 1, the samples span R^d, the teacher has length 1",
        chistikov2023.spanning_unit_teacher,
    ),
    Assumption(
        "chistikov-a1iii",
        "chistikov2023",
        "Assumption 1(iii): distinct directions and eigenvalues of X^T X, teacher in no eigenspan",
        chistikov2023.generic_covariance,
    ),
)


@dataclass(frozen=True)
class DataHypotheses:
    """The data part of a theorem's hypotheses, read off the theorem itself.

    Parameters
    ----------
    key
        `paper:result`.
    losses
        Names of the losses it speaks of.
    leaks
        "any", "relu" for leak 0, or "leaky" for a leak in (0, 1).
    total_force
        Force of one sample at h = 0 for which its times are stated, summed over samples; None if no time is stated.
        Another factor or the mean over samples runs through the same trajectory at another speed.
    apart
        Assumptions of the theorem that say nothing of the data: of the draw, or of the unit of time.
    """

    key: str
    losses: tuple[str, ...] = ("square", "logistic", "exponential")
    leaks: str = "any"
    total_force: float | None = None
    apart: tuple[str, ...] = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """Keys of the assumptions among the theorem's own hypotheses, in its order."""
        from reluflow.theory.registry import theorem_named

        known = {assumption.key for assumption in ASSUMPTIONS} - set(self.apart)
        return tuple(h.name for h in theorem_named(self.key).hypotheses if h.name in known)


_CLASSIFICATION = ("logistic", "exponential")

THEOREMS: tuple[DataHypotheses, ...] = (
    DataHypotheses("boursier2024:thm1"),
    DataHypotheses("boursier2024:thm2", losses=("square",), leaks="relu"),
    DataHypotheses("boursier2024:thm3"),
    DataHypotheses("boursier2024:thm4", losses=("square",), leaks="relu"),
    DataHypotheses(
        "min2024:thm1",
        losses=_CLASSIFICATION,
        leaks="relu",
        total_force=1.0,
        apart=("min-loss", "summed-loss", "min-a2"),
    ),
    DataHypotheses("phuong2021:thm1", losses=_CLASSIFICATION, leaks="relu"),
    DataHypotheses("lyu2021:thm4.2", losses=_CLASSIFICATION),
    DataHypotheses("lyu2021:thm4.3", losses=("logistic",), leaks="leaky"),
    DataHypotheses("lyu2021:thm6.2", losses=("logistic",), leaks="leaky"),
    DataHypotheses("lyu2021:thmA.7", losses=("logistic",), leaks="leaky"),
    DataHypotheses("lyu2021:thmA.10", losses=("logistic",), leaks="leaky"),
    DataHypotheses("lyu2021:thmH.2", losses=_CLASSIFICATION, leaks="relu"),
    DataHypotheses("lee2022:thm3.2", losses=("square",), leaks="relu"),
)


@dataclass(frozen=True)
class Applicability:
    """Whether a theorem's data hypotheses hold: True, False, or None where one of them is undecided."""

    key: str
    applicable: bool | None
    why: str


@dataclass(frozen=True)
class Diagnosis(RowsToFrame):
    """What one dataset says to every assumption and theorem."""

    dataset: Dataset
    loss: AbstractLoss
    leak: float
    conditions: tuple[Condition, ...]
    theorems: tuple[Applicability, ...]

    def table(self) -> list[dict[str, Any]]:
        """One row per condition, ready for a data frame."""
        return [asdict(condition) for condition in self.conditions]

    def __repr__(self) -> str:
        holding = sum(c.holds is True for c in self.conditions)
        allowed = ", ".join(t.key for t in self.theorems if t.applicable) or "none"
        return (
            f"Diagnosis({self.dataset.name}: {holding} of {len(self.conditions)} conditions hold; "
            f"theorems the data allow: {allowed})"
        )

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())

    def __getitem__(self, key: str) -> Condition:
        for condition in self.conditions:
            if condition.key == key:
                return condition
        raise InvalidInputError(f"`key` must be one of {', '.join(c.key for c in self.conditions)}, got {key!r}.")


def diagnose(dataset: Dataset, loss: AbstractLoss | str | None = None, *, leak: float = 0.0) -> Diagnosis:
    """Judge every data assumption of the papers on a dataset.

    Parameters
    ----------
    dataset
        At least two samples, none zero; a data frame or anything `as_dataset` takes.
    loss
        A loss or its name; by default the averaged square loss for regression, logistic loss for classification.
    leak
        Negative slope; Lyu et al.'s assumptions depend on it.

    Returns
    -------
    Diagnosis
        `conditions` in a fixed order with signed margins, and `theorems` with the data hypotheses that fail.

    Examples
    --------
    >>> import reluflow
    >>> found = diagnose(reluflow.load("three-points"))
    >>> found["boursier-a5"].holds, round(found["boursier-a5"].margin, 4)
    (False, -0.9658)
    """
    dataset = as_dataset(dataset)
    if dataset.n < 2:
        raise InvalidInputError("a diagnosis compares samples and needs at least 2 of them, got 1; add a sample.")
    dataset.check_samples()
    chosen = loss_named(loss) if isinstance(loss, str) else loss
    facts = DatasetFacts(dataset, default_loss(dataset) if chosen is None else chosen, leak)
    conditions = tuple(_judge(assumption, facts) for assumption in ASSUMPTIONS)
    by_key = {condition.key: condition for condition in conditions}
    theorems = tuple(_applicability(theorem, by_key, facts) for theorem in THEOREMS)
    return Diagnosis(dataset, facts.loss, leak, conditions, theorems)


def default_loss(dataset: Dataset) -> AbstractLoss:
    """The averaged square loss for regression, the averaged logistic loss for classification."""
    return loss_named("logistic" if dataset.task == "classification" else "square")


def _judge(assumption: Assumption, facts: DatasetFacts) -> Condition:
    judgement = assumption.judge(facts)
    return Condition(
        assumption.key, assumption.paper, assumption.statement, judgement.holds, judgement.margin, judgement.detail
    )


def _applicability(theorem: DataHypotheses, conditions: dict[str, Condition], facts: DatasetFacts) -> Applicability:
    if facts.loss.name not in theorem.losses:
        return Applicability(
            theorem.key, False, f"stated for the {' or '.join(theorem.losses)} loss, not {facts.loss.name}"
        )
    if theorem.leaks == "relu" and facts.leak != 0.0:
        return Applicability(theorem.key, False, f"stated for ReLU, leak 0, not {facts.leak:g}")
    if theorem.leaks == "leaky" and not 0.0 < facts.leak < 1.0:
        return Applicability(theorem.key, False, f"stated for a leak in (0, 1), not {facts.leak:g}")
    needed = [conditions[key] for key in theorem.conditions]
    failing = [condition for condition in needed if condition.holds is False]
    if failing:
        return Applicability(theorem.key, False, "; ".join(f"{c.key}: {c.detail}" for c in failing))
    open_ones = [condition for condition in needed if condition.holds is None]
    if open_ones:
        return Applicability(theorem.key, None, "; ".join(f"{c.key} is undecided: {c.detail}" for c in open_ones))
    return Applicability(theorem.key, True, f"{', '.join(theorem.conditions)} hold{_speed_note(theorem, facts)}")


def _speed_note(theorem: DataHypotheses, facts: DatasetFacts) -> str:
    """How the theorem's times read for this loss, where it states times for another one."""
    if theorem.total_force is None:
        return ""
    force = facts.loss.sample_weight(facts.dataset.n) * float(facts.loss.force_at_zero(1.0))
    slowdown = theorem.total_force / force
    return "" if slowdown == 1.0 else f"; its times are multiplied by {slowdown:g} for this loss"
