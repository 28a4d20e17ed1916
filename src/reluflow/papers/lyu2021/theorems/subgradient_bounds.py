"""What every small network satisfies: Eq. (2), Lemmas B.10 to B.14 [lyu2021].

Bounds are tried on random networks of many sizes. The samples are first carried into the unit ball by the data scaling
law, so the bounds apply to every dataset.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.losses import LogisticLoss
from reluflow.network.network import leaky_relu
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import MEAN_LOSS
from reluflow.papers.lyu2021.theorems.parameters import EPS, chosen
from reluflow.papers.lyu2021.theorems.unit_ball import State, drawn_networks, m_norm, pull, states, unit_ball, velocity
from reluflow.theory.comparison import Comparison, Level, Values, fitted_slope, judgement, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtMost, Equals
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

SHARP = 0.25  # sup of l'', where the paper uses the bound 1


def _width(evidence: Evidence) -> int:
    return evidence.network.num_neurons


def _gradient_gap(state: State, evidence: Evidence) -> FloatArray:
    """grad L - grad L~ for the recorded outputs, rows (w_k, a_k): the forces g_i against their value 1/2 at f = 0."""
    ball = unit_ball(evidence)
    loss = LogisticLoss()
    difference = loss.forces(state.outputs, ball.y) - loss.label_forces(ball.y)
    return -pull(state.network, ball.X, difference)


def _velocity_gap(evidence: Evidence) -> Values:
    """|v - v~|_M / (m |theta|_M^3), v the velocity on boundaries included and v~ that of phase I."""
    ball, data = unit_ball(evidence), evidence.dataset.replace(X=unit_ball(evidence).X)
    for s in states(evidence):
        early = pull(s.network, ball.X, evidence.loss.label_forces(ball.y))
        yield m_norm(velocity(s.network, s.outputs, data, evidence.loss) - early) / (_width(evidence) * s.size**3)


# Eq. (2) --------------------------------------------------------------------------------------------------------------


def _loss_gap(evidence: Evidence) -> Values:
    """|L - L~| / (max f^2 / 8), L~ = ln 2 - sum_k a_k G(w_k); below rounding where f is tiny."""
    ball = unit_ball(evidence)
    for s in states(evidence):
        potentials = leaky_relu(s.rows[:, :-1] @ ball.X.T, evidence.leak) @ ball.y / (2.0 * len(ball.y))
        gap = abs(LogisticLoss().total(s.outputs, ball.y) - (np.log(2.0) - s.rows[:, -1] @ potentials))
        yield max(gap - 1e-15, 0.0) / (float(np.max(s.outputs**2)) / 8.0)


def _loss_gap_order(evidence: Evidence) -> float:
    """Order of |L - L~| in the scale, one network over three decades; sup l'' makes it 4 (f^2)."""
    ball, state = unit_ball(evidence), states(evidence)[-1]
    outputs, scales = state.outputs / float(np.max(np.abs(state.outputs))), np.geomspace(1e-2, 1e-1, 5)
    gaps = []
    for scale in scales:
        values = scale**2 * outputs
        gaps.append(abs(LogisticLoss().total(values, ball.y) - np.log(2.0) + ball.y @ values / (2.0 * len(ball.y))))
    return fitted_slope(np.log(scales), np.log(gaps))


EQ_2 = Theorem(
    "lyu2021:eq2",
    Reference("lyu2021", "Eq. (2)"),
    r"Near 0 the loss is $\ln 2 - \sum_k a_k G(w_k)$ up to $\max f^2/8$, so $dw/dt \sim a \nabla G$ and "
    r"$da/dt \sim G$.",
    hypotheses=(MEAN_LOSS,),
    conclusions=(
        Conclusion("loss", r"$|L - \tilde{L}|$ over $\max f^2/8$", AtMost(_loss_gap, 1.0)),
        Conclusion(
            "order",
            "the gap is of fourth order in the scale",
            Equals(_loss_gap_order, 4.0, allowance=0.05, words="order {measured:.4f} in the scale, 4 expected"),
            Level.SCALING,
        ),
        Conclusion(
            "velocity",
            r"the velocity differs from $(a \nabla G, G)$ by $m |\theta|_M^3$ at most",
            AtMost(_velocity_gap, 1.0),
        ),
    ),
    record=drawn_networks,
    setting=SETTING,
    example=EXAMPLE,
)

# Lemma B.10 -----------------------------------------------------------------------------------------------------------


def _output_bound(evidence: Evidence) -> Values:
    """|f(x_i)| / (m |theta|_M^2)."""
    return [np.abs(s.outputs) / (_width(evidence) * s.size**2) for s in states(evidence)]


def _difference_bound(evidence: Evidence) -> Values:
    """|f_theta - f_theta'| / (m |theta - theta'|_M (|theta|_M + |theta'|_M)) over consecutive networks."""
    for one, two in pairwise(states(evidence)):
        bound = _width(evidence) * m_norm(one.rows - two.rows) * (one.size + two.size)
        yield np.abs(one.outputs - two.outputs) / bound


LEMMA_B_10 = Theorem(
    "lyu2021:lemmaB.10",
    Reference("lyu2021", "Lemma B.10"),
    r"$|f| \le m |\theta|_M^2$, and $|f_1 - f_2| \le m |\theta_1 - \theta_2|_M (|\theta_1|_M + |\theta_2|_M)$.",
    hypotheses=(MEAN_LOSS,),
    conclusions=(
        Conclusion("outputs", "$|f(x)|$ over its bound", AtMost(_output_bound, 1.0)),
        Conclusion("differences", "$|f_1(x) - f_2(x)|$ over its bound", AtMost(_difference_bound, 1.0)),
    ),
    record=drawn_networks,
    setting=SETTING,
    example=EXAMPLE,
)

# Lemma B.11 -----------------------------------------------------------------------------------------------------------


def _by_neuron(evidence: Evidence, *, by_input: bool, factor: float) -> Values:
    """The part of grad L - grad L~ by w_k or by a_k over m |theta|_M^2 |a_k| or m |theta|_M^2 |w_k|."""
    for s in states(evidence):
        gap, lengths = _gradient_gap(s, evidence), np.linalg.norm(s.rows[:, :-1], axis=1)
        sizes = np.linalg.norm(gap[:, :-1], axis=1) if by_input else np.abs(gap[:, -1])
        yield sizes / (factor * _width(evidence) * s.size**2 * (np.abs(s.rows[:, -1]) if by_input else lengths))


LEMMA_B_11 = Theorem(
    "lyu2021:lemmaB.11",
    Reference("lyu2021", "Lemma B.11"),
    r"The derivatives of $L - \tilde{L}$ by $w_k$ and $a_k$ are at most $m |\theta|_M^2 |a_k|$ and "
    r"$m |\theta|_M^2 |w_k|$.",
    hypotheses=(MEAN_LOSS,),
    conclusions=(
        Conclusion("input", "by $w_k$, over its bound", AtMost(partial(_by_neuron, by_input=True, factor=1.0), 1.0)),
        Conclusion("output", "by $a_k$, over its bound", AtMost(partial(_by_neuron, by_input=False, factor=1.0), 1.0)),
        Conclusion(
            "input-sharp", "by $w_k$, with $m/4$ for $m$", AtMost(partial(_by_neuron, by_input=True, factor=SHARP), 1.0)
        ),
        Conclusion(
            "output-sharp",
            "by $a_k$, with $m/4$ for $m$",
            AtMost(partial(_by_neuron, by_input=False, factor=SHARP), 1.0),
        ),
    ),
    record=drawn_networks,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E18: the sign of the remainder integral; the bounds stand, and hold with $m/4$ since $\ell'' \le 1/4$.",
)

# Lemma B.12 -----------------------------------------------------------------------------------------------------------


def _whole_gap(evidence: Evidence, *, factor: float) -> Values:
    """|grad L - grad L~|_M / (m |theta|_M^3)."""
    for s in states(evidence):
        yield m_norm(_gradient_gap(s, evidence)) / (factor * _width(evidence) * s.size**3)


LEMMA_B_12 = Theorem(
    "lyu2021:lemmaB.12",
    Reference("lyu2021", "Lemma B.12"),
    r"$|\partial(L - \tilde L)|_M \le m |\theta|_M^3$ for the Clarke subdifferential.",
    hypotheses=(MEAN_LOSS,),
    conclusions=(
        Conclusion("gap", r"$|\nabla (L - \tilde{L})|_M$ over its bound", AtMost(partial(_whole_gap, factor=1.0), 1.0)),
        Conclusion("gap-sharp", "the same with $m/4$ for $m$", AtMost(partial(_whole_gap, factor=SHARP), 1.0)),
    ),
    record=drawn_networks,
    setting=SETTING,
    example=EXAMPLE,
)

# Cor. B.13 ------------------------------------------------------------------------------------------------------------

COR_B_13 = Theorem(
    "lyu2021:corB.13",
    Reference("lyu2021", "Cor. B.13"),
    r"Where $\tilde{L}$ is smooth, every Clarke subgradient of $L$ is within $m |\theta|_M^3$ of "
    r"$\nabla \tilde{L}$ in $M$-norm.",
    hypotheses=(MEAN_LOSS,),
    conclusions=(Conclusion("subgradient", r"$|v - \tilde{v}|_M$ over its bound", AtMost(_velocity_gap, 1.0)),),
    record=drawn_networks,
    setting=SETTING,
    example=EXAMPLE,
)

# Lemma B.14 -----------------------------------------------------------------------------------------------------------

FORCE_ROUNDING = 5e-16  # of 2 g - 1
_NONE_SMALL = "no network is small enough"


def _small_ones(evidence: Evidence, networks: tuple[State, ...]) -> tuple[State, ...]:
    """Those of M-norm at most sqrt(eps/(2m)), as Lemma B.14 asks."""
    largest = np.sqrt(evidence.parameter("eps") / (2.0 * _width(evidence)))
    return tuple(s for s in networks if s.size <= largest)


@dataclass(frozen=True, eq=False)
class SmallNetworks:
    """Drawn networks that are small enough, with the size g_i of the force on every output."""

    states: tuple[State, ...]
    forces: tuple[FloatArray, ...]


def _small_networks(evidence: Evidence) -> SmallNetworks:
    small, y = _small_ones(evidence, drawn_networks(evidence).states), unit_ball(evidence).y
    return SmallNetworks(small, tuple(y * LogisticLoss().force(s.outputs, y) for s in small))


def _some_are_small(evidence: Evidence) -> Comparison:
    drawn = drawn_networks(evidence).states
    count = len(_small_ones(evidence, drawn))
    return judgement(count > 0, float(count), f"{count} of {len(drawn)} networks have such an $M$-norm")


SMALL_NETWORK = Hypothesis(
    "small-network", r"$|\theta|_M \le \sqrt{\varepsilon/(2m)}$", _some_are_small, is_regime=True
)


def _force_deviation(evidence: Evidence, *, factor: float) -> Values:
    """|2 g_i - 1| / (factor |f(x_i)|) over the small networks, the rounding of g taken off."""
    small = evidence.recorded(SmallNetworks)
    for s, forces in zip(require(small.states, _NONE_SMALL), small.forces, strict=True):
        deviations = np.abs(2.0 * forces - 1.0) - FORCE_ROUNDING
        yield np.maximum(deviations, 0.0) / np.maximum(factor * np.abs(s.outputs), np.finfo(float).tiny)


def _deviation_below_eps(evidence: Evidence) -> Values:
    """eps_i = |2 g_i - 1| over the small networks."""
    return [np.abs(2.0 * g - 1.0) for g in require(evidence.recorded(SmallNetworks).forces, _NONE_SMALL)]


LEMMA_B_14 = Theorem(
    "lyu2021:lemmaB.14",
    Reference("lyu2021", "Lemma B.14"),
    r"If $|\theta|_M \le \sqrt{\varepsilon/(2m)}$, every force is that at $f = 0$ times $1 + \varepsilon_i$ with "
    r"$|\varepsilon_i| \le \varepsilon$.",
    hypotheses=(MEAN_LOSS, SMALL_NETWORK),
    conclusions=(
        Conclusion(
            "eps",
            r"$\varepsilon_i = |2 g_i - 1| \le \varepsilon$",
            AtMost(_deviation_below_eps, partial(chosen, parameter=EPS)),
        ),
        Conclusion("by-output", r"$|2 g_i - 1| \le 2 |f(x_i)|$", AtMost(partial(_force_deviation, factor=2.0), 1.0)),
        Conclusion(
            "by-output-sharp", r"$|2 g_i - 1| \le |f(x_i)|/2$", AtMost(partial(_force_deviation, factor=0.5), 1.0)
        ),
    ),
    parameters=(EPS,),
    record=_small_networks,
    setting=SETTING,
    example=EXAMPLE,
)
