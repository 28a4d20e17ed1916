"""Proposition 2 and Theorem 1: the direction of the limit is max-margin class by class, and its features collapse.

Residuals fall like 1/sqrt(log t) or 1/log t, so nothing is judged by nearness at one time: what is measured is
extrapolated to log t = infinity, and the limit itself is held against the KKT conditions of the margin problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.trajectory import Snapshot
from reluflow.losses.coupled import margins_of_outputs
from reluflow.network import Network
from reluflow.papers.min2025.alignments import DEAD
from reluflow.papers.min2025.class_geometry import pseudo_labels
from reluflow.papers.min2025.collapse import margin_one_multipliers, margin_one_network
from reluflow.papers.min2025.paper import EXAMPLE, SETTING
from reluflow.papers.min2025.theorems.shared import START_HYPOTHESES, alignments, geometry
from reluflow.theory.comparison import Comparison, Level, Values, judgement, require
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtMost, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

EXTRAPOLATED = 2e-3  # what the fit of two powers over log t = 50 to 600 leaves of a residual that tends to 0
CERTIFIED = 1e-9

LOG_TIME = Parameter("log_time", 600.0, r"$\log t$ of the last snapshot", low=50.0, high=700.0)


def late_plan(evidence: Evidence) -> FlowPlan:
    """Snapshots at 0 and at six times, even in log log t."""
    logs = np.geomspace(50.0, evidence.parameter("log_time"), 6)
    return FlowPlan(times=(0.0, *np.exp(logs)), until=Exhausted(), horizon=float(np.exp(logs[-1])))


def late(evidence: Evidence) -> list[Snapshot]:
    """The snapshots after log t = 1."""
    return [s for s in evidence.run.snapshots if s.time > math.e]


def extrapolated(snapshots: list[Snapshot], values: list[FloatArray], powers: tuple[float, ...]) -> FloatArray:
    """The constant of a fit a + sum_p b_p (log t)^-p, entry by entry."""
    require(len(values) > len(powers), "too few late snapshots for an extrapolation")
    logs = np.array([np.log(s.time) for s in snapshots])
    columns = np.column_stack([np.ones(logs.size), *(logs**-p for p in powers)])
    rows = np.array([np.ravel(value) for value in values])
    return np.asarray(np.linalg.lstsq(columns, rows, rcond=None)[0][0])


SLOW, FAST = (0.5, 1.0), (1.0, 2.0)  # of what freezes while the norm grows like sqrt(log t), and of the rest


@computed_once
def groups(evidence: Evidence) -> IntArray:
    """The class in whose trap each neuron is at the last time; DEAD where it fires on nothing."""
    return alignments(evidence, late(evidence)[-1].network).traps


def _all_trapped(evidence: Evidence) -> Comparison:
    require(late(evidence), "there is no late snapshot")
    found = groups(evidence)
    counts = [int(np.sum(found == c)) for c in range(evidence.problem.num_outputs)]
    unsorted = int(np.sum((found < 0) & (found != DEAD)))
    words = f"{counts} neurons in the traps of the classes, {int(np.sum(found == DEAD))} dead, {unsorted} in none"
    return judgement(unsorted == 0 and min(counts) > 0, float(min(counts)) - unsorted, words)


def _unit(network: Network) -> tuple[FloatArray, FloatArray]:
    """W/|theta| and V/|theta|."""
    w, v = network.w, network.v
    size = np.sqrt(np.sum(w**2) + np.sum(v**2))
    return w / size, v / size


def _off_direction(evidence: Evidence, *, outputs: bool) -> Values:
    """What the extrapolated W_c/|theta| has off u_c, or V_c/|theta| off etilde_c, as a norm per class."""
    snapshots, found = late(evidence), []
    rows = pseudo_labels(evidence.problem.num_outputs) if outputs else geometry(evidence).directions
    for c, axis in enumerate(rows):
        mine = groups(evidence) == c
        parts = [_unit(s.network)[1 if outputs else 0][mine] for s in snapshots]
        off = [part - np.outer(part @ axis, axis) for part in parts]
        found.append(np.linalg.norm(extrapolated(snapshots, off, FAST if outputs else SLOW)))
    return found


def _off_u(evidence: Evidence) -> Values:
    return _off_direction(evidence, outputs=False)


def _off_labels(evidence: Evidence) -> Values:
    return _off_direction(evidence, outputs=True)


def _share_errors(evidence: Evidence) -> Values:
    """|extrapolated |W_c|^2/|theta|^2 - s_c^2| over classes."""
    snapshots = late(evidence)
    values = [
        np.array([np.sum(_unit(s.network)[0][groups(evidence) == c] ** 2) for c in range(evidence.problem.num_outputs)])
        for s in snapshots
    ]
    return [np.abs(extrapolated(snapshots, values, FAST) - geometry(evidence).shares)]


TRAPPED = Hypothesis(
    "trapped",
    "at a recorded time every live neuron is in the trap of a class, and every class has one",
    _all_trapped,
    is_regime=True,
    needs_trajectory=True,
)


@dataclass(frozen=True, eq=False)
class ClassMarginPoint:
    """The limit scaled to margin 1, one neuron per class, and its multipliers, shape (n, K)."""

    network: Network
    multipliers: FloatArray


def margin_point(evidence: Evidence) -> ClassMarginPoint:
    """In closed form, from the max-margin vectors of the classes."""
    return ClassMarginPoint(margin_one_network(geometry(evidence)), margin_one_multipliers(geometry(evidence)))


def _feasible(evidence: Evidence) -> float:
    point = evidence.recorded(ClassMarginPoint)
    return abs(float(np.min(margins_of_outputs(point.network.outputs(evidence.dataset.X), evidence.dataset.y))) - 1.0)


def _complementary(evidence: Evidence) -> Values:
    """lambda_kc times the distance of its margin from 1."""
    point, labels = evidence.recorded(ClassMarginPoint), geometry(evidence).labels
    h = point.network.outputs(evidence.dataset.X)
    gaps = h[np.arange(len(h)), labels][:, None] - h
    return [np.abs(point.multipliers * (gaps - 1.0)), np.maximum(-point.multipliers, 0.0)]


def _stationary(evidence: Evidence) -> Values:
    """theta less the gradient sum lambda (e_y - e_c), relative to |theta|."""
    point, labels = evidence.recorded(ClassMarginPoint), geometry(evidence).labels
    K, w, v = evidence.problem.num_outputs, point.network.w, point.network.v
    forces = point.multipliers.sum(axis=1, keepdims=True) * np.eye(K)[labels] - point.multipliers
    active = w @ evidence.dataset.X.T > 0.0
    on_w = (active * (v @ forces.T)) @ evidence.dataset.X
    on_v = np.maximum(w @ evidence.dataset.X.T, 0.0) @ forces
    return [np.linalg.norm(w - on_w) / np.linalg.norm(w), np.linalg.norm(v - on_v) / np.linalg.norm(v)]


def _gammas(evidence: Evidence) -> FloatArray:
    return geometry(evidence).gammas


def _shares(evidence: Evidence) -> FloatArray:
    return geometry(evidence).shares


LIMIT_CONSTANTS = Quantities({"gamma": _gammas, "s_squared": _shares})

PROP_2 = Theorem(
    "min2025:prop2",
    Reference("min2025", "Prop. 2"),
    r"Once every live neuron is in a trap and each class has one, $\theta/|\theta|$ tends to $W_c = s_c g_c u_c^\top$, "
    r"$V_c = s_c g_c \tilde{e}_c^\top$ with $g_c \ge 0$ a unit vector and $s_c^2 = \gamma_c^{-1}/(2 "
    r"\sum_l \gamma_l^{-1})$, a "
    r"KKT point of the margin problem.",
    hypotheses=(*START_HYPOTHESES, TRAPPED),
    conclusions=(
        Conclusion(
            "W",
            r"the part of $W_c/|\theta|$ off $u_c$ tends to 0",
            AtMost(_off_u, EXTRAPOLATED, words="{measured:.3g} extrapolated"),
            is_asymptotic=True,
        ),
        Conclusion(
            "V",
            r"the part of $V_c/|\theta|$ off $\tilde{e}_c$ tends to 0",
            AtMost(_off_labels, EXTRAPOLATED, words="{measured:.3g} extrapolated"),
            is_asymptotic=True,
        ),
        Conclusion(
            "shares",
            r"$|W_c|^2/|\theta|^2$ tends to $s_c^2$",
            AtMost(_share_errors, EXTRAPOLATED, words="{measured:.3g} extrapolated"),
            is_asymptotic=True,
        ),
        Conclusion("feasible", "the limit scaled to margin 1 has margin 1", AtMost(_feasible, CERTIFIED), Level.EXACT),
        Conclusion(
            "complementary", "its multipliers vanish off the margin", AtMost(_complementary, CERTIFIED), Level.EXACT
        ),
        Conclusion("stationary", "it is stationary with them", AtMost(_stationary, CERTIFIED), Level.EXACT),
    ),
    constants=LIMIT_CONSTANTS,
    parameters=(LOG_TIME,),
    plan=late_plan,
    record=margin_point,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E5, E6: the proof by Lemma 13 has a gap and hypotheses are missing; the limit follows from the KKT "
    "conditions by Perron's theorem.",
    takes_classes=True,
)


# Theorem 1 ------------------------------------------------------------------------------------------------------------


def _features(evidence: Evidence, snapshot: Snapshot) -> FloatArray:
    """max(W x_k, 0)/|theta| at a time, shape (n, m)."""
    w, _ = _unit(snapshot.network)
    return np.maximum(evidence.dataset.X @ w.T, 0.0)


def _within_class(evidence: Evidence) -> Values:
    """What extrapolated features of a class have off their first common direction, over their length."""
    snapshots, found = late(evidence), []
    limit = extrapolated(snapshots, [_features(evidence, s) for s in snapshots], SLOW).reshape(evidence.dataset.n, -1)
    for members in geometry(evidence).members:
        singular = np.linalg.svd(limit[members], compute_uv=False)
        found.append(float(np.sqrt(np.sum(singular[1:] ** 2)) / singular[0]))
    return found


def _across_classes(evidence: Evidence) -> Values:
    """Cosines of features of two classes at every late time: exactly 0 once every neuron is in a trap."""
    labels = geometry(evidence).labels
    other = labels[:, None] != labels[None, :]
    found = []
    for snapshot in late(evidence):
        features = _features(evidence, snapshot)
        unit = features / np.linalg.norm(features, axis=1, keepdims=True)
        found.append(np.abs(unit @ unit.T)[other])
    return found


def _classifier(evidence: Evidence) -> Values:
    """Distance of the extrapolated V/|theta| from sum_c s_c phibar_c etilde_c^T, with phibar_c of its own features."""
    snapshots, classes = late(evidence), geometry(evidence)
    v = extrapolated(snapshots, [_unit(s.network)[1] for s in snapshots], FAST).reshape(snapshots[-1].network.v.shape)
    features = extrapolated(snapshots, [_features(evidence, s) for s in snapshots], SLOW).reshape(len(classes.X), -1)
    means = np.array([features[members].mean(axis=0) for members in classes.members])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    target = means.T @ (np.sqrt(classes.shares)[:, None] * pseudo_labels(classes.num_classes))
    return [float(np.linalg.norm(v - target))]


THM_1 = Theorem(
    "min2025:thm1",
    Reference("min2025", "Theorem 1, Eqs. (4)-(6)"),
    r"Neural collapse: in the limit of $\theta/|\theta|$ the features of class $c$ are $s_c \langle u_c, x_k\rangle "
    r"\bar{\varphi}_c$ with orthogonal unit vectors $\bar{\varphi}_c \ge 0$, and $V = \sum_c s_c "
    r"\tilde{e}_c \bar{\varphi}_c^\top$.",
    hypotheses=(*START_HYPOTHESES, TRAPPED),
    conclusions=(
        Conclusion(
            "collapse",
            "the features of a class become parallel",
            AtMost(_within_class, EXTRAPOLATED, words="{measured:.3g} off their direction, extrapolated"),
            is_asymptotic=True,
        ),
        Conclusion(
            "orthogonal",
            "features of two classes are orthogonal, exactly from the separation on",
            AtMost(_across_classes, 0.0, allowance=1e-12),
            Level.EXACT,
        ),
        Conclusion(
            "self-dual",
            r"$V$ tends to $\sum_c s_c \tilde{e}_c \bar{\varphi}_c^\top$",
            AtMost(_classifier, 2.0 * EXTRAPOLATED, words="{measured:.3g} extrapolated"),
            is_asymptotic=True,
        ),
    ),
    constants=LIMIT_CONSTANTS,
    parameters=(LOG_TIME,),
    plan=late_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E2, E3, E6, E11: the start that is printed does not lead there, the trap does; the "
    "classifier is a simplex "
    "only for equal margins.",
    diagnosed=DataHypotheses(losses=("softmax",), leaks="relu"),
    takes_classes=True,
)
