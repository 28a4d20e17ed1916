"""One neuron, and neurons of the losing sign: Lemma A.4, Theorem G.9, Lemma G.10 [lyu2021]."""

from __future__ import annotations

import numpy as np

from reluflow.certificates.kkt import kkt_certificate, normalized_margin
from reluflow.certificates.network_margin import NetworkMargin, network_margin
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network, leaky_relu
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, FlowPlan, drawn
from reluflow.theory.limit import LimitIdentified
from reluflow.theory.lyu2021.non_symmetric_limit import side_of
from reluflow.theory.measurement import Measurement, at_least, at_most, equals, need
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Constants, Setting

_SETTING = Setting(loss="logistic", leak=None, init="lee", width=1, scale="1e-3")  # "lee" draws a = |w| > 0
_NUM_DIRECTIONS = 150


@drawn("direction")
def _one_neuron(evidence: Evidence) -> Network:
    """(w^+, 1)/sqrt 2, the direction Lemma A.4 names."""
    return Network(side_of(evidence, 1).w[None] / np.sqrt(2.0), [np.sqrt(0.5)], leak=evidence.leak)


def _half_margin(evidence: Evidence) -> float:
    """gamma^+/2."""
    return 0.5 * side_of(evidence, 1).margin


def _margin(evidence: Evidence) -> Measurement:
    expected = _half_margin(evidence)
    return equals(normalized_margin(_one_neuron(evidence), evidence.dataset), expected, atol=1e-10 * expected)


def _nothing_else(evidence: Evidence) -> Measurement:
    """KKT residual over distance to w^+, smallest among random directions that classify every sample.

    With a > 0 and positive margins the outputs are <z_i^+, w>, a concave problem: its only KKT direction is w^+.
    """
    side = side_of(evidence, 1)
    rng = np.random.default_rng(0)
    spread = rng.standard_normal((_NUM_DIRECTIONS, side.w.size)) * rng.uniform(0.0, 1.0, (_NUM_DIRECTIONS, 1))
    units = side.w + spread
    units /= np.linalg.norm(units, axis=1)[:, None]
    units = units[np.all(units @ side.rows.T > 0.0, axis=1)]
    far = np.linalg.norm(units - side.w, axis=1) > 1e-3
    residuals = evidence.witness(
        "other residuals",
        lambda: [
            kkt_certificate(Network(u[None], [1.0], leak=evidence.leak), evidence.dataset).residual
            / np.linalg.norm(u - side.w)
            for u in units[far]
        ],
    )
    smallest = float(min(residuals, default=np.inf))
    return at_least(
        smallest, 1e-6, detail=f"residual at least {smallest:.3g} times the distance, {len(residuals)} directions"
    )


def _width_one_constants(evidence: Evidence) -> Constants:
    plus, minus = side_of(evidence, 1).margin, side_of(evidence, -1).margin
    return {"gamma_plus": plus, "gamma_minus": minus, "width_one_optimum": 0.5 * max(plus, minus)}


@hypothesis("ahead", "the neuron starts with <w_1, w*> > 0")
def _points_ahead(evidence: Evidence) -> Judgement:
    need(evidence.dataset.is_binary, "the labels are not -1 and 1")
    separator, network = evidence.facts.separator, evidence.network
    if separator is None or not separator.separable:
        return Judgement(False, None, "there is no separator w*")
    cosine = float(network.w[0] @ separator.w / np.linalg.norm(network.w[0]))
    return Judgement(cosine > 0.0, cosine, f"cos(w_1, w*) = {cosine:.4g}")


@hypothesis("single-positive", "one neuron, with a_1 > 0")
def _single_positive(evidence: Evidence) -> Judgement:
    a = evidence.network.a
    return Judgement(a.size == 1 and a[0] > 0.0, None, f"{a.size} neurons, a_1 = {a[0]:.3g}")


@drawn("bracket")
def _restricted(evidence: Evidence) -> NetworkMargin:
    """The best network of negative neurons on S^+, with the multipliers that bound it."""
    return network_margin(_closest(evidence), evidence.leak, signs=(-1,))


def _closest(evidence: Evidence) -> Dataset:
    """S^+."""
    return evidence.dataset.subset(side_of(evidence, 1).closest)


def _primal_value(evidence: Evidence) -> float:
    """The margin of the explicit negative network, recomputed; 0, the margin of no network, where none was found."""
    network = _restricted(evidence).network
    if network is None:
        return 0.0
    return normalized_margin(network, _closest(evidence)) if np.all(network.a <= 0.0) else np.nan


def _dual_value(evidence: Evidence) -> float:
    """Half the best gain of a negative unit neuron under the multipliers, over many directions."""
    found, closest = _restricted(evidence), _closest(evidence)
    rng = np.random.default_rng(0)
    units = rng.standard_normal((20_000, closest.d))
    if found.network is not None:
        units = np.vstack([units, found.network.w])
    units /= np.linalg.norm(units, axis=1)[:, None]
    gains = -leaky_relu(units @ closest.X.T, evidence.leak) @ (found.multipliers * closest.y)
    return 0.5 * float(gains.max())


def _no_gap(evidence: Evidence) -> Measurement:
    found = _restricted(evidence)
    primal, scale = _primal_value(evidence), side_of(evidence, 1).margin
    gap = abs(found.upper - primal)
    words = f"primal {primal:.9g}, dual {found.upper:.9g}"
    return at_most(gap, 1e-7 * scale, detail=words) if np.isfinite(gap) else at_most(np.inf, 1e-7 * scale, detail=words)


def _dual_bounds_gains(evidence: Evidence) -> Measurement:
    found, scale = _restricted(evidence), side_of(evidence, 1).margin
    return at_most(_dual_value(evidence), found.upper, allowance=1e-7 * scale)


def _thmg_9_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(until=LimitIdentified(), log_horizon=700.0)
