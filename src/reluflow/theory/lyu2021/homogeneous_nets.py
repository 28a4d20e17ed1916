"""Homogeneous networks: the data scaling law, problems (M) and (P), Euler's identity, maximisers on the sphere."""

from __future__ import annotations

from itertools import product

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.data.dataset import Dataset
from reluflow.geometry.landscape import alignment_potential
from reluflow.network import Network
from reluflow.theory.comparison import Comparison, Values, at_most, require, requires
from reluflow.theory.evidence import Evidence, drawn, given
from reluflow.theory.lyu2021.limits import best_network
from reluflow.theory.lyu2021.symmetric_flow import symmetric_flow
from reluflow.theory.lyu2021.unit_ball import DRAW_SEED, output_gradients, states, unit_ball, velocity

ROUNDING = 1e-12  # relative; 4e-15 was the largest seen over the datasets of the tests
GAP = 1e-7  # relative duality gap of the cone program that is forgiven; below 1e-8 was seen


TINY = np.finfo(float).tiny


_gradient = given("gradient", output_gradients)


def _rescaled(network: Network, factor: float) -> Network:
    return network.replace(w=factor * network.w, a=factor * network.a)


def _homogeneous_gradient(evidence: Evidence) -> Values:
    """|grad f(c theta) - c grad f(theta)| / |grad f(c theta)| over the drawn networks and factors."""
    gradient, X = _gradient(evidence), unit_ball(evidence).X
    for state, factor in product(states(evidence), (0.01, 0.3, 7.0)):
        there, here = gradient(_rescaled(state.network, factor), X), factor * gradient(state.network, X)
        yield np.abs(there - here) / max(float(np.max(np.abs(there))), TINY)  # leak 0 leaves dead networks


def _euler(evidence: Evidence) -> Values:
    """|<grad f(x_i), theta> - 2 f(x_i)| / |theta|^2."""
    for s in states(evidence):
        euler = np.einsum("ikp,kp->i", _gradient(evidence)(s.network, unit_ball(evidence).X), s.rows)
        yield np.abs(euler - 2.0 * s.outputs) / np.sum(s.rows**2)


def _outputs_scale(evidence: Evidence) -> Values:
    """|f_theta(c x) - c f_theta(x)| / (c |theta|^2), the outputs f_theta(x) being those recorded."""
    c, X = evidence.parameter("factor"), unit_ball(evidence).X
    for s in states(evidence):
        yield np.abs(s.network.outputs(c * X) - c * s.outputs) / (c * s.network.squared_norm())


def _velocities_scale(evidence: Evidence) -> Values:
    """v on cX at theta equals sqrt(c) v on X at sqrt(c) theta, relative to the largest component."""
    c, ball = evidence.parameter("factor"), unit_ball(evidence)
    small, large = Dataset(ball.X, ball.y), Dataset(c * ball.X, ball.y)
    for state in states(evidence):
        inside = _rescaled(state.network, float(np.sqrt(c)))
        left = velocity(state.network, c * state.outputs, large, evidence.loss)
        right = velocity(inside, inside.outputs(ball.X), small, evidence.loss) * np.sqrt(c)
        yield np.abs(left - right) / max(np.max(np.abs(right)), TINY)


def _margins_scale(evidence: Evidence) -> Values:
    """|gamma on cX - c gamma on X| / c."""
    c, ball = evidence.parameter("factor"), unit_ball(evidence)
    for s in states(evidence):
        margin = float(np.min(ball.y * s.outputs)) / s.network.squared_norm()
        yield abs(normalized_margin(s.network, Dataset(c * ball.X, ball.y)) / c - margin)


@drawn("maximiser")
def _maximiser(evidence: Evidence) -> Network | None:
    return best_network(evidence).network


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


@requires(_classifiers, "no network near the maximiser classifies every sample")
def _identity_of_objectives(evidence: Evidence, networks: list[Network]) -> Values:
    """|2 gamma(theta) |theta'|^2/2 - 1| with theta' = theta/sqrt(q_min), over networks that classify."""
    data, objective = evidence.dataset, evidence.witness("objective", lambda: _objective)
    return [abs(2.0 * normalized_margin(t, data) * objective(t, data) - 1.0) for t in networks]


@requires(_maximiser, "no network classifies every sample")
def _solves_program(evidence: Evidence, best: Network) -> float:
    """Objective of (P) at the rescaled maximiser of (M) over the smallest possible, 1/(2 upper bound of gamma)."""
    return 2.0 * best_network(evidence).upper * _objective(best, evidence.dataset)


@requires(_classifiers, "no network near the maximiser classifies every sample")
def _beats_the_rest(evidence: Evidence, networks: list[Network]) -> Values:
    """Objective of (P) of the other networks over that of the rescaled maximiser."""
    best = require(_maximiser(evidence), "no network near the maximiser classifies every sample")
    return [_objective(t, evidence.dataset) / _objective(best, evidence.dataset) for t in networks]


def _potential(evidence: Evidence, w: FloatArray) -> FloatArray:
    """G(w) = (1/2n) sum_i y_i phi(<w, x_i>) on the unit ball."""
    ball = unit_ball(evidence)
    return alignment_potential(w, ball.X, ball.y / (2.0 * len(ball.y)), leak=evidence.leak)


def _potential_gradient(evidence: Evidence, w: FloatArray) -> FloatArray:
    ball = unit_ball(evidence)
    slopes = np.where(ball.X @ w > 0.0, 1.0, evidence.leak)
    return np.asarray((slopes * ball.y) @ ball.X / (2.0 * len(ball.y)))


@drawn("direction")
def _direction(evidence: Evidence) -> FloatArray:
    """mu-bar, the maximiser of |G| on the sphere for symmetric data, or the vector claimed to be one."""
    return symmetric_flow(evidence).mean_direction


def _is_maximiser(evidence: Evidence) -> Comparison:
    """Largest |G(w)| over 2000 random unit vectors over |G(mu-bar)|."""
    w = np.random.default_rng(DRAW_SEED).standard_normal((2000, evidence.dataset.d))
    values = np.abs(_potential(evidence, w / np.linalg.norm(w, axis=1, keepdims=True)))
    here = abs(float(_potential(evidence, _direction(evidence))))
    return at_most(float(np.max(values)) / here, 1.0, allowance=ROUNDING)


def _radial_gradient(evidence: Evidence) -> float:
    """|grad G(w) - G(w) w| / |G(w)| at the maximiser."""
    w = _direction(evidence)
    value = float(_potential(evidence, w))
    return float(np.linalg.norm(_potential_gradient(evidence, w) - value * w)) / abs(value)


def _pair_gradient(evidence: Evidence) -> float:
    """|grad F - 2 F theta| / |F| for F(w, a) = a G(w) at the unit vector (mu-bar, 1)/sqrt 2."""
    w = _direction(evidence)
    value, gradient = float(_potential(evidence, w)), _potential_gradient(evidence, w)
    theta = np.append(w, 1.0) / np.sqrt(2.0)
    gain = value / 2.0
    full = np.append(gradient, value) / np.sqrt(2.0)
    return float(np.linalg.norm(full - 2.0 * gain * theta)) / abs(gain)


def _growth_rate(evidence: Evidence) -> float:
    """|G(mu-bar)/lambda_0 - 1|."""
    return abs(float(_potential(evidence, _direction(evidence))) / symmetric_flow(evidence).growth - 1.0)
