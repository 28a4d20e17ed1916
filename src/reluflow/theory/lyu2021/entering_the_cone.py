"""The cone of correct signs: Assumptions A.1 and A.2 (Lemmas G.1, G.2), how neurons enter it (G.3, G.4) [lyu2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import AlignedState
from reluflow.network.network import row_norms
from reluflow.theory.comparison import Comparison, Values, at_least, at_most, judgement, require
from reluflow.theory.evidence import Evidence, computed_once, drawn
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.lyu2021.conditions import pairwise_condition
from reluflow.theory.lyu2021.early_constants import constants_of, correct_cone, idealised_state, idealised_time
from reluflow.theory.lyu2021.unit_ball import steps_of


@drawn("direction")
def _principal(evidence: Evidence) -> FloatArray:
    """The unit w with the best margin in Assumption A.1 among the separator and the means."""
    facts = evidence.facts
    candidates = [facts.mean_signed_sample, facts.leaky_mean(1), facts.leaky_mean(-1)]
    if facts.separator is not None and facts.separator.separable:
        candidates.append(facts.separator.w)
    units = [w / np.linalg.norm(w) for w in candidates if np.linalg.norm(w) > 0.0]
    return max(units, key=lambda w: float(np.subtract(*principal_tangents(evidence, w)[::-1])))


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
    return principal_tangents(evidence, _principal(evidence))


def _cone_angle(evidence: Evidence) -> FloatArray:
    """Angles of the vertices of K with the principal direction, among them the largest of any element."""
    cone, w = correct_cone(evidence), _principal(evidence)
    vertices = np.where(cone.extremes, 1.0, cone.leak) @ cone.rows
    along = vertices @ w
    return np.asarray(np.arctan2(np.linalg.norm(vertices - along[:, None] * w, axis=1), along))


def _angle_allowed(evidence: Evidence) -> float:
    return float(np.arctan(_tangents(evidence)[0]))


def _a2_slack(evidence: Evidence) -> float:
    margin = pairwise_condition(evidence.facts).margin
    return -np.inf if margin is None else margin


@drawn("slopes")
def _boxes(evidence: Evidence) -> FloatArray:
    """Slopes beta, one row per vertex of the zonotope."""
    cone = correct_cone(evidence)
    return np.where(cone.extremes, 1.0, cone.leak)


def _minimum_formula(evidence: Evidence) -> FloatArray:
    """|min over vertices - formula| of each sample, relative to the largest |z_i|^2."""
    facts, z = evidence.facts, evidence.dataset.X * evidence.dataset.y[:, None]
    leak, n = evidence.leak, evidence.dataset.n
    over_vertices = (_boxes(evidence) @ z @ z.T / n).min(axis=0)
    formula = leak * (z @ facts.mean_signed_sample) - (1.0 - leak) / n * facts.pairs.negative_sums
    return np.asarray(np.abs(over_vertices - formula) / float(np.max(facts.norms) ** 2))


def _same_sign(evidence: Evidence) -> Comparison:
    """A.2's slack and delta of K have the same sign."""
    margin, delta = pairwise_condition(evidence.facts).margin, correct_cone(evidence).delta
    agrees = margin is not None and (margin > 0.0) == (delta > 0.0)
    slack = 0.0 if agrees else -1.0
    return Comparison(agrees, delta, 0.0, slack, f"A.2 slack {margin:.6g}, delta {delta:.6g} in the unit ball")


_NUM_TIMES = 40


def _is_off_the_rays(evidence: Evidence) -> Comparison:
    """No neuron starts on the ray it would shrink along."""
    longest = float(np.max(row_norms(evidence.network.w)))
    relative = constants_of(evidence).ray_distance / longest if longest > 0.0 else 0.0
    return judgement(relative > 1e-12, relative, f"smallest distance to the excluded rays, relative: {relative:.3g}")


@drawn("entry")
def _idealised(evidence: Evidence) -> tuple[float, AlignedState]:
    """The first time at which the limit flow has every neuron in C_(delta/2), and the neurons there."""
    time = idealised_time(evidence, 0.5 * correct_cone(evidence).delta)
    return time, idealised_state(evidence, time if np.isfinite(time) else 0.0)


def _depth_at(evidence: Evidence, states: list[AlignedState]) -> float:
    """Least depth of a neuron in the cone, over the states."""
    return min((float(correct_cone(evidence).depths(s.w, s.a).min()) for s in states), default=-np.inf)


def _enters(evidence: Evidence) -> Comparison:
    time, state = _idealised(evidence)
    depth, half = _depth_at(evidence, [state] if np.isfinite(time) else []), 0.5 * correct_cone(evidence).delta
    return at_least(depth, half, detail=f"depth {depth:.6g} at T0 = {time:.6g}, delta/2 = {half:.6g}")


def _stays(evidence: Evidence) -> Comparison:
    """Smallest depth over delta/2 at later times: once in the cone a neuron stays."""
    time, cone = _idealised(evidence)[0], correct_cone(evidence)
    later = (time + k / cone.growth(1) for k in (1.0, 5.0, 20.0)) if np.isfinite(time) else ()
    return at_least(_depth_at(evidence, [idealised_state(evidence, late) for late in later]), 0.5 * cone.delta)


def _plan(evidence: Evidence) -> FlowPlan:
    """Snapshots up to a little after the idealised entry: what follows is known in closed form."""
    entry = idealised_time(evidence, 0.5 * correct_cone(evidence).delta)
    last = min(1.5 * entry, constants_of(evidence).time)
    return FlowPlan(times=tuple(np.linspace(0.0, last if 0.0 < last < np.inf else 1.0, _NUM_TIMES)))


@computed_once
def _at_proof_time(evidence: Evidence) -> AlignedState:
    """The neurons at T0, in closed form.

    Below sigma_max the outputs are then of the order of e^(-T0), so the forces are still those of zero outputs; and
    the sizes of the neurons differ by more than a network of doubles can hold.
    """
    return idealised_state(evidence, constants_of(evidence).time)


def _in_cone(evidence: Evidence) -> Comparison:
    _needs_sigma_max(evidence)
    constants, cone = constants_of(evidence), correct_cone(evidence)
    state, last = _at_proof_time(evidence), evidence.run.snapshots[-1].network
    depth = float(min(cone.depths(state.w, state.a).min(), cone.depths(last.w, last.a).min()))
    words = f"depth {depth:.6g} at T0 = {constants.time:.6g} against delta/3 = {constants.delta / 3:.6g}"
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
    return at_most(time, constants.time, detail=f"inside from t = {time:.6g}; the proof's T0 is {constants.time:.6g}")


def _lengths_allowed(evidence: Evidence) -> tuple[float, float]:
    """ln A and ln B."""
    lengths = np.log(row_norms(evidence.network.w))
    grown = correct_cone(evidence).factor * constants_of(evidence).time
    return float(lengths.min()) - grown, float(lengths.max()) + grown


def _norms(evidence: Evidence) -> Comparison:
    """Largest |log(|w_k(T0)| / |w_k(0)|)| against T0, in the time of samples in the unit ball."""
    _needs_sigma_max(evidence)
    state = _at_proof_time(evidence)
    before, after = (np.log(np.linalg.norm(w, axis=1)) for w in (evidence.network.w, state.w))
    grown = after + state.log_norms - before
    bound = correct_cone(evidence).factor * constants_of(evidence).time
    words = f"log growth in [{grown.min():.4g}, {grown.max():.4g}] against +-{bound:.4g}"
    return at_most(float(np.max(np.abs(grown))), bound, detail=words)


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
    require(is_below, "above sigma_max the state at T0 is not that of the limit flow")


def _lemmag_4_log_scale(evidence: Evidence) -> float:
    return min(0.0, constants_of(evidence).log_scale - evidence.network.log_scale - 1.0)
