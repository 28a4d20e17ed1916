"""What the results of Sec. 3 to 5 share: the hypotheses of the population model, parameters and numbers [lee2022]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.lee2022.assumptions import REALIZABLE, single_neuron_realizable
from reluflow.papers.lee2022.single_neuron.angle import gap_between
from reluflow.papers.lee2022.teacher_and_student import labelling_vector, layers, magnitude_limits, rates, start
from reluflow.theory.comparison import Comparison, judgement, undecided
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.hypotheses import RELU, SQUARE_LOSS, assumed, is_mean
from reluflow.theory.measures import AtLeast, Quantities
from reluflow.theory.theorem import Hypothesis, Parameter

# Gaussian inputs ------------------------------------------------------------------------------------------------------

LEVEL = 1e-4  # chance that a truly standard Gaussian sample is refused
FEWEST_PER_DIMENSION = 5  # with fewer samples than this times d no test has any power, and the answer is open
_MAX_COORDINATES = 20_000  # of the Kolmogorov-Smirnov test


def gaussian_sample(evidence: Evidence) -> Comparison:
    """Judge the sample, not the law: True where no test refuses a standard Gaussian at level 1e-4, None if too small.

    The tests share the level equally: the mean (n |mean|^2 is chi-squared), the squared length of each coordinate
    (chi-squared), the products of two coordinates (Chernoff bound), all coordinates together (Kolmogorov-Smirnov).
    The margin is the decimal logarithm of the smallest p-value over its share of the level.
    """
    p_values = sample_p_values(np.asarray(evidence.dataset.X))
    X = evidence.dataset.X
    away = float(np.abs(X.T @ X / len(X) - np.eye(X.shape[1])).max())
    name = min(p_values, key=p_values.__getitem__)
    smallest = p_values[name]
    margin = float(np.log10(max(smallest, 1e-300) * len(p_values) / LEVEL))
    detail = (
        f"the sample's second moments are off by at most {away:.3g}; smallest p-value {smallest:.2g} ({name}), "
        f"refused below {LEVEL / len(p_values):.2g}"
    )
    if margin >= 0.0 and len(X) < FEWEST_PER_DIMENSION * X.shape[1]:
        return undecided(f"{len(X)} samples in dimension {X.shape[1]} are too few to tell; {detail}")
    return judgement(margin >= 0.0, margin, detail)


def sample_p_values(X: FloatArray) -> dict[str, float]:
    """Upper bounds on the p-values of the four tests under independent standard Gaussian rows.

    That of Kolmogorov and Smirnov is twice the exact one of one side, which differs from that of both sides by the
    chance of both at once. (`scipy.stats` has both, and takes half a second to load.)
    """
    from scipy.special import chdtr, chdtrc, ndtr, smirnov

    n, d = X.shape
    mean = float(chdtrc(d, n * np.sum(X.mean(axis=0) ** 2)))
    lengths = np.sum(X**2, axis=0)
    sizes = min(1.0, 2.0 * d * float(np.min(np.minimum(chdtrc(n, lengths), chdtr(n, lengths)))))
    products = np.abs(X.T @ X / n)
    largest = float(np.max(np.triu(products, 1), initial=0.0))
    # E exp(s g h) = (1 - s^2)^(-1/2), so P(mean of n products > t) <= exp(-n max_s [s t + log(1 - s^2)/2])
    slope = (np.sqrt(1.0 + 4.0 * largest**2) - 1.0) / (2.0 * largest) if largest > 0.0 else 0.0
    exponent = n * (slope * largest + 0.5 * np.log1p(-(slope**2)))
    pairs = min(1.0, d * (d - 1) * float(np.exp(-exponent)))
    levels = ndtr(np.sort(X.ravel()[:_MAX_COORDINATES]))
    ranks = np.arange(len(levels) + 1) / len(levels)
    apart = max(float(np.max(ranks[1:] - levels)), float(np.max(levels - ranks[:-1])))
    coordinates = min(1.0, 2.0 * float(smirnov(len(levels), apart)))
    return {"mean": mean, "coordinate lengths": sizes, "coordinate products": pairs, "coordinate law": coordinates}


# Student and teacher --------------------------------------------------------------------------------------------------


def _one_neuron(evidence: Evidence) -> Comparison:
    network = evidence.network
    if network.num_neurons != 1:
        return judgement(False, float(1 - network.num_neurons), f"{network.num_neurons} neurons")
    w, a = float(np.linalg.norm(network.w)), float(network.a[0])
    if w == 0.0:
        return judgement(False, 0.0, "its input weight is 0")
    if layers(evidence) == 1:
        gap = abs(a - w) / w
        return judgement(gap <= 1e-9, 1e-9 - gap, f"$|a - |w||/|w|$ = {gap:.2g} for the one scalar layer $a$")
    return judgement(True, None, f"one neuron; its {layers(evidence)} scalar layers start at $|w|$")


@computed_once
def turning_start(evidence: Evidence) -> Comparison:
    """Whether there are a teacher and a student at an angle that is neither 0 nor pi; what follows needs it."""
    if single_neuron_realizable(evidence.facts).holds is False or evidence.network.num_neurons != 1:
        return judgement(False, None, "there is no teacher or no single student")
    beta, w = labelling_vector(evidence), evidence.network.w[0]
    if not np.any(beta) or not np.any(w):
        return judgement(False, 0.0, "the teacher or the student is 0")
    gap = float(gap_between(w, beta))
    margin = min(gap, np.pi - gap)
    return judgement(margin > 1e-12, margin, rf"$\varphi_0$ = {np.pi - gap:.6g}")


def once_turning(judge: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """A judge that needs a start: undecided where there is none, which the hypothesis on the start then says."""

    @wraps(judge)
    def guarded(evidence: Evidence) -> Comparison:
        return judge(evidence) if turning_start(evidence).holds else undecided("there is no start to judge it from")

    return guarded


def dimension(evidence: Evidence) -> int:
    """d."""
    return evidence.dataset.d


DIMENSION = Hypothesis(
    "dimension", r"$d \ge 2$, so that two directions can differ", AtLeast(dimension, 2, words="$d$ = {number}")
)
POPULATION_MODEL = (
    SQUARE_LOSS,
    Hypothesis(
        "half-mean-square",
        "$L$ is the mean of $(f - y)^2/2$, which sets the unit of time",
        partial(is_mean, name="square"),
    ),
    RELU,
    assumed(REALIZABLE),
    Hypothesis(
        "lee-gaussian",
        "the population of the teacher's inputs is standard Gaussian, as the population model takes it",
        gaussian_sample,
    ),
    Hypothesis("single-neuron", r"one student neuron, $w_0 \ne 0$, its scalar layers balanced", _one_neuron),
    Hypothesis("turning-start", r"$0 < \varphi_0 < \pi$: neither aligned nor antiparallel", turning_start),
)

# Parameters and numbers -----------------------------------------------------------------------------------------------

GAP = Parameter("gap", 0.0001, "angle to the teacher until which the run is followed densely", low=1e-09, high=3.14)
LAYERS = Parameter("q", 2.0, "number of scalar layers above the neuron, a whole number", low=0.0, high=20.0)
LAYERS_FROM_ZERO = Parameter("q", 1.0, "number of scalar layers, a whole number", low=-1.0, high=20.0)


def initial_magnitude(evidence: Evidence) -> float:
    """v_0."""
    return start(evidence).magnitude


def teacher_magnitude(evidence: Evidence) -> float:
    """v*."""
    return start(evidence).teacher_magnitude


def initial_angle(evidence: Evidence) -> float:
    """phi_0."""
    return start(evidence).phi


def initial_deficit(evidence: Evidence) -> float:
    """eps_0."""
    return start(evidence).deficit


def threshold(evidence: Evidence) -> float:
    """v* (1 - eps_0)^(1/(q+1)), above which the magnitude falls at first."""
    return start(evidence).threshold


def smallest_magnitude(evidence: Evidence) -> float:
    """r."""
    return magnitude_limits(evidence).smallest


def largest_magnitude(evidence: Evidence) -> float:
    """R."""
    return magnitude_limits(evidence).largest


def slow_rate(evidence: Evidence) -> float:
    """c, the slow rate of the angle."""
    return rates(evidence)[0]


def fast_rate(evidence: Evidence) -> float:
    """C, the fast rate of the angle."""
    return rates(evidence)[1]


def half_cotangent(evidence: Evidence) -> float:
    """y = cot(phi_0/2)."""
    return start(evidence).half_cotangent


START = Quantities(
    {
        "v_0": initial_magnitude,
        "v_star": teacher_magnitude,
        "phi_0": initial_angle,
        "eps_0": initial_deficit,
        "threshold": threshold,
    }
)
ANGLE_BOUNDS = Quantities(
    {
        "r": smallest_magnitude,
        "R": largest_magnitude,
        "slow_rate": slow_rate,
        "fast_rate": fast_rate,
        "half_cotangent": half_cotangent,
    }
)
