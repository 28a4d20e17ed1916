"""The end: the loss vanishes and, as lambda -> 0, the limit has rank one (Lemma 34, Theorem 7) [chistikov2023]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from reluflow.dynamics.trajectory import Snapshot
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.bundle import bundle_of, escape_time, path_of
from reluflow.papers.chistikov2023.theorems.hypotheses import EPSILON, RUNS, constants, own_scale
from reluflow.papers.chistikov2023.theorems.phase_one import LIGHTEST, ROUNDING, log_norms
from reluflow.papers.chistikov2023.theorems.scene import scene
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    Values,
    at_least,
    at_most,
    fitted_slope,
    nothing,
    require,
)
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtLeast, AtMost, Constants
from reluflow.theory.theorem import Conclusion, Reference, Theorem

DECADES = (3.0, 4.0, 5.0)  # scales 10^-x of the runs


def _late_rate(evidence: Evidence) -> float:
    """mu, the least eigenvalue of (I + v* v*^T) H: late the distance falls like exp(-mu t)."""
    here = scene(evidence)
    return float(np.min(np.linalg.eigvals(here.H + np.outer(here.teacher, here.gamma)).real))


def _plan(evidence: Evidence) -> FlowPlan:
    here = scene(evidence)
    end = escape_time(here, path_of(evidence)) + 50.0 / _late_rate(evidence)
    other_scales = tuple(-np.log(10.0) * x - here.log_scale for x in DECADES)
    return FlowPlan(times=(here.alignment_time, max(end, 2.0 * here.alignment_time)), other_scales=other_scales)


def _last(evidence: Evidence) -> Snapshot:
    return require(evidence.run.snapshots, "a snapshot of every run")[-1]


def _orders(evidence: Evidence, *, of: Callable[[Evidence], float]) -> Values:
    """Slope of the logarithm of a quantity in ln lambda over the scales; none where J_+ holds one neuron."""
    if len(scene(evidence).positive) < 2:
        return []
    require(len(evidence.other_scales) >= 2, "no runs at other scales")
    values = [max(of(e), 1e-300) for e in evidence.other_scales]
    return [fitted_slope([scene(e).log_scale for e in evidence.other_scales], np.log(values))]


ONE_NEURON = "$J_+$ holds one neuron"

# Lemma 34 -------------------------------------------------------------------------------------------------------------

RATIOS = 1e-6  # of logarithms of norms at the end of a run; seen: 1e-11


def ratio_gap(evidence: Evidence) -> float:
    """Largest |ln(|w_j|/|w_j'|) - ln(R_j/R_j')| of J_+ at the end."""
    here = scene(evidence)
    gaps = log_norms(_last(evidence).network)[here.positive] - here.log_growths
    return float(np.max(gaps) - np.min(gaps))


def _ratio_gaps(evidence: Evidence) -> Values:
    return [ratio_gap(evidence)] if len(scene(evidence).positive) > 1 else []


def _ratio_bound(evidence: Evidence) -> float:
    """lambda^(eps/3) ln(1/lambda)."""
    log_scale = scene(evidence).log_scale
    return float(np.exp(evidence.parameter("epsilon") / 3.0 * log_scale)) * -log_scale


def _ratio_rounding(evidence: Evidence) -> float:
    """What is lost of logarithms: their own size, |ln lambda|, times the spacing of doubles, beside that of a run."""
    return RATIOS + 16.0 * float(np.finfo(float).eps) * abs(scene(evidence).log_scale)


def _third_of_epsilon(evidence: Evidence) -> float:
    return evidence.parameter("epsilon") / 3.0


def _norms(evidence: Evidence) -> Constants:
    here = scene(evidence)
    return {"limit_norms": dict(zip(here.positive.tolist(), here.limit_norms.tolist(), strict=True))}


LEMMA_34 = Theorem(
    "chistikov2023:lemma34",
    Reference("chistikov2023", "Lemma 34"),
    r"The ratios of the norms of $J_+$ at the end are those of their yardsticks, up to "
    r"$\lambda^{\varepsilon/3}\,\ln(1/\lambda)$.",
    hypotheses=RUNS,
    conclusions=(
        Conclusion(
            "ratios",
            r"$|w_j|/|w_{j'}|$ at the end is $\lim|\alpha_j|/|\alpha_{j'}|$",
            AtMost(
                _ratio_gaps,
                _ratio_bound,
                allowance=_ratio_rounding,
                words="logarithms of ratios differ by {measured:.2g}, bound {bound:.2g}, or rounding",
                empty=ONE_NEURON,
            ),
        ),
        Conclusion(
            "ratios-order",
            r"the difference is of order $\varepsilon/3$ or more",
            AtLeast(
                partial(_orders, of=ratio_gap),
                _third_of_epsilon,
                words=r"the difference falls like $\lambda$ to the power {measured:.4g}",
                empty=ONE_NEURON,
            ),
            Level.SCALING,
            Source.RELUFLOW,
        ),
    ),
    constants=constants,
    predictions=_norms,
    parameters=(EPSILON,),
    plan=_plan,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E2: the proof takes Lemma 28(ix) backwards; with the decay of Lemma 32 the statement stands.",
    departs="The end is 50 times the slowest time constant after $T_2$.",
)

# Theorem 7 ------------------------------------------------------------------------------------------------------------

VANISHED = 1e-20  # of the loss at the start; the run is followed for 50 times its slowest time constant
SUMS = 1e-9  # of squared norms at the end of a run; seen: 1e-15


def _last_loss(evidence: Evidence) -> float:
    return _last(evidence).loss


def _vanished(evidence: Evidence) -> float:
    return VANISHED * evidence.problem.initial_loss


def _gap_to_teacher(evidence: Evidence) -> float:
    """|V - v*|."""
    here = scene(evidence)
    return float(np.linalg.norm(bundle_of(here, _last(evidence)).V - here.teacher))


def _angle(evidence: Evidence) -> float:
    """Largest angle of a neuron of J_+ and the teacher at the end."""
    here = scene(evidence)
    w = _last(evidence).network.w[here.positive]
    unit = w / np.linalg.norm(w, axis=1)[:, None]
    apart, along = np.linalg.norm(unit - here.teacher, axis=1), np.linalg.norm(unit + here.teacher, axis=1)
    return float(np.max(2.0 * np.arctan2(apart, along)))


def _misalignment(evidence: Evidence) -> float:
    """Largest 1 - cos(w_j, v*) of J_+ at the end."""
    return float(1.0 - np.cos(_angle(evidence)))


def _four_powers(evidence: Evidence) -> float:
    """4 lambda^eps."""
    return 4.0 * float(np.exp(evidence.parameter("epsilon") * scene(evidence).log_scale))


def _half_of_epsilon(evidence: Evidence) -> float:
    return 0.5 * evidence.parameter("epsilon")


def _sum(evidence: Evidence) -> Comparison:
    """Sum of |w_j|^2 over J_+ at the end, between 1 and 1/(1 - 4 lambda^eps)."""
    here, power = scene(evidence), _four_powers(evidence)
    total = float(here.multiplicity[here.positive] @ np.exp(2.0 * log_norms(_last(evidence).network)[here.positive]))
    high = 1.0 / (1.0 - power) if power < 1.0 else np.inf
    slack = min(total - 1.0, high - total)
    return at_least(slack, 0.0, allowance=SUMS, detail=f"the sum is 1 + {total - 1.0:.2g}, at most {high:.6g}")


def _log_growths_of_others(evidence: Evidence) -> Values:
    """ln |w_j| - ln(lambda |z_j|) of the neurons outside J_+ at the end, in runs that show them."""
    for e in (evidence, *evidence.other_scales):
        here, network = scene(e), _last(e).network
        rest = np.setdiff1d(np.arange(len(here.z)), here.positive)
        logs = log_norms(network)[rest]
        gaps = logs - here.log_scale - np.log(np.linalg.norm(here.z[rest], axis=1))
        yield gaps[logs - network.log_scale > LIGHTEST]


def _others(evidence: Evidence) -> Comparison:
    here = scene(evidence)
    if len(here.positive) == len(here.z):
        return nothing("all neurons are in $J_+$")
    shown = np.concatenate([np.ravel(gaps) for gaps in _log_growths_of_others(evidence)])
    worst = float(np.max(require(shown, "a run in which the other neurons do not underflow beside $J_+$")))
    return at_most(worst, 0.0, allowance=1e-9, detail=rf"largest $|w_j|/(\lambda|z_j|)$ is {np.exp(worst):.6g}")


THM_7 = Theorem(
    "chistikov2023:thm7",
    Reference("chistikov2023", "Thm 7"),
    r"The loss of the limit is 0, and as $\lambda \to 0$ the limit is a balanced rank-one network: all of $J_+$ "
    r"along the teacher with squared norms that sum to 1, every other neuron 0.",
    hypotheses=RUNS,
    conclusions=(
        Conclusion(
            "loss",
            "the loss vanishes",
            AtMost(_last_loss, _vanished, words="loss {measured:.2g} of {evidence.problem.initial_loss:.3g}"),
            is_asymptotic=True,
        ),
        Conclusion(
            "teacher",
            "$V$ reaches the teacher",
            AtMost(_gap_to_teacher, ROUNDING, words="$|V - v^*|$ = {measured:.2g}"),
            is_asymptotic=True,
        ),
        Conclusion(
            "rank-one",
            r"$\cos(w_j, v^*) > 1 - 4 \lambda^\varepsilon$ on $J_+$",
            AtMost(
                _misalignment,
                _four_powers,
                allowance=ROUNDING**2,
                words=rf"largest $1 - \cos(w_j, v^*)$ is {{measured:.2g}}, bound {{bound:.2g}}, rounding "
                rf"{ROUNDING**2:g}",
            ),
        ),
        Conclusion(
            "rank-one-order",
            r"the angle with $v^*$ is of order $\varepsilon/2$ or more",
            AtLeast(
                partial(_orders, of=_angle),
                _half_of_epsilon,
                words=r"the largest angle with $v^*$ falls like $\lambda$ to the power {measured:.4g}",
                empty=ONE_NEURON,
            ),
            Level.SCALING,
            Source.RELUFLOW,
        ),
        Conclusion(
            "sum", r"$1 \le \sum_{j \in J_+} |w_j|^2 < 1/(1 - 4 \lambda^\varepsilon)$", _sum, is_asymptotic=True
        ),
        Conclusion("others", r"all other neurons have $|w_j| \le \lambda|z_j|$", _others),
    ),
    constants=constants,
    predictions=_norms,
    parameters=(EPSILON,),
    plan=_plan,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E3, E12: a finite integral of $|d\theta/dt|^2$ gives no limit, the exponential decay of $L$ does.",
    departs="The end is 50 times the slowest time constant after $T_2$. Where the other neurons underflow beside "
    "$J_+$ they are looked at in the runs at larger scales only.",
    diagnosed=DataHypotheses(losses=("square",), leaks="relu"),
)
