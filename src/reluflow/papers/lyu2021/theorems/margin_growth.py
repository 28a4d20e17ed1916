"""How the smoothed margin grows and where it ends: Lemmas F.6, F.8 and F.11, Theorem F.9 [lyu2021].

Lemma F.11 bounds the speed of theta/|theta| by that of some unnamed function of gamma* - gamma~. What can be measured
is its consequence: the arc length left vanishes together with the gap, as a power of it.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from reluflow.certificates.limits.directions import direction_distance, unit_norm
from reluflow.dynamics.trajectory import Snapshot
from reluflow.papers.lyu2021.theorems.limits import OfTheLimit, kkt_residuals, limit_of, proved_limit
from reluflow.papers.lyu2021.theorems.parameters import KAPPA, LATE_MARGIN_ABOVE_1, LOG_HORIZON
from reluflow.papers.lyu2021.theorems.settings import TWELVE_BALANCED_NEURONS
from reluflow.papers.lyu2021.theorems.smoothed_margin import (
    LATE_MARGIN_RUN,
    SLIDING,
    SMALL_LOSS_FOR_GOOD,
    TIME_STEP,
    MarginState,
    margin_plan,
    smooth_states_of,
    states_of,
)
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    Values,
    at_least,
    at_most,
    fitted_slope,
    judgement,
    missing,
    require,
    worst_compared,
)
from reluflow.theory.elsewhere import left_out
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import LOGISTIC_LOSS, NO_RIDGE, assumed
from reluflow.theory.measures import AtMost, Constants
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

_Pair = tuple[Snapshot, MarginState]


def _triples(evidence: Evidence) -> list[tuple[_Pair, _Pair, _Pair]]:
    """Three neighbouring late snapshots each, on a smooth piece; undecided where there are fewer than three such."""
    pairs, found = states_of(evidence), []
    for triple in zip(pairs, pairs[1:], pairs[2:], strict=False):
        (before, low), (middle, state), (after, high) = triple
        is_near = after.time - before.time < 3.0 * TIME_STEP * middle.time
        if is_near and state.is_smooth and np.array_equal(low.network.patterns(low.X), high.network.patterns(high.X)):
            found.append(triple)
    require(len(found) >= 3, f"only {len(found)} triples of snapshots lie on smooth pieces")
    return found


RISING = 10.0  # a quantity that must fall and has become so many times larger at the end rises, however late it is


def _falls(name: str, pairs: list[_Pair], values: ArrayLike) -> Comparison:
    """A power of |theta| below 0; else undecided, for nothing is said of any finite time, unless it clearly rises."""
    values = np.maximum(np.asarray(values, dtype=np.float64), 1e-16)
    exponent = fitted_slope([np.log(state.norm) for _, state in pairs], np.log(values))
    words = rf"{name} changes like $|\theta|$ to the power {exponent:.4g} at the end, to {values[-1]:.3g}"
    if exponent >= 0.0 and values[-1] <= RISING * values[0]:
        return missing(f"{words}; the run is not late enough")
    return at_most(exponent, 0.0, detail=words)


def _late_half(evidence: Evidence) -> list[_Pair]:
    """The later half of the smooth states."""
    pairs = smooth_states_of(evidence)
    pairs = pairs[len(pairs) // 2 :]
    require(len(pairs) >= 5, SLIDING)
    return pairs


LEMMA_F_4 = left_out(
    "lyu2021:lemmaF.4",
    "Lemma F.4",
    "existence only: the desingularising function is not named, so there is no number to check",
)

LEMMA_F_5 = left_out(
    "lyu2021:lemmaF.5",
    "Lemma F.5",
    "existence only: the desingularising function is not named, so there is no number to check",
)

# Lemma F.6 ------------------------------------------------------------------------------------------------------------

_DERIVATIVE = 1e-6  # relative error allowed to a difference of neighbouring snapshots; 3e-8 was the largest seen
_ROUNDINGS = 16  # of gamma~, a quotient of sums, in the difference of two; 2 were the most seen


def _predicted_rate(state: MarginState) -> float:
    """The radial product plus the tangential one."""
    steep, speed = state.split(state.smooth_gradient), state.split(state.ascent)
    return float(np.exp(state.log_gradient_norm) * (steep[0] * speed[0] + steep[1] * speed[1]))


def _rate(evidence: Evidence) -> Values:
    """Relative difference of the rise of gamma~ over three snapshots and the predicted rate, integrated over them.

    By Simpson's rule: right after the samples are classified gamma~ grows so fast that the rate at the middle alone
    is off by 1e-5 over a part 1e-4 of the time, and the rule by the square of that. Late in a run gamma~ rises by so
    little, 1e-12 of itself, that the difference of two has five digits: their rounding is taken off.
    """
    for triple in _triples(evidence):
        (before, low), _, (after, high) = triple
        first, middle, last = (_predicted_rate(state) for _, state in triple)
        predicted = (after.time - before.time) * (first + 4.0 * middle + last) / 6.0
        rounding = _ROUNDINGS * np.finfo(np.float64).eps * abs(high.smooth_gamma)
        missed = abs(high.smooth_gamma - low.smooth_gamma - predicted)
        yield max(missed - rounding, 0.0) / abs(predicted)


LEMMA_F_6 = Theorem(
    "lyu2021:lemmaF.6",
    Reference("lyu2021", "Lemma F.6"),
    r"Once $n L < \ln 2$, $d \tilde{\gamma}/dt$ is the product of the radial parts of $\nabla \tilde{\gamma}$ and "
    r"$\nabla L$ plus that of the tangential parts.",
    hypotheses=LATE_MARGIN_RUN,
    conclusions=(
        Conclusion(
            "rate",
            r"$d \tilde{\gamma}/dt$ is the sum of the two products",
            AtMost(
                _rate,
                _DERIVATIVE,
                words="relative difference beyond rounding {measured:.2g} on {count} smooth pieces (step $0.0001 t$)",
            ),
            Level.EXACT,
        ),
    ),
    parameters=(LATE_MARGIN_ABOVE_1, LOG_HORIZON),
    plan=margin_plan,
    setting=TWELVE_BALANCED_NEURONS,
    example="lyu-counterexample-sharp",
    departs="The rate is integrated by Simpson's rule over snapshots a part 1e-4 of the time apart.",
)

LEMMA_F_7 = left_out("lyu2021:lemmaF.7", "Lemma F.7", "finitely many asymptotic critical values: no number is given")

# Lemma F.8 ------------------------------------------------------------------------------------------------------------


_RATE_ALLOWANCE = 1e-3  # relative, for a ratio of two differences
_ALIGNED = 1e-6  # 1 - beta below which the growth that it asks for between two snapshots is rounding


def _cosine_rate(evidence: Evidence) -> Comparison:
    """Smallest d ln gamma~ / (2(1/beta^2 - 1) d ln|theta|): at least 1, hence beta tends to 1 along a sequence."""
    ratios = []
    for (_, low), (_, state), (_, high) in _triples(evidence):
        gained = np.log(high.smooth_gamma) - np.log(low.smooth_gamma)
        needed = 2.0 * (state.cosine**-2 - 1.0) * (np.log(high.norm) - np.log(low.norm))
        if needed > _ROUNDINGS * np.finfo(np.float64).eps / _RATE_ALLOWANCE:  # below that the rounding is as large
            ratios.append(gained / needed)
    if not ratios:
        away = 1.0 - min(state.cosine for _, (_, state), _ in _triples(evidence))
        return at_most(away, _ALIGNED, detail=rf"$1 - \beta$ is at most {away:.2g}, too little to bound a growth by")
    return worst_compared(
        ratios, "at_least", 1.0, allowance=_RATE_ALLOWANCE, words="ratio at least {measured:.6g} on {count} pieces"
    )


def _cosines(evidence: Evidence) -> Comparison:
    """Exponent in |theta| with which 1 - beta falls at the end; a run that is not late enough decides nothing."""
    pairs = _late_half(evidence)
    gaps = np.array([1.0 - state.cosine for _, state in pairs])
    if gaps[-1] <= 1e-13:
        return at_most(float(gaps[-1]), 1e-13, detail=rf"$1 - \beta$ = {gaps[-1]:.2g}, rounding")
    return _falls(r"$1 - \beta$", pairs, gaps)


LEMMA_F_8 = Theorem(
    "lyu2021:lemmaF.8",
    Reference("lyu2021", "Lemma F.8"),
    r"The cosine $\beta$ of $\theta$ and its velocity tends to 1 along some sequence of times, since "
    r"$d\ln\tilde\gamma \ge 2(1/\beta^2 - 1)\, d\ln|\theta|$.",
    hypotheses=LATE_MARGIN_RUN,
    conclusions=(
        Conclusion("rate", r"$d\ln\tilde\gamma \ge 2(1/\beta^2 - 1)\, d\ln|\theta|$", _cosine_rate),
        Conclusion("cosine", r"$1 - \beta$ falls", _cosines, Level.SCALING, source=Source.RELUFLOW, is_asymptotic=True),
    ),
    parameters=(LATE_MARGIN_ABOVE_1, LOG_HORIZON),
    plan=margin_plan,
    setting=TWELVE_BALANCED_NEURONS,
    example="lyu-counterexample-sharp",
    departs=r"The lemma gives no rate; its inequality is judged, whose sum makes $\beta$ tend to 1 along a sequence, "
    "and the power of the norm fitted over the recorded times is ours.",
)

# Theorem F.9 ----------------------------------------------------------------------------------------------------------


def _critical(evidence: Evidence) -> Comparison:
    """Exponent in |theta| with which (1 + |theta|)|grad gamma~| falls at the end."""
    pairs = _late_half(evidence)
    values = [(1.0 + state.norm) * float(np.linalg.norm(state.smooth_gradient)) for _, state in pairs]
    return _falls(r"$(1 + |\theta|)|\nabla \tilde{\gamma}|$", pairs, values)


def _limit_value(evidence: Evidence) -> float:
    """The margin of the certified limit, which gamma~ tends to from below."""
    return MarginState(proved_limit(evidence).network, evidence.dataset.X, evidence.dataset.y).gamma


def _smoothed_margins(evidence: Evidence) -> Values:
    return [state.smooth_gamma for _, state in states_of(evidence)]


def _rounding_of_value(evidence: Evidence) -> float:
    return 1e-9 * _limit_value(evidence)


def _limit_residual(evidence: Evidence) -> list[float]:
    return kkt_residuals(evidence, [proved_limit(evidence).network], rtol=1e-7)


THM_F_9 = Theorem(
    "lyu2021:thmF.9",
    Reference("lyu2021", "Theorem F.9"),
    r"The limit of the margin is an asymptotic Clarke critical value: $(1 + |\theta|)|\nabla \tilde{\gamma}|$ "
    r"tends to 0.",
    hypotheses=LATE_MARGIN_RUN,
    conclusions=(
        Conclusion(
            "kkt",
            "the limit direction satisfies the KKT conditions",
            OfTheLimit(AtMost(_limit_residual, 1e-7, words="KKT residual {measured:.2g}")),
            Level.EXACT,
            is_asymptotic=True,
        ),
        Conclusion(
            "value",
            r"$\tilde{\gamma}$ stays below the limit's margin",
            AtMost(_smoothed_margins, _limit_value, allowance=_rounding_of_value),
        ),
        Conclusion(
            "critical",
            r"$(1 + |\theta|)|\nabla \tilde{\gamma}|$ falls",
            _critical,
            Level.SCALING,
            source=Source.RELUFLOW,
            is_asymptotic=True,
        ),
    ),
    parameters=(LATE_MARGIN_ABOVE_1, LOG_HORIZON),
    plan=margin_plan,
    setting=TWELVE_BALANCED_NEURONS,
    example="lyu-counterexample-sharp",
    departs=r"That the value is critical is read off the KKT conditions of the certified limit; the power of "
    r"$|\theta|$ fitted over the recorded times is ours.",
)

LEMMA_F_10 = left_out(
    "lyu2021:lemmaF.10", "Lemma F.10", "existence of one function for both regimes of Lemma F.11: nothing to compute"
)

# Lemma F.11 -----------------------------------------------------------------------------------------------------------


def _best_margin(evidence: Evidence) -> float:
    return MarginState(unit_norm(limit_of(evidence).network), evidence.dataset.X, evidence.dataset.y).gamma


def _is_max_margin(evidence: Evidence) -> Comparison:
    kind = proved_limit(evidence).certificate.kind
    return judgement(kind == "max-margin", None, f"the limit is a {kind}")


MAX_MARGIN_LIMIT = Hypothesis(
    "max-margin", "the limit is a max-margin direction", _is_max_margin, needs_trajectory=True
)


def remaining_arc(evidence: Evidence) -> tuple[list[float], list[float]]:
    """gamma* - gamma~ and the length left to travel (chords between snapshots, then to the limit) at each snapshot."""
    states = [state for _, state in states_of(evidence)]
    units = [unit_norm(state.network) for state in states]
    chords = [direction_distance(one, two) for one, two in pairwise(units)]
    chords.append(direction_distance(units[-1], unit_norm(limit_of(evidence).network)))
    left = np.cumsum(chords[::-1])[::-1]
    best = _best_margin(evidence)
    return [best - state.smooth_gamma for state in states], [float(length) for length in left]


def _stays_below(evidence: Evidence) -> Comparison:
    gaps, _ = remaining_arc(evidence)
    return at_least(min(gaps), 0.0, detail=rf"$\gamma^* - \tilde{{\gamma}}$ falls from {gaps[0]:.4g} to {gaps[-1]:.4g}")


def _rises(evidence: Evidence) -> Comparison:
    """Smallest decrease of gamma* - gamma~ between snapshots: wherever the direction moves the margin rises."""
    gaps, _ = remaining_arc(evidence)
    return at_least(-float(np.max(np.diff(gaps))), 0.0, allowance=1e-9 * _best_margin(evidence))


def _vanishes(evidence: Evidence) -> Comparison:
    """Exponent p in (arc length left) ~ (gamma* - gamma~)^p over the later half; it must be above 0."""
    gaps, left = remaining_arc(evidence)
    half = len(gaps) // 2
    exponent = fitted_slope(np.log(gaps[half:]), np.log(left[half:]))
    words = rf"arc length left like $\gamma^* - \tilde\gamma$ to the power {exponent:.4g}, {left[-1]:.3g} at the end"
    return at_least(exponent, 0.0, detail=words)


def _constants(evidence: Evidence) -> Constants:
    best, n, kappa = _best_margin(evidence), evidence.dataset.n, evidence.parameter("kappa")
    bracket = 4.0 * np.log(n) + 2.0
    return {
        "c": float(max(2.0, 2.0 * best / bracket)),
        "log_rho_0": float(np.log(bracket / best) / (2.0 - kappa)),
        "tangential_threshold": float(best / bracket),
    }


LEMMA_F_11 = Theorem(
    "lyu2021:lemmaF.11",
    Reference("lyu2021", "Lemma F.11"),
    r"Near a max-margin direction the arc length of $\theta/|\theta|$ is controlled by a function of "
    r"$\gamma^* - \tilde{\gamma}$ that vanishes at 0.",
    hypotheses=(LOGISTIC_LOSS, assumed(LINEARLY_SEPARABLE), NO_RIDGE, SMALL_LOSS_FOR_GOOD, MAX_MARGIN_LIMIT),
    conclusions=(
        Conclusion("below", r"$\tilde{\gamma}$ stays below the limit's margin", _stays_below),
        Conclusion("rises", r"$\tilde{\gamma}$ rises while the direction moves", _rises),
        Conclusion(
            "vanishes",
            r"the arc length left vanishes with $\gamma^* - \tilde{\gamma}$",
            _vanishes,
            Level.SCALING,
            source=Source.RELUFLOW,
            is_asymptotic=True,
        ),
    ),
    constants=_constants,
    parameters=(KAPPA, LATE_MARGIN_ABOVE_1),
    plan=partial(margin_plan, num_times=40, with_neighbours=False),
    setting=TWELVE_BALANCED_NEURONS,
    example="lyu-counterexample-sharp",
    departs="The function of the lemma is not named there; a power is fitted instead.",
)
