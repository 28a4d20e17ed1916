"""Phase I on symmetric data: the linearised flow is a power iteration, Eq. (3), Lemmas 5.2, D.1, D.2, E.7."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import SYMMETRIC_AT_ANY_WIDTH
from reluflow.papers.lyu2021.theorems.limits import good_draw_probability
from reluflow.papers.lyu2021.theorems.parameters import OUTPUT_RATIO
from reluflow.papers.lyu2021.theorems.symmetric_flow import (
    SMALL_SCALE,
    embedding_vector,
    flow_constants,
    log_scale_for_radius,
    log_scale_for_size,
    relative_linear_flow,
    smallest_radius,
    symmetric_flow,
)
from reluflow.papers.lyu2021.theorems.unit_ball import DRAW_SEED, m_norm
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    Values,
    equals,
    fails,
    fitted_slope,
    judgement,
    require,
)
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import NO_RIDGE
from reluflow.theory.measures import Above, AtMost, Equals, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

INTEGRATION = 1e-9  # relative to |theta|; the runs have rtol 1e-10
NUM_TIMES = 13


def _initial_rows(evidence: Evidence) -> FloatArray:
    """Rows of theta_0 divided by |theta_0|_M, so that scales below the range of a double do not matter."""
    flow = symmetric_flow(evidence)
    return np.asarray(flow.shape * np.sqrt(len(flow.shape)))


def _recorded_rows(evidence: Evidence, index: int) -> FloatArray:
    """Rows of theta at a snapshot in units of e^(lambda_0 t) |theta_0|_M."""
    flow, snapshot = symmetric_flow(evidence), evidence.run.snapshots[index]
    unit = flow.ball.log_norm(evidence.network) + flow.growth * flow.ball.radius * snapshot.time
    return flow.ball.neurons(snapshot.network, log_unit=unit)


def _linear_rows(evidence: Evidence, angle: float) -> FloatArray:
    """Rows of the linearised flow at lambda_0 t = `angle`, in the same units."""
    return relative_linear_flow(_initial_rows(evidence), symmetric_flow(evidence).mean_direction, angle)


def _angles(evidence: Evidence) -> FloatArray:
    """lambda_0 t at the snapshots."""
    flow = symmetric_flow(evidence)
    return np.array([flow.growth * flow.ball.radius * s.time for s in evidence.run.snapshots])


def _times_up_to(evidence: Evidence, angle: float) -> FlowPlan:
    """Even times up to lambda_0 t = `angle`."""
    flow = symmetric_flow(evidence)
    times = np.linspace(0.0, angle / flow.growth, NUM_TIMES)
    return FlowPlan(times=tuple(flow.ball.own_time(float(t)) for t in times))


# Eq. (3) --------------------------------------------------------------------------------------------------------------

LAST_ANGLE = 9.0  # lambda_0 t up to which Eq. (3) is followed


def _vanishing_scale(evidence: Evidence) -> Comparison:
    flow = symmetric_flow(evidence)
    if flow.growth == 0.0:
        return fails(r"$\mu = 0$, so nothing grows")
    margin = float(np.log(INTEGRATION * flow.growth / 4.0)) - 2.0 * (flow.log_size + LAST_ANGLE)
    return judgement(margin >= 0.0, margin, rf"$\ln(\sqrt{{m}} |\theta_0|_M)$ = {flow.log_size:.4g}")


VANISHING_SCALE = Hypothesis(
    "vanishing-scale",
    "the scale is so small that Lemma D.2 allows a difference of 1e-09 only",
    _vanishing_scale,
    is_regime=True,
)


def _is_boost(evidence: Evidence) -> Values:
    """|theta - exp(t M) theta_0|_M / (e^(lambda_0 t) |theta_0|_M) over the snapshots."""
    return [m_norm(_recorded_rows(evidence, k) - _linear_rows(evidence, x)) for k, x in enumerate(_angles(evidence))]


def _alignment_rates(evidence: Evidence) -> float:
    """Slowest rate over neurons, per lambda_0 t, at which the tangent of the angle to +-(mu-bar, 1) falls.

    The part orthogonal to both eigenvectors stands still, that along (mu-bar, -1) decays: the rate is -1 or faster.
    """
    flow = symmetric_flow(evidence)
    top = np.append(flow.mean_direction, 1.0) / np.sqrt(2.0)
    angles = _angles(evidence)
    late = np.flatnonzero(angles >= 4.0)
    tangents = []
    for k in late:
        rows = _recorded_rows(evidence, int(k))
        along = rows @ top
        tangents.append(np.linalg.norm(rows - np.outer(along, top), axis=1) / np.abs(along))
    return max(fitted_slope(angles[late], np.log(column)) for column in np.array(tangents).T)


EQ_3 = Theorem(
    "lyu2021:eq3",
    Reference("lyu2021", "Eq. (3)"),
    r"At vanishing scale $(w_k, a_k)$ moves by $\exp(t M)$, $M = [[0, \tilde{\mu}], [\tilde{\mu}^\top, 0]]$: a "
    r"power iteration whose angle to $(\bar{\mu}, 1)$ falls like $e^{-\lambda_0 t}$.",
    hypotheses=(*SYMMETRIC_AT_ANY_WIDTH, VANISHING_SCALE, NO_RIDGE),
    conclusions=(
        Conclusion(
            "boost",
            r"$|\theta - \exp(t M) \theta_0|_M$ over $e^{\lambda_0 t} |\theta_0|_M$",
            AtMost(_is_boost, 1e-8),
            Level.EXACT,
        ),
        Conclusion(
            "direction",
            r"rate of every neuron's angle to $(\bar{\mu}, 1)$",
            AtMost(
                _alignment_rates,
                -1.0,
                allowance=1e-6,
                words=r"slowest rate {measured:.6f} per $\lambda_0 t$, against -1",
            ),
            Level.SCALING,
        ),
    ),
    constants=flow_constants,
    plan=partial(_times_up_to, angle=LAST_ANGLE),
    log_scale=partial(log_scale_for_size, log_size=-25.0),
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E1: $\tilde{\mu} = ((1 + \mathrm{leak})/4) \mu$, not $((1 + \mathrm{leak})/2) \mu$.",
    departs=r"Tried at $\sqrt{m} |\theta_0|_M = e^{-25}$, where the outputs are below rounding up to "
    r"$\lambda_0 t = 9$.",
)

# Lemma 5.2 ------------------------------------------------------------------------------------------------------------


def first_time(evidence: Evidence) -> float:
    """T1 for the smallest r that Lemma 5.2 allows, in the problem's own time."""
    flow = symmetric_flow(evidence)
    return flow.ball.own_time(flow.phase_one_time(flow.log_radius))


def _phase_one_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=(max(first_time(evidence), 1e-3),), other_scales=(-3.0 * np.log(2.0), -6.0 * np.log(2.0)))


def phase_one_error(evidence: Evidence) -> float:
    """|theta(T1) - r (b mu-bar, b)|_M over r, at the run's first snapshot."""
    flow = symmetric_flow(evidence)
    first = require(evidence.run.snapshots, "a state at $T_1$")[0]
    rows = flow.ball.neurons(first.network, log_unit=flow.log_radius)
    return m_norm(rows - flow.aligned)


def phase_one_constant(evidence: Evidence) -> float:
    """C = 4/lambda_0 + sqrt 2 (erratum E9)."""
    return float(4.0 / symmetric_flow(evidence).growth + np.sqrt(2.0))


def _phase_one_bound(evidence: Evidence) -> Values:
    """|Delta theta|_M / (C r^3/sqrt m) over the scales."""
    for each in (evidence, *evidence.other_scales):
        bound = phase_one_constant(each) * np.exp(2.0 * symmetric_flow(each).log_radius)
        yield phase_one_error(each) / (bound / np.sqrt(each.network.num_neurons) + INTEGRATION)


def _phase_one_order(evidence: Evidence) -> float:
    """Order in r of |Delta theta|_M over the scales."""
    require(len(evidence.other_scales) >= 2, "the runs at other scales were not made")
    require(
        min(phase_one_error(each) for each in (evidence, *evidence.other_scales)) >= INTEGRATION,
        "the error is below that of the integration; the order shows at larger scales only",
    )
    radii = [symmetric_flow(each).log_radius for each in (evidence, *evidence.other_scales)]
    errors = [
        np.log(phase_one_error(each)) + r for each, r in zip((evidence, *evidence.other_scales), radii, strict=True)
    ]
    return fitted_slope(radii, errors)


LEMMA_5_2 = Theorem(
    "lyu2021:lemma5.2",
    Reference("lyu2021", "Lemma 5.2"),
    r"At $T_1(r)$ every neuron is $r b_k (\bar{\mu}, 1)$ up to $C r^3/\sqrt{m}$ in $M$-norm, "
    r"$C = 4/\lambda_0 + \sqrt{2}$.",
    hypotheses=(*SYMMETRIC_AT_ANY_WIDTH, SMALL_SCALE, NO_RIDGE),
    conclusions=(
        Conclusion("bound", r"$|\Delta \theta|_M$ over $C r^3/\sqrt{m}$", AtMost(_phase_one_bound, 1.0)),
        Conclusion(
            "order",
            r"order of $|\Delta \theta|_M$ in $r$",
            Equals(_phase_one_order, 3.0, allowance=0.1, words="order {measured:.4f} in $r$, 3 expected"),
            Level.SCALING,
            source=Source.RELUFLOW,
        ),
    ),
    constants=Quantities({"C": phase_one_constant, "r": smallest_radius, "T1": first_time}, others=(flow_constants,)),
    predictions=Quantities({"b": embedding_vector}),
    plan=_phase_one_plan,
    log_scale=partial(log_scale_for_radius, fraction=0.3),
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E1: $\lambda_0 = ((1 + \mathrm{leak})/4) |\mu|$; E9: $C$ depends on the data and "
    r"$r \le \sqrt{\lambda_0}/2$ is needed.",
)

# Lemma D.1 ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearisedFlow:
    """theta~ at lambda_0 t = 0, 1, ..., 12 in units of e^(lambda_0 t) |theta_0|_M."""

    rows: tuple[FloatArray, ...]


def _linearised(evidence: Evidence) -> LinearisedFlow:
    return LinearisedFlow(tuple(_linear_rows(evidence, float(k)) for k in range(NUM_TIMES)))


def _linear_growth(evidence: Evidence) -> Values:
    """|theta~(t)|_M over e^(lambda_0 t) |theta_0|_M."""
    return [m_norm(rows) for rows in evidence.recorded(LinearisedFlow).rows[1:]]


LEMMA_D_1 = Theorem(
    "lyu2021:lemmaD.1",
    Reference("lyu2021", "Lemma D.1"),
    r"The linearised flow obeys $|\tilde{\theta}(t)|_M \le e^{\lambda_0 t} |\tilde{\theta}_0|_M$.",
    hypotheses=SYMMETRIC_AT_ANY_WIDTH,
    conclusions=(
        Conclusion(
            "growth",
            r"$|\tilde\theta(t)|_M$ over $e^{\lambda_0 t} |\tilde\theta_0|_M$, $\lambda_0 t = 1, \dots, 12$",
            AtMost(_linear_growth, 1.0),
        ),
    ),
    constants=flow_constants,
    record=_linearised,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E1: $\lambda_0 = ((1 + \mathrm{leak})/4) |\mu|$.",
)

# Lemma D.2 ------------------------------------------------------------------------------------------------------------


def _window(evidence: Evidence) -> float:
    """lambda_0 times the end of Lemma D.2's window: ln(sqrt(lambda_0/4) / (sqrt(m) |theta_0|_M))."""
    flow = symmetric_flow(evidence)
    return 0.5 * float(np.log(flow.growth / 4.0)) - flow.log_size if flow.growth > 0.0 else -np.inf


OPEN_WINDOW = Hypothesis(
    "window",
    r"$\sqrt{m} |\theta_0|_M < \sqrt{\lambda_0/4}$",
    Above(_window, 0.0, words=r"the window ends at $\lambda_0 t$ = {number:.4g}"),
    is_regime=True,
)


def _window_end(evidence: Evidence) -> float:
    return _window(evidence) / symmetric_flow(evidence).growth


def _window_plan(evidence: Evidence) -> FlowPlan:
    return _times_up_to(evidence, max(_window(evidence), 1e-3))


def _window_log_scale(evidence: Evidence) -> float:
    """Factor that gives the window the length lambda_0 t = 8."""
    return _window(evidence) - 8.0


def _follows_linear_flow(evidence: Evidence) -> Values:
    """|theta - theta~|_M over (4 m |theta_0|_M^3/lambda_0) e^(3 lambda_0 t), past the start."""
    flow = symmetric_flow(evidence)
    for k, angle in list(enumerate(_angles(evidence)))[1:]:
        gap = m_norm(_recorded_rows(evidence, k) - _linear_rows(evidence, angle))
        # in units of e^(lambda_0 t) |theta_0|_M, with sqrt(m) |theta_0|_M = exp(log_size)
        yield gap / (4.0 / flow.growth * np.exp(2.0 * (flow.log_size + angle)) + INTEGRATION)


def _stays_below_twice(evidence: Evidence) -> Values:
    """|theta(t)|_M / (2 e^(lambda_0 t) |theta_0|_M)."""
    return [0.5 * m_norm(_recorded_rows(evidence, k)) for k in range(len(_angles(evidence)))]


LEMMA_D_2 = Theorem(
    "lyu2021:lemmaD.2",
    Reference("lyu2021", "Lemma D.2"),
    r"While $\sqrt{m} e^{\lambda_0 t} |\theta_0|_M \le \sqrt{\lambda_0/4}$ the flow stays near the linearised one.",
    hypotheses=(*SYMMETRIC_AT_ANY_WIDTH, OPEN_WINDOW, NO_RIDGE),
    conclusions=(
        Conclusion(
            "gap",
            r"$|\theta - \tilde{\theta}|_M$ over $(4 m |\theta_0|_M^3/\lambda_0) e^{3 \lambda_0 t}$",
            AtMost(_follows_linear_flow, 1.0),
        ),
        Conclusion("norm", r"$|\theta(t)|_M$ over $2 e^{\lambda_0 t} |\theta_0|_M$", AtMost(_stays_below_twice, 1.0)),
    ),
    constants=flow_constants,
    predictions=Quantities({"window_end": _window_end}),
    plan=_window_plan,
    log_scale=_window_log_scale,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E1: $\lambda_0 = ((1 + \mathrm{leak})/4) |\mu|$; E18: the proof applies (11), not (12).",
)

# Lemma E.7 ------------------------------------------------------------------------------------------------------------

NUM_DRAWS = 20_000


def _has_mean(evidence: Evidence) -> Comparison:
    growth = symmetric_flow(evidence).growth
    return judgement(True, growth, rf"$\lambda_0$ = {growth:.4g}") if growth > 0.0 else fails(r"$\mu = 0$")


HAS_MEAN = Hypothesis("mean", r"$\mu$ is not 0, so $\bar{\mu}$ exists", _has_mean)


@dataclass(frozen=True, eq=False)
class DrawnEmbeddings:
    """b-bar of many draws of D_init up to a factor, one draw a row."""

    b: FloatArray


def _drawn_embeddings(evidence: Evidence) -> DrawnEmbeddings:
    rng = np.random.default_rng(DRAW_SEED)
    m, direction = evidence.network.num_neurons, symmetric_flow(evidence).mean_direction
    w = rng.standard_normal((NUM_DRAWS, m, len(direction)))
    a = evidence.parameter("output_ratio") * rng.standard_normal((NUM_DRAWS, m))
    return DrawnEmbeddings(np.asarray(w @ direction + a))


def _good_fraction(evidence: Evidence) -> float:
    """Part of the draws whose b-bar has both signs."""
    b = evidence.recorded(DrawnEmbeddings).b
    return float(np.mean(np.any(b > 0.0, axis=1) & np.any(b < 0.0, axis=1)))


def _probability(evidence: Evidence) -> Comparison:
    """Frequency of good draws; 4 standard deviations of the binomial law are allowed."""
    exact = good_draw_probability(evidence)
    return equals(_good_fraction(evidence), exact, atol=4.0 * float(np.sqrt(exact * (1.0 - exact) / NUM_DRAWS)))


LEMMA_E_7 = Theorem(
    "lyu2021:lemmaE.7",
    Reference("lyu2021", "Lemma E.7"),
    r"Under $D_{\mathrm{init}}$ the vector $\bar{b}$ is a good embedding vector with probability exactly "
    r"$1 - 2^{-(m-1)}$.",
    hypotheses=(HAS_MEAN,),
    conclusions=(Conclusion("frequency", "frequency over 20000 draws", _probability, Level.EXACT),),
    predictions=Quantities({"probability": good_draw_probability}),
    parameters=(OUTPUT_RATIO,),
    record=_drawn_embeddings,
    setting=SETTING,
    example=EXAMPLE,
    departs="By simulation.",
)
