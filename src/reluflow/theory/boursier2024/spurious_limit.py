"""Spurious convergence: Theorems 2 and 4, Lemma 8 and Remark 3, corrected by E3, E7 and E8 [boursier2024]."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.stopping import Stationary
from reluflow.dynamics.trajectory import Outcome
from reluflow.network import Network
from reluflow.theory.boursier2024 import conditions
from reluflow.theory.boursier2024.local_lemmas import LIMIT_ATOL
from reluflow.theory.boursier2024.mixed_lemmas import output_errors
from reluflow.theory.boursier2024.phase_states import phase_states
from reluflow.theory.boursier2024.spurious_constants import active_probability, constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import settled_plan
from reluflow.theory.comparison import Comparison, at_least, at_most, fitted_slope, judgement, missing, require
from reluflow.theory.diagnosis import assumption_named
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.measures import Constants

NUM_CONE_POINTS = 100
_RESOLVED_ERROR, _LATE_ERROR = 1e-9, 1e-3  # distances from the line used to fit the rate; runs are good to 1e-11


def _cone_points(evidence: Evidence) -> FloatArray:
    """Random nonnegative combinations of the samples, and the samples themselves."""
    shares = np.random.default_rng(0).exponential(size=(NUM_CONE_POINTS, evidence.dataset.n))
    return np.vstack([evidence.dataset.X, shares @ evidence.dataset.X])


def _is_linear_on_the_cone(evidence: Evidence) -> Comparison:
    points = evidence.witness("cone points", lambda: _cone_points(evidence))
    difference = np.abs(evidence.run.network.outputs(points) - points @ evidence.facts.least_squares)
    worst = float(np.max(difference / np.linalg.norm(points, axis=1)))
    words = f"largest |h(x) - <beta*, x>|/|x| {worst:.3g} over {len(points)} points of the data cone"
    return at_most(worst, LIMIT_ATOL, detail=words)


def _late_output_rate(evidence: Evidence) -> float:
    errors = [(state.time, float(np.max(np.abs(output_errors(state))))) for state in phase_states(evidence)]
    points = [(time, np.log(error)) for time, error in errors if _RESOLVED_ERROR < error < _LATE_ERROR]
    require(len(points) >= 3, "three snapshots on the way from 1e-3 to 1e-9 of the line")
    return -fitted_slope(*zip(*points, strict=True))


def _predictions(evidence: Evidence) -> Constants:
    constants, dead = constants_of(evidence), None
    if evidence.dataset.d == 2:
        dead = (1.0 - active_probability(evidence.facts)) ** evidence.network.num_neurons
    outputs = (evidence.dataset.X @ constants.beta_star).tolist()
    return {"outputs": outputs, "loss": constants.loss_star, "probability_of_no_positive_neuron": dead}


NUM_COPIES = 4


def wider_network(evidence: Evidence) -> Network:
    """A network four times as wide at the same scale: the drawn one and three turned copies, each divided by 2."""
    network, rng = evidence.network, np.random.default_rng(0)
    share, drawn = 1.0 / np.sqrt(NUM_COPIES), [rng.standard_normal((network.d,) * 2) for _ in range(NUM_COPIES - 1)]
    turns = [np.eye(network.d), *(np.linalg.qr(each)[0] for each in drawn)]
    return network.replace(
        w=share * np.vstack([network.w @ turn.T for turn in turns]),
        a=share * np.tile(network.a, NUM_COPIES),
        weight=np.tile(network.weight, NUM_COPIES),
    )


def _same_limit(evidence: Evidence) -> Comparison:
    wide = require(evidence.companions.get("wider"), "the run of a wider network")
    require(wide.outcome is Outcome.STATIONARY, f"a wider run that comes to rest ({wide.outcome})")
    gap = float(np.max(np.abs(wide.predictions - evidence.run.predictions)))
    widths = f"{evidence.network.num_neurons} and {wide.network.num_neurons} neurons"
    return at_most(gap, LIMIT_ATOL, detail=f"the outputs of {widths} at the end differ by at most {gap:.3g}")


def _width_plan(evidence: Evidence) -> FlowPlan:
    plan = settled_plan(evidence)
    wider = Companion("wider", wider_network(evidence), until=Stationary())
    return replace(plan, companions=(*plan.companions, wider))


def _outside_the_box(evidence: Evidence) -> Comparison:
    inside = conditions.three_point_box(evidence.facts, corrected=False)
    margin = None if inside.margin is None else -inside.margin
    return judgement(not inside.holds, margin, inside.detail)


def box_corners(eta: float) -> tuple[FloatArray, FloatArray]:
    """The 512 corners of the box of Assumption 3, as samples (512, 3, 2) and labels (512, 3); open sides are closed.

    A side that must be positive, y_2 > 0, starts at eta / 100.
    """
    above = (1.0, 1.0 + eta)
    samples = ((-1.0, -1.0 + eta), above, (-eta, eta), (1.0 - eta, 1.0 + eta), (1.0 - eta, 1.0), above)
    corners = np.array(list(product(*samples, above, (eta / 100, eta), above)))
    return corners[:, :6].reshape(-1, 3, 2), corners[:, 6:]


def facet_margins(samples: FloatArray, labels: FloatArray) -> FloatArray:
    """Assumption 5 at the outer samples of many sets: the least y_k |x_k|^2 - |y| sqrt(sum <x_k', x_k>^2)."""
    gram = np.einsum("cid,cjd->cij", samples, samples)
    margins = []
    for k in (0, 2):
        own = gram[:, k, k]
        others = np.sqrt(np.sum(gram[:, k] ** 2, axis=1) - own**2)
        margins.append(labels[:, k] * own - np.linalg.norm(labels, axis=1) * others)
    return np.asarray(np.min(margins, axis=0))


def _box_size(evidence: Evidence) -> float:
    """The least eta whose box holds the three samples, in whatever order they come."""
    limit = conditions.largest_safe_eta()
    margin = conditions.three_point_box(evidence.facts, corrected=True).margin
    return limit - (margin if margin is not None else 0.0)


def _corners_meet_assumption_5(evidence: Evidence) -> Comparison:
    samples, labels = evidence.witness("corners", lambda: box_corners(_box_size(evidence)))
    margins = facet_margins(samples, labels)
    return at_least(float(margins.min()), 0.0, detail=f"least margin of Assumption 5 over {margins.size} corners")


def _margin_of(evidence: Evidence, assumption: str) -> Comparison:
    found = assumption_named(assumption).judge(evidence.facts)
    if found.holds is None or found.margin is None:
        return missing(found.detail)
    return at_least(found.margin, 0.0, detail=found.detail)


def middle_weights(X: FloatArray) -> FloatArray:
    """Eq. (13): alpha with x_2 = alpha_1 x_1 + alpha_3 x_3 for the sample between the two others.

    >>> middle_weights(np.array([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]])).round(6)
    array([0.714286, 0.285714])
    """
    left, middle, right = X[np.argsort(np.arctan2(X[:, 0], X[:, 1]))]
    return np.asarray(np.linalg.solve(np.stack([left, right], axis=1), middle))


@computed_once
def _weights(evidence: Evidence) -> FloatArray:
    return middle_weights(evidence.dataset.X)


def _middle_is_inside(evidence: Evidence) -> Comparison:
    weights = _weights(evidence)
    return at_least(float(weights.min()), 0.0, detail=f"x_2 = {weights[0]:.6g} x_1 + {weights[1]:.6g} x_3")


def _residual_signs(evidence: Evidence) -> Comparison:
    """Eq. (14): with r = X beta* - y, r_1 + alpha_1 r_2 = 0, r_3 + alpha_3 r_2 = 0 and r_2 > 0."""
    X, order = evidence.dataset.X, np.argsort(np.arctan2(evidence.dataset.X[:, 0], evidence.dataset.X[:, 1]))
    r = (X @ evidence.facts.least_squares - evidence.dataset.y)[order]
    weights = _weights(evidence)
    balance = max(abs(r[0] + weights[0] * r[1]), abs(r[2] + weights[1] * r[1]))
    detail = f"r_2 = {r[1]:.6g}, largest imbalance {balance:.2g}"
    return at_least(float(r[1]) if balance < 1e-12 else -float(balance), 0.0, detail=detail)


def _lemma8_constants(evidence: Evidence) -> Constants:
    return {"largest_eta": conditions.largest_safe_eta(), "eta": _box_size(evidence)}
