"""Homogeneous networks: the data scaling law, problems (M) and (P), Euler's identity, maximisers on the sphere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.data.dataset import Dataset
from reluflow.geometry.landscape import alignment_potential
from reluflow.network import Network
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import data_assumption
from reluflow.theory.lyu2021.limits import best_network
from reluflow.theory.lyu2021.symmetric_flow import symmetric_flow
from reluflow.theory.lyu2021.unit_ball import (
    DRAW_SEED,
    LYU_SETTING,
    mean_logistic,
    neuron_rows,
    output_gradients,
    states,
    unit_ball,
    velocity,
)
from reluflow.theory.measurement import Level, Measurement, at_least, at_most, missing
from reluflow.theory.stating import conclusion, needs, theorems_of
from reluflow.theory.theorem import Conclusion, Parameter

ROUNDING = 1e-12  # relative; 4e-15 was the largest seen over the datasets of the tests
GAP = 1e-7  # relative duality gap of the cone program that is forgiven; below 1e-8 was seen
Gradient = Callable[[Network, FloatArray], FloatArray]
_symmetric_theorem = theorems_of("lyu2021", setting=LYU_SETTING, example="lyu-symmetric")


def _gradient(evidence: Evidence) -> Gradient:
    return evidence.witness("gradient", lambda: output_gradients)


def _rescaled(network: Network, factor: float) -> Network:
    return network.replace(w=factor * network.w, a=factor * network.a)


@conclusion("homogeneous", "grad f(c theta) = c grad f(theta)", Level.EXACT)
def _homogeneous_gradient(evidence: Evidence) -> Measurement:
    """Largest |grad f(c theta) - c grad f(theta)| / |grad f(c theta)| over the drawn networks and factors."""
    gradient, X = _gradient(evidence), unit_ball(evidence).X
    worst = 0.0
    for state in states(evidence):
        for factor in (0.01, 0.3, 7.0):
            there, here = gradient(_rescaled(state.network, factor), X), factor * gradient(state.network, X)
            size = max(float(np.max(np.abs(there))), np.finfo(float).tiny)  # leak 0 leaves dead networks
            worst = max(worst, float(np.max(np.abs(there - here))) / size)
    return at_most(worst, ROUNDING)


@conclusion("euler", "<grad f(x_i), theta> = 2 f(x_i)", Level.EXACT)
def _euler(evidence: Evidence) -> Measurement:
    """Largest |<grad f(x_i), theta> - 2 f(x_i)| / |theta|^2."""
    gradient, X = _gradient(evidence), unit_ball(evidence).X
    worst = 0.0
    for state in states(evidence):
        rows = neuron_rows(state.network)
        euler = np.einsum("ikp,kp->i", gradient(state.network, X), rows)
        worst = max(worst, float(np.max(np.abs(euler - 2.0 * state.outputs)) / np.sum(rows**2)))
    return at_most(worst, ROUNDING)


@conclusion("outputs", "f_theta(c x) = f_(sqrt c theta)(x) = c f_theta(x)", Level.EXACT)
def _outputs_scale(evidence: Evidence) -> Measurement:
    """Largest |f_theta(c x) - c f_theta(x)| / (c |theta|^2), the outputs f_theta(x) being those recorded."""
    c, X = evidence.parameter("factor"), unit_ball(evidence).X
    gaps = [
        np.max(np.abs(s.network.outputs(c * X) - c * s.outputs)) / (c * s.network.squared_norm())
        for s in states(evidence)
    ]
    return at_most(float(np.max(gaps)), ROUNDING)


@conclusion("velocities", "v_cX(theta) = sqrt(c) v_X(sqrt(c) theta)", Level.EXACT)
def _velocities_scale(evidence: Evidence) -> Measurement:
    """v on cX at theta equals sqrt(c) v on X at sqrt(c) theta, relative to the largest component."""
    c, ball = evidence.parameter("factor"), unit_ball(evidence)
    small, large = Dataset(ball.X, ball.y), Dataset(c * ball.X, ball.y)
    worst = 0.0
    for state in states(evidence):
        inside = _rescaled(state.network, float(np.sqrt(c)))
        left = velocity(state.network, c * state.outputs, large, evidence.loss)
        right = velocity(inside, inside.outputs(ball.X), small, evidence.loss) * np.sqrt(c)
        worst = max(worst, float(np.max(np.abs(left - right)) / max(np.max(np.abs(right)), np.finfo(float).tiny)))
    return at_most(worst, ROUNDING)


@conclusion("margins", "the normalised margin scales by c", Level.EXACT)
def _margins_scale(evidence: Evidence) -> Measurement:
    """Largest |gamma on cX - c gamma on X| / c."""
    c, ball = evidence.parameter("factor"), unit_ball(evidence)
    large = Dataset(c * ball.X, ball.y)
    gaps = [
        abs(normalized_margin(s.network, large) / c - float(np.min(ball.y * s.outputs)) / s.network.squared_norm())
        for s in states(evidence)
    ]
    return at_most(float(np.max(gaps)), ROUNDING)


DATA_SCALING = _symmetric_theorem(
    "data-scaling",
    "The flow on cX from theta is the flow on X from sqrt(c) theta, c times as fast; margins scale by c.",
    locator="Sec. 3, on |x_i| <= 1",
    hypotheses=(mean_logistic(),),
    conclusions=(_outputs_scale, _velocities_scale, _margins_scale),
    parameters=(Parameter("factor", 7.0, "c, the factor of the samples", low=0.0),),
)


def _maximiser(evidence: Evidence) -> Network | None:
    return evidence.witness("maximiser", lambda: best_network(evidence).network)


def _objective(network: Network, dataset: Dataset) -> float:
    """|theta|^2/2 after dividing theta by sqrt(q_min), so that it is feasible for (P)."""
    smallest = float(np.min(dataset.y * network.outputs(dataset.X)))
    return 0.5 * _rescaled(network, 1.0 / float(np.sqrt(smallest))).squared_norm()


def _classifiers(evidence: Evidence) -> list[Network]:
    """Networks near the maximiser and far from it that classify every sample."""
    best = best_network(evidence).network
    if best is None:
        return []
    rng, kept = np.random.default_rng(DRAW_SEED), []
    for noise in np.geomspace(1e-4, 1.0, 40):
        w = best.w + noise * rng.standard_normal(best.w.shape)
        network = best.replace(w=w, a=best.a + noise * rng.standard_normal(best.a.shape))
        if np.min(evidence.dataset.y * network.outputs(evidence.dataset.X)) > 0.0:
            kept.append(network)
    return kept


@conclusion("identity", "|theta|^2/2 at q_min = 1 is 1/(2 gamma)", Level.EXACT)
@needs(_classifiers, "no network near the maximiser classifies every sample")
def _identity_of_objectives(evidence: Evidence, networks: list[Network]) -> Measurement:
    """Largest |2 gamma(theta) |theta'|^2/2 - 1| with theta' = theta/sqrt(q_min), over networks that classify."""
    data, objective = evidence.dataset, evidence.witness("objective", lambda: _objective)
    return at_most(max(abs(2.0 * normalized_margin(t, data) * objective(t, data) - 1.0) for t in networks), ROUNDING)


@conclusion("solves-P", "the rescaled maximiser of (M) attains the least norm")
@needs(_maximiser, "no network classifies every sample")
def _solves_program(evidence: Evidence, best: Network) -> Measurement:
    """Objective of (P) at the rescaled maximiser of (M) over the smallest possible, 1/(2 upper bound of gamma)."""
    return at_most(2.0 * best_network(evidence).upper * _objective(best, evidence.dataset), 1.0, allowance=GAP)


@conclusion("beats-others", "no other feasible network of (P) is shorter")
def _beats_the_rest(evidence: Evidence) -> Measurement:
    """Smallest objective of (P) among the other networks over that of the rescaled maximiser."""
    best, networks = _maximiser(evidence), _classifiers(evidence)
    if best is None or not networks:
        return missing("no network near the maximiser classifies every sample")
    optimum = _objective(best, evidence.dataset)
    return at_least(min(_objective(t, evidence.dataset) for t in networks) / optimum, 1.0, allowance=GAP)


PROBLEM_M = _symmetric_theorem(
    "problemM",
    "theta maximises the normalised margin (M) exactly when theta/sqrt(q_min) has least norm in (P).",
    locator="Sec. 3, problems (M) and (P)",
    hypotheses=(data_assumption("linearly-separable"),),
    conclusions=(_identity_of_objectives, _solves_program, _beats_the_rest),
)

THEOREM_B2 = _symmetric_theorem(
    "thmB.2",
    "The Clarke subdifferential of a 2-homogeneous output at c theta is c times that at theta.",
    locator="Thm B.2",
    hypotheses=(),
    conclusions=(_homogeneous_gradient,),
    departs="Tried where the output is differentiable; elsewhere the statement follows by taking limits.",
)

THEOREM_B3 = _symmetric_theorem(
    "thmB.3",
    "Euler's identity: <g, theta> = 2 f(theta) for every Clarke subgradient g of a 2-homogeneous output.",
    locator="Thm B.3",
    hypotheses=(),
    conclusions=(_euler,),
    departs="Tried where the output is differentiable; elsewhere the statement follows by taking limits.",
)


def _potential(evidence: Evidence, w: FloatArray) -> FloatArray:
    """G(w) = (1/2n) sum_i y_i phi(<w, x_i>) on the unit ball."""
    ball = unit_ball(evidence)
    return alignment_potential(w, ball.X, ball.y / (2.0 * len(ball.y)), leak=evidence.leak)


def _potential_gradient(evidence: Evidence, w: FloatArray) -> FloatArray:
    ball = unit_ball(evidence)
    slopes = np.where(ball.X @ w > 0.0, 1.0, evidence.leak)
    return np.asarray((slopes * ball.y) @ ball.X / (2.0 * len(ball.y)))


def _direction(evidence: Evidence) -> FloatArray:
    """mu-bar, the maximiser of |G| on the sphere for symmetric data, or the vector claimed to be one."""
    return evidence.witness("direction", lambda: symmetric_flow(evidence).mean_direction)


def _is_maximiser(evidence: Evidence) -> Measurement:
    """Largest |G(w)| over 2000 random unit vectors over |G(mu-bar)|."""
    w = np.random.default_rng(DRAW_SEED).standard_normal((2000, evidence.dataset.d))
    values = np.abs(_potential(evidence, w / np.linalg.norm(w, axis=1, keepdims=True)))
    here = abs(float(_potential(evidence, _direction(evidence))))
    return at_most(float(np.max(values)) / here, 1.0, allowance=ROUNDING)


@conclusion("gradient", "grad G(mu-bar) = G(mu-bar) mu-bar", Level.EXACT)
def _radial_gradient(evidence: Evidence) -> Measurement:
    """|grad G(w) - G(w) w| / |G(w)| at the maximiser."""
    w = _direction(evidence)
    value = float(_potential(evidence, w))
    return at_most(float(np.linalg.norm(_potential_gradient(evidence, w) - value * w)) / abs(value), ROUNDING)


@conclusion("gradient", "F = a G(w) has gradient 2 F theta at (mu-bar, 1)/sqrt 2", Level.EXACT)
def _pair_gradient(evidence: Evidence) -> Measurement:
    """|grad F - 2 F theta| / |F| for F(w, a) = a G(w) at the unit vector (mu-bar, 1)/sqrt 2."""
    w = _direction(evidence)
    value, gradient = float(_potential(evidence, w)), _potential_gradient(evidence, w)
    theta = np.append(w, 1.0) / np.sqrt(2.0)
    gain = value / 2.0
    full = np.append(gradient, value) / np.sqrt(2.0)
    return at_most(float(np.linalg.norm(full - 2.0 * gain * theta)) / abs(gain), ROUNDING)


_SYMMETRIC_DATA = tuple(data_assumption(key) for key in ("linearly-separable", "symmetric", "lyu-4.5"))

LEMMA_B4 = _symmetric_theorem(
    "lemmaB.4",
    "At a differentiable maximiser on the sphere an L-homogeneous F has grad F = L F theta.",
    hypotheses=_SYMMETRIC_DATA,
    conclusions=(
        Conclusion("maximiser", "mu-bar maximises |G| on the sphere", _is_maximiser),
        _pair_gradient,
    ),
    departs="Applied to F(w, a) = a G(w) of one neuron on symmetric data, whose maximiser is known.",
)

LEMMA_B5 = _symmetric_theorem(
    "lemmaB.5",
    "At a maximiser of |G| on the sphere grad G(w) = G(w) w; for symmetric data it is mu-bar, G = lambda_0.",
    hypotheses=_SYMMETRIC_DATA,
    constants=lambda evidence: {"lambda_0": symmetric_flow(evidence).growth},
    conclusions=(
        Conclusion("maximiser", "mu-bar maximises |G| on the sphere", _is_maximiser),
        _radial_gradient,
        Conclusion(
            "growth-rate",
            "G(mu-bar) = ((1 + leak)/4) |mu|, in unit-ball units",
            lambda evidence: at_most(
                abs(float(_potential(evidence, _direction(evidence))) / symmetric_flow(evidence).growth - 1.0), ROUNDING
            ),
            Level.EXACT,
        ),
    ),
    erratum="E1: mu~ = ((1 + leak)/4) mu, not ((1 + leak)/2) mu.",
)
