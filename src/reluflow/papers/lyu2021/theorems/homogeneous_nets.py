"""Homogeneous networks: the data scaling law, problems (M) and (P), Euler's identity, maximisers on the sphere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.network_margin import NetworkMargin
from reluflow.data.dataset import Dataset
from reluflow.geometry.landscape import alignment_potential
from reluflow.network import Network
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import MEAN_LOSS, SYMMETRIC_DATA
from reluflow.papers.lyu2021.theorems.limits import best_network
from reluflow.papers.lyu2021.theorems.parameters import FACTOR
from reluflow.papers.lyu2021.theorems.symmetric_flow import lambda_0, symmetric_flow
from reluflow.papers.lyu2021.theorems.unit_ball import (
    DRAW_SEED,
    State,
    drawn_networks,
    output_gradients,
    states,
    unit_ball,
    velocity,
)
from reluflow.theory.comparison import Comparison, Level, Values, at_most, require
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import AtLeast, AtMost, Quantities
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Reference, Theorem

ROUNDING = 1e-12  # relative; 4e-15 was the largest seen over the datasets of the tests
TINY = np.finfo(float).tiny
FACTORS = (0.01, 0.3, 7.0)  # c of Theorem B.2


@dataclass(frozen=True, eq=False)
class OutputGradients:
    """Networks with the gradients of their outputs: at theta and, a row for each network, at c theta."""

    states: tuple[State, ...]
    gradients: tuple[FloatArray, ...]
    rescaled: tuple[tuple[FloatArray, ...], ...]


def _output_gradients(evidence: Evidence) -> OutputGradients:
    drawn, X = drawn_networks(evidence).states, unit_ball(evidence).X
    return OutputGradients(
        drawn,
        tuple(output_gradients(s.network, X) for s in drawn),
        tuple(tuple(output_gradients(_rescaled(s.network, c), X) for c in FACTORS) for s in drawn),
    )


def _rescaled(network: Network, factor: float) -> Network:
    return network.replace(w=factor * network.w, a=factor * network.a)


def _potential(evidence: Evidence, w: FloatArray) -> FloatArray:
    """G(w) = (1/2n) sum_i y_i phi(<w, x_i>) on the unit ball."""
    ball = unit_ball(evidence)
    return alignment_potential(w, ball.X, ball.y / (2.0 * len(ball.y)), leak=evidence.leak)


def _potential_gradient(evidence: Evidence, w: FloatArray) -> FloatArray:
    ball = unit_ball(evidence)
    slopes = np.where(ball.X @ w > 0.0, 1.0, evidence.leak)
    return np.asarray((slopes * ball.y) @ ball.X / (2.0 * len(ball.y)))


@dataclass(frozen=True, eq=False)
class StatedMaximiser:
    """The unit vector that the lemma states to maximise |G| on the sphere."""

    direction: FloatArray


def _mean_direction(evidence: Evidence) -> StatedMaximiser:
    """mu-bar, for symmetric data."""
    return StatedMaximiser(symmetric_flow(evidence).mean_direction)


def _direction(evidence: Evidence) -> FloatArray:
    return evidence.recorded(StatedMaximiser).direction


def _is_maximiser(evidence: Evidence) -> Comparison:
    """Largest |G(w)| over 2000 random unit vectors over |G(mu-bar)|."""
    w = np.random.default_rng(DRAW_SEED).standard_normal((2000, evidence.dataset.d))
    values = np.abs(_potential(evidence, w / np.linalg.norm(w, axis=1, keepdims=True)))
    here = abs(float(_potential(evidence, _direction(evidence))))
    return at_most(float(np.max(values)) / here, 1.0, allowance=ROUNDING)


# Sec. 3, on |x_i| <= 1 ------------------------------------------------------------------------------------------------


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


DATA_SCALING = Theorem(
    "lyu2021:data-scaling",
    Reference("lyu2021", r"Sec. 3, on $|x_i| \le 1$"),
    r"The flow on $cX$ from $\theta$ is the flow on $X$ from $\sqrt{c}\, \theta$, $c$ times as fast; margins scale "
    r"by $c$.",
    hypotheses=(MEAN_LOSS,),
    conclusions=(
        Conclusion(
            "outputs",
            r"$f_\theta(c x) = f_{\sqrt{c}\, \theta}(x) = c f_\theta(x)$",
            AtMost(_outputs_scale, ROUNDING),
            Level.EXACT,
        ),
        Conclusion(
            "velocities",
            r"$v_{cX}(\theta) = \sqrt{c}\, v_X(\sqrt{c}\, \theta)$",
            AtMost(_velocities_scale, ROUNDING),
            Level.EXACT,
        ),
        Conclusion("margins", "the normalised margin scales by $c$", AtMost(_margins_scale, ROUNDING), Level.EXACT),
    ),
    parameters=(FACTOR,),
    record=drawn_networks,
    setting=SETTING,
    example=EXAMPLE,
)

# Sec. 3, problems (M) and (P) -----------------------------------------------------------------------------------------

GAP = 1e-7  # relative duality gap of the cone program that is forgiven; below 1e-8 was seen


@dataclass(frozen=True, eq=False)
class FeasiblePoints:
    """The bracket of (M), networks that classify every sample, and these and the maximiser rescaled for (P)."""

    best: NetworkMargin
    maximiser: Network | None
    networks: tuple[Network, ...]
    feasible: tuple[Network, ...]


def _feasible_points(evidence: Evidence) -> FeasiblePoints:
    best, networks = best_network(evidence), _classifiers(evidence)
    maximiser = None if best.network is None else _feasible(best.network, evidence.dataset)
    return FeasiblePoints(best, maximiser, tuple(networks), tuple(_feasible(t, evidence.dataset) for t in networks))


def _feasible(network: Network, dataset: Dataset) -> Network:
    """theta divided by sqrt(q_min), so that it is feasible for (P)."""
    smallest = float(np.min(dataset.y * network.outputs(dataset.X)))
    return _rescaled(network, 1.0 / float(np.sqrt(smallest)))


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


_NONE_CLASSIFIES = "no network near the maximiser classifies every sample"


def _identity_of_objectives(evidence: Evidence) -> Values:
    """|2 gamma(theta) |theta'|^2/2 - 1| with theta' = theta/sqrt(q_min), over networks that classify."""
    record = evidence.recorded(FeasiblePoints)
    pairs = zip(require(record.networks, _NONE_CLASSIFIES), record.feasible, strict=True)
    margins = ((normalized_margin(t, evidence.dataset), _objective(scaled)) for t, scaled in pairs)
    return [abs(2.0 * margin * objective - 1.0) for margin, objective in margins]


def _objective(network: Network) -> float:
    """|theta|^2/2, that of (P)."""
    return 0.5 * network.squared_norm()


def _solves_program(evidence: Evidence) -> float:
    """Objective of (P) at the rescaled maximiser of (M) over the smallest possible, 1/(2 upper bound of gamma)."""
    record = evidence.recorded(FeasiblePoints)
    return 2.0 * record.best.upper * _objective(require(record.maximiser, "no network classifies every sample"))


def _beats_the_rest(evidence: Evidence) -> Values:
    """Objective of (P) of the other networks over that of the rescaled maximiser."""
    record = evidence.recorded(FeasiblePoints)
    others = require(record.feasible, _NONE_CLASSIFIES)
    best = require(record.maximiser, _NONE_CLASSIFIES)
    return [_objective(t) / _objective(best) for t in others]


PROBLEM_M = Theorem(
    "lyu2021:problemM",
    Reference("lyu2021", "Sec. 3, problems (M) and (P)"),
    r"$\theta$ maximises the normalised margin (M) exactly when $\theta/\sqrt{q_{\min}}$ has least norm in (P).",
    hypotheses=(assumed(LINEARLY_SEPARABLE),),
    conclusions=(
        Conclusion(
            "identity",
            r"$|\theta|^2/2$ at $q_{\min} = 1$ is $1/(2 \gamma)$",
            AtMost(_identity_of_objectives, ROUNDING),
            Level.EXACT,
        ),
        Conclusion(
            "solves-P",
            "the rescaled maximiser of (M) attains the least norm",
            AtMost(_solves_program, 1.0, allowance=GAP),
        ),
        Conclusion(
            "beats-others", "no other feasible network of (P) is shorter", AtLeast(_beats_the_rest, 1.0, allowance=GAP)
        ),
    ),
    record=_feasible_points,
    setting=SETTING,
    example=EXAMPLE,
)

PROBLEM_P = part("lyu2021:problemP", "Sec. 3, (P)", PROBLEM_M, r"least norm subject to $q_i \ge 1$; equivalent to (M)")

# Thm B.2 --------------------------------------------------------------------------------------------------------------


def _homogeneous_gradient(evidence: Evidence) -> Values:
    """|grad f(c theta) - c grad f(theta)| / |grad f(c theta)| over the drawn networks and factors."""
    record = evidence.recorded(OutputGradients)
    for gradient, rescaled in zip(record.gradients, record.rescaled, strict=True):
        for factor, there in zip(FACTORS, rescaled, strict=True):
            yield np.abs(there - factor * gradient) / max(float(np.max(np.abs(there))), TINY)  # leak 0: dead networks


THM_B_2 = Theorem(
    "lyu2021:thmB.2",
    Reference("lyu2021", "Thm B.2"),
    r"The Clarke subdifferential of a 2-homogeneous output at $c \theta$ is $c$ times that at $\theta$.",
    hypotheses=(),
    conclusions=(
        Conclusion(
            "homogeneous",
            r"$\nabla f(c \theta) = c \nabla f(\theta)$",
            AtMost(_homogeneous_gradient, ROUNDING),
            Level.EXACT,
        ),
    ),
    record=_output_gradients,
    setting=SETTING,
    example=EXAMPLE,
    departs="Tried where the output is differentiable; elsewhere the statement follows by taking limits.",
)

# Thm B.3 --------------------------------------------------------------------------------------------------------------


def _euler(evidence: Evidence) -> Values:
    """|<grad f(x_i), theta> - 2 f(x_i)| / |theta|^2."""
    record = evidence.recorded(OutputGradients)
    for s, gradient in zip(record.states, record.gradients, strict=True):
        euler = np.einsum("ikp,kp->i", gradient, s.rows)
        yield np.abs(euler - 2.0 * s.outputs) / np.sum(s.rows**2)


THM_B_3 = Theorem(
    "lyu2021:thmB.3",
    Reference("lyu2021", "Thm B.3"),
    r"Euler's identity: $\langle g, \theta\rangle = 2 f(\theta)$ for every Clarke subgradient $g$ of a "
    r"2-homogeneous output.",
    hypotheses=(),
    conclusions=(
        Conclusion("euler", r"$\langle\nabla f(x_i), \theta\rangle = 2 f(x_i)$", AtMost(_euler, ROUNDING), Level.EXACT),
    ),
    record=_output_gradients,
    setting=SETTING,
    example=EXAMPLE,
    departs="Tried where the output is differentiable; elsewhere the statement follows by taking limits.",
)

# Lemma B.4 ------------------------------------------------------------------------------------------------------------


def _pair_gradient(evidence: Evidence) -> float:
    """|grad F - 2 F theta| / |F| for F(w, a) = a G(w) at the unit vector (mu-bar, 1)/sqrt 2."""
    w = _direction(evidence)
    value, gradient = float(_potential(evidence, w)), _potential_gradient(evidence, w)
    theta = np.append(w, 1.0) / np.sqrt(2.0)
    gain = value / 2.0
    full = np.append(gradient, value) / np.sqrt(2.0)
    return float(np.linalg.norm(full - 2.0 * gain * theta)) / abs(gain)


LEMMA_B_4 = Theorem(
    "lyu2021:lemmaB.4",
    Reference("lyu2021", "Lemma B.4"),
    r"At a differentiable maximiser on the sphere an $L$-homogeneous $F$ has $\nabla F = L F \theta$.",
    hypotheses=SYMMETRIC_DATA,
    conclusions=(
        Conclusion("maximiser", r"$\bar{\mu}$ maximises $|G|$ on the sphere", _is_maximiser),
        Conclusion(
            "gradient",
            r"$F = a G(w)$ has gradient $2 F \theta$ at $(\bar{\mu}, 1)/\sqrt{2}$",
            AtMost(_pair_gradient, ROUNDING),
            Level.EXACT,
        ),
    ),
    record=_mean_direction,
    setting=SETTING,
    example=EXAMPLE,
    departs="Applied to $F(w, a) = a G(w)$ of one neuron on symmetric data, whose maximiser is known.",
)

# Lemma B.5 ------------------------------------------------------------------------------------------------------------


def _radial_gradient(evidence: Evidence) -> float:
    """|grad G(w) - G(w) w| / |G(w)| at the maximiser."""
    w = _direction(evidence)
    value = float(_potential(evidence, w))
    return float(np.linalg.norm(_potential_gradient(evidence, w) - value * w)) / abs(value)


def _growth_rate(evidence: Evidence) -> float:
    """|G(mu-bar)/lambda_0 - 1|."""
    return abs(float(_potential(evidence, _direction(evidence))) / symmetric_flow(evidence).growth - 1.0)


LEMMA_B_5 = Theorem(
    "lyu2021:lemmaB.5",
    Reference("lyu2021", "Lemma B.5"),
    r"At a maximiser of $|G|$ on the sphere $\nabla G(w) = G(w) w$; for symmetric data it is $\bar{\mu}$, "
    r"$G = \lambda_0$.",
    hypotheses=SYMMETRIC_DATA,
    conclusions=(
        Conclusion("maximiser", r"$\bar{\mu}$ maximises $|G|$ on the sphere", _is_maximiser),
        Conclusion(
            "gradient",
            r"$\nabla G(\bar{\mu}) = G(\bar{\mu}) \bar{\mu}$",
            AtMost(_radial_gradient, ROUNDING),
            Level.EXACT,
        ),
        Conclusion(
            "growth-rate",
            r"$G(\bar{\mu}) = ((1 + \mathrm{leak})/4) |\mu|$, in unit-ball units",
            AtMost(_growth_rate, ROUNDING),
            Level.EXACT,
        ),
    ),
    constants=Quantities({"lambda_0": lambda_0}),
    record=_mean_direction,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E1: $\tilde{\mu} = ((1 + \mathrm{leak})/4) \mu$, not $((1 + \mathrm{leak})/2) \mu$.",
)
