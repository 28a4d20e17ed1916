"""The cone of correct signs: Assumptions A.1 and A.2 (Lemmas G.1, G.2), how neurons enter it (G.3, G.4) [lyu2021]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import AlignedState
from reluflow.network.network import row_norms
from reluflow.papers.lyu2021.assumptions import A_2, PRINCIPAL_DIRECTION, pairwise_condition
from reluflow.papers.lyu2021.theorems.early_constants import (
    CorrectCone,
    cone_delta,
    cone_factor,
    constants_of,
    correct_cone,
    idealised_state,
    idealised_time,
    where_cone_serves,
)
from reluflow.papers.lyu2021.theorems.hypotheses import BINARY_LABELS, MEAN_LOGISTIC
from reluflow.papers.lyu2021.theorems.settings import BALANCED_SETTING
from reluflow.papers.lyu2021.theorems.unit_ball import steps_of
from reluflow.theory.comparison import Comparison, Level, Values, at_least, at_most, judgement, require, worst_compared
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, LEAKY, LOGISTIC_LOSS, assumed
from reluflow.theory.measures import Above, AtLeast, AtMost, Constants, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem


@where_cone_serves
def _is_off_the_rays(evidence: Evidence) -> Comparison:
    """No neuron starts on the ray it would shrink along."""
    longest = float(np.max(row_norms(evidence.network.w)))
    relative = constants_of(evidence).ray_distance / longest if longest > 0.0 else 0.0
    return judgement(relative > 1e-12, relative, f"smallest distance to the excluded rays, relative: {relative:.3g}")


OFF_RAYS = Hypothesis(
    "off-rays",
    r"no positive neuron starts along $-\mu^-$, no negative one along $\mu^+$ (erratum E7)",
    _is_off_the_rays,
)

# Lemma G.1 ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PrincipalDirection:
    """The unit w with the best margin in Assumption A.1 among the separator and the means; and K, by its vertices."""

    w: FloatArray
    cone: CorrectCone


def _principal(evidence: Evidence) -> PrincipalDirection:
    facts = evidence.facts
    candidates = [facts.mean_signed_sample, facts.leaky_mean(1), facts.leaky_mean(-1)]
    if facts.separator is not None and facts.separator.separable:
        candidates.append(facts.separator.w)
    units = [w / np.linalg.norm(w) for w in candidates if np.linalg.norm(w) > 0.0]
    best = max(units, key=lambda w: float(np.subtract(*principal_tangents(evidence, w)[::-1])))
    return PrincipalDirection(best, correct_cone(evidence))


def principal_tangents(evidence: Evidence, w: FloatArray) -> tuple[float, float]:
    """Both sides of Assumption A.1: tangents of the angle within which K lies and within which the signs are fixed."""
    X, y = evidence.dataset.X, evidence.dataset.y
    along = X @ w
    across = np.linalg.norm(X - along[:, None] * w, axis=1)
    drift = float(evidence.facts.mean_signed_sample @ w)
    left = float(across.mean()) / (evidence.leak * drift) if drift > 0.0 else np.inf
    largest = float(across.max())
    return left, float(np.min(y * along)) / largest if largest > 0.0 else np.inf


def _tangents(evidence: Evidence) -> tuple[float, float]:
    """Both sides of A.1 at the principal direction."""
    return principal_tangents(evidence, evidence.recorded(PrincipalDirection).w)


def _right_side(evidence: Evidence) -> float:
    return _tangents(evidence)[1]


def _left_side(evidence: Evidence) -> float:
    return _tangents(evidence)[0]


def _cone_angle(evidence: Evidence) -> FloatArray:
    """Angles of the vertices of K with the principal direction, among them the largest of any element."""
    record = evidence.recorded(PrincipalDirection)
    cone, w = record.cone, record.w
    vertices = np.where(cone.extremes, 1.0, cone.leak) @ cone.rows
    along = vertices @ w
    return np.asarray(np.arctan2(np.linalg.norm(vertices - along[:, None] * w, axis=1), along))


def _angle_allowed(evidence: Evidence) -> float:
    return float(np.arctan(_tangents(evidence)[0]))


def _depth_of_k(evidence: Evidence) -> float:
    """Least <z_i, w> over the unit vectors w of K and the samples, in the unit ball: above 0 exactly under A.2."""
    return evidence.recorded(PrincipalDirection).cone.delta


LEMMA_G_1 = Theorem(
    "lyu2021:lemmaG.1",
    Reference("lyu2021", "Lemma G.1"),
    r"A principal direction (A.1) implies A.2: $K$ lies within the angle $\arctan$ of the left side of it, and the "
    r"signs are constant within $\arctan$ of the right side.",
    hypotheses=(BINARY_LABELS, LEAKY, assumed(PRINCIPAL_DIRECTION)),
    conclusions=(
        Conclusion("inequality", "the direction satisfies A.1", AtMost(_left_side, _right_side)),
        Conclusion(
            "angle",
            r"all of $K$ lies within $\arctan$ of the left side of it",
            AtMost(_cone_angle, _angle_allowed, allowance=1e-12),
        ),
        Conclusion(
            "a2",
            "A.2 holds: every element of $K$ classifies every sample",
            Above(_depth_of_k, 0.0, words="every unit vector of $K$ has margin {measured:.4g} or more"),
        ),
    ),
    constants=Quantities({"left": _left_side, "right": _right_side}),
    record=_principal,
    setting=BALANCED_SETTING,
    example="lyu-hinted",
    erratum=r"E15: A.1 is the stronger assumption; the half-angle is $\arctan(\gamma/\max|P x|)$, not "
    r"$\arcsin(\gamma/\max|x|)$.",
)

# Lemma G.2 ------------------------------------------------------------------------------------------------------------


def _slopes(evidence: Evidence) -> FloatArray:
    """beta, one row per vertex of the zonotope."""
    cone = evidence.recorded(CorrectCone)
    return np.where(cone.extremes, 1.0, cone.leak)


def _minimum_formula(evidence: Evidence) -> FloatArray:
    """|min over vertices - formula| of each sample, relative to the largest |z_i|^2."""
    facts, z = evidence.facts, evidence.dataset.X * evidence.dataset.y[:, None]
    leak, n = evidence.leak, evidence.dataset.n
    over_vertices = (_slopes(evidence) @ z @ z.T / n).min(axis=0)
    formula = leak * (z @ facts.mean_signed_sample) - (1.0 - leak) / n * facts.pairs.negative_sums
    return np.asarray(np.abs(over_vertices - formula) / float(np.max(facts.norms) ** 2))


def _same_sign(evidence: Evidence) -> Comparison:
    """A.2's slack and delta of K have the same sign."""
    margin, delta = pairwise_condition(evidence.facts).margin, evidence.recorded(CorrectCone).delta
    agrees = margin is not None and (margin > 0.0) == (delta > 0.0)
    slack = 0.0 if agrees else -1.0
    return Comparison(agrees, delta, 0.0, slack, rf"A.2 slack {margin:.6g}, $\delta$ {delta:.6g} in the unit ball")


LEMMA_G_2 = Theorem(
    "lyu2021:lemmaG.2",
    Reference("lyu2021", "Lemma G.2"),
    r"A.2 holds exactly when every element of $K$ classifies every sample: over $\beta$ in $[\mathrm{leak}, 1]^n$ "
    r"the smallest $(1/n) \sum_j \beta_j \langle z_i, z_j\rangle$ is $\mathrm{leak}\, \langle\mu, z_i\rangle - ((1 "
    r"- \mathrm{leak})/n)\,\sum_j \max(-\langle z_i, z_j\rangle, 0)$.",
    hypotheses=(BINARY_LABELS, LEAKY),
    conclusions=(
        Conclusion(
            "minimum",
            "the minimum over the vertices is the formula",
            AtMost(_minimum_formula, 1e-12, words="relative difference {measured:.2g}"),
            Level.EXACT,
        ),
        Conclusion("equivalence", r"A.2's slack and $\delta$ have the same sign", _same_sign, Level.EXACT),
    ),
    constants=Quantities({"delta": cone_delta, "factor": cone_factor}),
    record=correct_cone,
    setting=BALANCED_SETTING,
    example="lyu-hinted",
)

# Lemma G.3 ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class IdealisedEntry:
    """The first time at which the limit flow has every neuron in C_(delta/2), and the neurons then and later."""

    time: float
    state: AlignedState
    later: tuple[AlignedState, ...]


def _idealised_entry(evidence: Evidence) -> IdealisedEntry:
    cone = correct_cone(evidence)
    time = idealised_time(evidence, 0.5 * cone.delta)
    if not np.isfinite(time):
        return IdealisedEntry(time, idealised_state(evidence, 0.0), ())
    state, *later = (idealised_state(evidence, time + k / cone.growth(1)) for k in (0.0, 1.0, 5.0, 20.0))
    return IdealisedEntry(time, state, tuple(later))


def _depth_at(evidence: Evidence, states: Sequence[AlignedState]) -> float:
    """Least depth of a neuron in the cone, over the states."""
    return min((float(correct_cone(evidence).depths(s.w, s.a).min()) for s in states), default=-np.inf)


def _enters(evidence: Evidence) -> Comparison:
    entry = evidence.recorded(IdealisedEntry)
    time, state = entry.time, entry.state
    depth, half = _depth_at(evidence, [state] if np.isfinite(time) else []), 0.5 * correct_cone(evidence).delta
    return at_least(depth, half, detail=rf"depth {depth:.6g} at $T_0$ = {time:.6g}, $\delta/2$ = {half:.6g}")


def _stays(evidence: Evidence) -> Comparison:
    """Smallest depth over delta/2 at later times: once in the cone a neuron stays."""
    later = evidence.recorded(IdealisedEntry).later
    return at_least(_depth_at(evidence, later), 0.5 * correct_cone(evidence).delta)


def _idealised_time(evidence: Evidence) -> float:
    return evidence.recorded(IdealisedEntry).time


LEMMA_G_3 = Theorem(
    "lyu2021:lemmaG.3",
    Reference("lyu2021", "Lemma G.3"),
    r"Under A.2 every neuron of the idealised flow that starts off its excluded ray enters $C_{\delta/2}$.",
    hypotheses=(BINARY_LABELS, LOGISTIC_LOSS, LEAKY, assumed(A_2), BALANCED, OFF_RAYS),
    conclusions=(
        Conclusion("enters", r"at $T_0$ every $\operatorname{sign}(a) w$ lies in $C_{\delta/2}$", _enters),
        Conclusion("stays", "and at later times too", _stays),
    ),
    constants=Quantities({"delta": cone_delta, "T0": _idealised_time}),
    record=_idealised_entry,
    setting=BALANCED_SETTING,
    example="lyu-hinted",
    erratum=r"E7: the excluded rays are $-\mu^-$ for $a > 0$ and $+\mu^+$ for $a < 0$.",
    departs="The idealised flow is followed in closed form, neuron by neuron.",
)

# Lemma G.4 ------------------------------------------------------------------------------------------------------------

_NUM_TIMES = 40


def _plan(evidence: Evidence) -> FlowPlan:
    """Snapshots up to a little after the idealised entry: what follows is known in closed form."""
    entry = idealised_time(evidence, 0.5 * correct_cone(evidence).delta)
    last = min(1.5 * entry, constants_of(evidence).time)
    return FlowPlan(times=tuple(np.linspace(0.0, last if 0.0 < last < np.inf else 1.0, _NUM_TIMES)))


def _at_proof_time(evidence: Evidence) -> AlignedState:
    """The neurons at T0, in closed form.

    Below sigma_max the outputs are then of the order of e^(-T0), so the forces are still those of zero outputs; and
    the sizes of the neurons differ by more than a network of doubles can hold.
    """
    return idealised_state(evidence, constants_of(evidence).time)


def _in_cone(evidence: Evidence) -> Comparison:
    _needs_sigma_max(evidence)
    constants, cone = constants_of(evidence), correct_cone(evidence)
    state, last = evidence.recorded(AlignedState), evidence.run.snapshots[-1].network
    depth = float(min(cone.depths(state.w, state.a).min(), cone.depths(last.w, last.a).min()))
    words = rf"depth {depth:.6g} at $T_0$ = {constants.time:.6g} against $\delta/3$ = {constants.delta / 3:.6g}"
    return at_least(depth, constants.delta / 3.0, detail=words)


def _sooner(evidence: Evidence) -> Comparison:
    """First snapshot after which every neuron is in C_(delta/3), against the T0 of the proof."""
    constants, cone = constants_of(evidence), correct_cone(evidence)
    inside = [
        float(cone.depths(s.network.w, s.network.a).min()) >= constants.delta / 3.0 for s in evidence.run.snapshots
    ]
    outside = [k for k, is_in in enumerate(inside) if not is_in]
    first = 0 if not outside else outside[-1] + 1
    time = evidence.run.snapshots[first].time if first < len(inside) else np.inf
    return at_most(
        time, constants.time, detail=f"inside from $t$ = {time:.6g}; the proof's $T_0$ is {constants.time:.6g}"
    )


def _lengths_allowed(evidence: Evidence) -> tuple[float, float]:
    """ln A and ln B."""
    lengths = np.log(row_norms(evidence.network.w))
    grown = correct_cone(evidence).factor * constants_of(evidence).time
    return float(lengths.min()) - grown, float(lengths.max()) + grown


def _proof_constants(evidence: Evidence) -> Constants:
    constants, (log_A, log_B) = constants_of(evidence), _lengths_allowed(evidence)
    return {
        "delta": constants.delta,
        "eps_1": constants.eps_1,
        "eps_2": constants.eps_2,
        "eps": constants.eps,
        "h_min": constants.h_min,
        "d_bar": constants.ray_distance,
        "D_bar": constants.shortest,
        "T0": constants.time,
        "log_sigma_max": constants.log_scale,
        "log_A": log_A,
        "log_B": log_B,
        "factor": cone_factor(evidence),
    }


_LENGTH_ROUNDING = 1e-12  # of the difference of two logarithms of lengths, which may be in the hundreds


def _norms(evidence: Evidence) -> Comparison:
    """Largest |log(|w_k(T0)| / |w_k(0)|)| against T0, in the time of samples in the unit ball."""
    _needs_sigma_max(evidence)
    state = evidence.recorded(AlignedState)
    before, after = (np.log(np.linalg.norm(w, axis=1)) for w in (evidence.network.w, state.w))
    grown = after + state.log_norms - before
    bound = correct_cone(evidence).factor * constants_of(evidence).time
    words = f"log growth in [{grown.min():.4g}, {grown.max():.4g}] against +-{bound:.4g}"
    return at_most(float(np.max(np.abs(grown))), bound, allowance=_LENGTH_ROUNDING, detail=words)


def _monotone(evidence: Evidence) -> Values:
    """(Increase of Gamma_i - (delta/3)|displacement|) between snapshots, relative to the neuron's size.

    Gamma_i(w) = <w, z_i> - (delta/3)|w|; its increase is at least delta/3 times the path, hence the displacement.
    """
    cone, third = correct_cone(evidence), constants_of(evidence).delta / 3
    for early, late, network in steps_of(evidence):
        signs, sizes = np.sign(network.a)[:, None], [np.linalg.norm(w, axis=1) for w in (early, late)]
        before, after = (
            signs * (w @ cone.rows.T) - third * size[:, None] for w, size in zip((early, late), sizes, strict=True)
        )
        moved = np.linalg.norm(late - early, axis=1)
        yield ((after - before).min(axis=1) - third * moved) / np.maximum(*sizes)


def _needs_sigma_max(evidence: Evidence) -> None:
    is_below = evidence.network.log_scale < constants_of(evidence).log_scale
    require(is_below, r"above $\sigma_{\max}$ the state at $T_0$ is not that of the limit flow")


def _log_scale(evidence: Evidence) -> float:
    return min(0.0, constants_of(evidence).log_scale - evidence.network.log_scale - 1.0)


@where_cone_serves
def _is_below_sigma_max(evidence: Evidence) -> Comparison:
    scale, largest = evidence.network.log_scale, constants_of(evidence).log_scale
    return worst_compared(scale, "below", largest, words="log scale {number:.6g}, bound {bound:.6g}")


PROOF_SCALE = Hypothesis(
    "scale", r"the scale is below $\sigma_{\max}$ of the proof", _is_below_sigma_max, is_regime=True
)

LEMMA_G_4 = Theorem(
    "lyu2021:lemmaG.4",
    Reference("lyu2021", "Lemma G.4"),
    r"Under A.2 and below $\sigma_{\max}$ all positive neurons are in $C_{\delta/3}$ and all negative ones in "
    r"$-C_{\delta/3}$ at $T_0$, with norms between $A \sigma$ and $B \sigma$.",
    hypotheses=(BINARY_LABELS, MEAN_LOGISTIC, LEAKY, assumed(A_2), BALANCED, OFF_RAYS, PROOF_SCALE),
    conclusions=(
        Conclusion("in-cone", r"at $T_0$ every $\operatorname{sign}(a) w$ lies in $C_{\delta/3}$", _in_cone),
        Conclusion("time", "the neurons are there before $T_0$", _sooner),
        Conclusion("norms", r"$A \sigma \le |w_k(T_0)| \le B \sigma$", _norms),
        Conclusion(
            "monotone",
            r"$\Gamma_i$ grows by at least $\delta/3$ times the way a neuron goes",
            AtLeast(_monotone, 0.0, allowance=1e-12),
        ),
    ),
    constants=_proof_constants,
    plan=_plan,
    record=_at_proof_time,
    log_scale=_log_scale,
    setting=BALANCED_SETTING,
    example="lyu-counterexample-sharp",
    erratum=r"E7: the excluded rays; E16: $\sqrt{\varepsilon/(2m)}$ in $\sigma_{\max}$ and $\min$ in $\bar D$.",
    departs=r"$\varepsilon$ is half the paper's $\min(\varepsilon_1, \varepsilon_2)$; $\varepsilon_2$ and "
    r"$\bar{d}'$ are explicit lower bounds of ours.",
)
