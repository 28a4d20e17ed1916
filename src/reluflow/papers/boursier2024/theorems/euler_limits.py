"""Appendix E.1: descent with ever smaller steps may leave a boundary that Condition 2 would keep [boursier2024].

The samples are x and -x with one label, and a third orthogonal to them. A mirrored pair of neurons fits them; a third
neuron lies beside the hyperplane <w, x> = 0, which is that of both x and -x, and is inactive on the third sample. While
the pair's output on x exceeds the label both sides push the neuron to the hyperplane; once it is below, away from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.train import train
from reluflow.network import Network
from reluflow.papers.boursier2024.paper import SETTING
from reluflow.theory.comparison import Comparison, Level, Source, all_of, at_most, judgement, require
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.hypotheses import RELU, SQUARE_LOSS
from reluflow.theory.measures import AtMost
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

NUM_TIMES = 49
NUM_STEPS = (100, 200, 400, 800)  # of the descents, on the same stretch of time
EXCESS, EXCESS_OF_THIRD = 1.35, 3.6  # outputs of the pair at the start, over the labels
SHARE = 0.1  # size of the third neuron over that of the pair
BESIDE = 0.05  # steps times the neuron's size, from the hyperplane at which the descents start

UNTIL = Parameter("until", 8.0, "time up to which the flow and the descents are followed", low=0.0)


@dataclass(frozen=True, eq=False)
class EulerDescents:
    """Descents from the same start but for a share of a step, with more and more steps on the same stretch of time.

    Parameters
    ----------
    steps
        Their learning rates, largest first.
    distances
        Of each after every step: <w, x/|x|> of the third neuron.
    """

    steps: FloatArray
    distances: tuple[FloatArray, ...]


def _mirrored(evidence: Evidence) -> Comparison:
    X, y = evidence.dataset.X, evidence.dataset.y
    if X.shape[0] != 3 or X.shape[1] < 2:
        return judgement(False, None, f"{X.shape[0]} samples in dimension {X.shape[1]}")
    is_mirrored = np.array_equal(X[0], -X[1]) and X[0] @ X[2] == 0.0 and y[0] == y[1]
    return judgement(bool(is_mirrored and np.all(y > 0.0) and np.any(X[0]) and np.any(X[2])), None, "three samples")


MIRRORED = Hypothesis(
    "mirrored", r"the samples are $x$, $-x$ with one positive label, and one orthogonal to them, positive", _mirrored
)


def euler_start(evidence: Evidence, offset: float = 0.0) -> Network:
    """The pair, balanced, and the third neuron at this distance from the hyperplane."""
    (x, _, z), (label, _, third) = evidence.dataset.X, evidence.dataset.y
    ahead, aside = x / np.linalg.norm(x), z / np.linalg.norm(z)
    products = EXCESS * label / np.linalg.norm(x), 0.5 * EXCESS_OF_THIRD * third / np.linalg.norm(z)
    size = float(np.sqrt(np.hypot(*products)))
    along, across = np.array(products) / size
    pair = [along * ahead + across * aside, -along * ahead + across * aside]
    return Network([*pair, offset * ahead - SHARE * size * aside], [size, size, SHARE * size])


def _plan(evidence: Evidence) -> FlowPlan:
    """The pair alone, to which a neuron on the hyperplane adds nothing; and the flow that leaves the hyperplane."""
    times = tuple(np.linspace(0.0, evidence.parameter("until"), NUM_TIMES).tolist())
    if not _mirrored(evidence).holds:
        return FlowPlan(times[:1])
    network = euler_start(evidence)
    pair = Network(network.w[:2], network.a[:2])
    staying, leaving = Companion("staying", pair, times), Companion("leaving", network, times, ridge="positive")
    return FlowPlan(times, ridge="positive", companions=(staying, leaving))


def _descents(evidence: Evidence) -> EulerDescents:
    """Gradient descent at each number of steps."""
    require(_mirrored(evidence).holds or None, "the samples are no mirrored pair")
    ahead = evidence.dataset.X[0] / np.linalg.norm(evidence.dataset.X[0])
    steps, found = evidence.parameter("until") / np.array(NUM_STEPS), []
    for step, count in zip(steps, NUM_STEPS, strict=True):
        beside = euler_start(evidence, BESIDE * step * euler_start(evidence).a[2])
        problem = replace(evidence.problem, network=beside)
        run = train(problem, GradientDescent(lr=step, iterations=count), times=step * np.arange(count + 1))
        found.append(np.array([s.network.materialized().w[2] @ ahead for s in run.snapshots]))
    return EulerDescents(steps, tuple(found))


@computed_once
def mirrored_forces(evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """The recorded times, and the forces on x and -x while the neuron stays, shape (k, 2)."""
    run = require(evidence.companions.get("staying"), "the pair was not run")
    forces = [evidence.loss.forces(s.outputs, evidence.dataset.y)[:2] for s in run.snapshots]
    return np.array([s.time for s in run.snapshots]), np.array(forces)


def stable_until(evidence: Evidence) -> float:
    """The last recorded time up to which both sides push the neuron to the hyperplane."""
    times, forces = mirrored_forces(evidence)
    is_stable = np.logical_and.accumulate(np.all(forces < 0.0, axis=1))
    require(bool(is_stable[0]) or None, "the hyperplane attracts at no time")
    return float(times[is_stable][-1])


def _becomes_unstable(evidence: Evidence) -> Comparison:
    times, forces = mirrored_forces(evidence)
    turned = bool(np.all(forces[0] < 0.0) and np.all(forces[-1] > 0.0))
    words = f"forces on $x$ are {forces[0, 0]:.4g} at 0 and {forces[-1, 0]:.4g} at {times[-1]:.4g}"
    return judgement(turned, None, words)


BECOMES_UNSTABLE = Hypothesis(
    "becomes-unstable",
    "the hyperplane attracts the neuron at the start and repels it at the end",
    _becomes_unstable,
    needs_trajectory=True,
)


def _asymmetry(evidence: Evidence) -> FloatArray:
    """|r_x - r_(-x)|: at 0 the velocities of both sides are opposite, so that staying is a solution of Eq. (2)."""
    return np.abs(np.diff(mirrored_forces(evidence)[1], axis=1)).ravel()


def _while_stable(evidence: Evidence) -> tuple[FloatArray, ...]:
    descents, end = evidence.recorded(EulerDescents), stable_until(evidence)
    return tuple(
        path[step * np.arange(len(path)) <= end] for step, path in zip(descents.steps, descents.distances, strict=True)
    )


def _bounces(evidence: Evidence) -> Comparison:
    """No descent is ever on the hyperplane, each crosses it, the more often the smaller its steps."""
    counts = [int(np.sum(np.diff(np.sign(path)) != 0.0)) for path in _while_stable(evidence)]
    nearest = min(float(np.min(np.abs(path))) for path in evidence.recorded(EulerDescents).distances)
    statements = [
        (nearest > 0.0, "a descent is on the hyperplane"),
        (counts[-1] > 1, "the descent with the smallest steps does not cross it and come back"),
        (all(few <= many for few, many in pairwise(counts)) and counts[0] < counts[-1], "it crosses no more often"),
    ]
    return all_of(statements, detail=f"crossings while it attracts {counts}, nearest {nearest:.3g}")


def _largest_distance_in_steps(evidence: Evidence) -> list[float]:
    """While the hyperplane attracts: the largest |<w, x/|x|>| over the length of the first step from beside it."""
    steps, (x, size) = evidence.recorded(EulerDescents).steps, (evidence.dataset.X[0], euler_start(evidence).a[2])
    speed = float(size * np.max(np.abs(mirrored_forces(evidence)[1])) * np.linalg.norm(x))
    return [
        float(np.max(np.abs(path[1:]))) / (step * speed)
        for step, path in zip(steps, _while_stable(evidence), strict=True)
    ]


def _departure(evidence: Evidence) -> float:
    """|<w, x/|x|>| of the third neuron at the end of the flow that leaves."""
    x = evidence.dataset.X[0]
    last = require(evidence.companions.get("leaving"), "the flow that leaves was not run").snapshots[-1]
    return float(abs(last.network.materialized().w[2] @ x) / np.linalg.norm(x))


def _escapes(evidence: Evidence) -> Comparison:
    """Each descent ends at least half as far from the hyperplane as the flow that leaves it."""
    departure = _departure(evidence)
    ends = [float(abs(path[-1])) for path in evidence.recorded(EulerDescents).distances]
    words = f"distances at the end {np.round(ends, 6).tolist()}; of the flow that leaves {departure:.6g}"
    return judgement(min(ends) >= 0.5 * departure > 0.0, min(ends) - 0.5 * departure, words)


def _misses(evidence: Evidence) -> Comparison:
    """The difference to the flow that leaves, at the end, falls with the step as an Euler error does."""
    departure, descents = _departure(evidence), evidence.recorded(EulerDescents)
    misses = [abs(float(abs(path[-1])) - departure) / departure for path in descents.distances]
    worst = max(fine / coarse for coarse, fine in pairwise(misses))
    words = f"relative differences {[float(f'{miss:.3g}') for miss in misses]}"
    return at_most(worst, 0.75, detail=words)


APP_E_1 = Theorem(
    "boursier2024:appE.1",
    Reference("boursier2024", "App. E.1"),
    "Limits of gradient descent with ever smaller steps need not satisfy Condition 2(2): descent bounces around a "
    "stable activation manifold without ever being on it, and escapes once the manifold becomes unstable.",
    hypotheses=(SQUARE_LOSS, RELU, MIRRORED, BECOMES_UNSTABLE),
    conclusions=(
        Conclusion(
            "stays",
            "the neuron that stays on the hyperplane, as Condition 2(2) asks, solves the inclusion at all times",
            AtMost(_asymmetry, 1e-9, words="the forces on $x$ and $-x$ differ by at most {measured:.3g}"),
            Level.EXACT,
        ),
        Conclusion(
            "bounces",
            "while the hyperplane attracts, descent crosses it ever more often as the step falls, and is never on it",
            _bounces,
            Level.EXACT,
        ),
        Conclusion(
            "close",
            "while it attracts, descent stays within a step of it",
            AtMost(
                _largest_distance_in_steps,
                1.0,
                words="the largest distance is {measured:.4g} times the longest step of a neuron that stays",
            ),
        ),
        Conclusion("escapes", "after it has become unstable descent has left, however small the step", _escapes),
        Conclusion(
            "limit",
            "descent tends to the solution that leaves at that time, or to its mirror image",
            _misses,
            Level.SCALING,
            source=Source.RELUFLOW,
        ),
    ),
    parameters=(UNTIL,),
    plan=_plan,
    record=_descents,
    setting=replace(SETTING, width=3),
    example="mirrored-pair",
    departs="The paper says that this could happen and names no data; the samples and the start are ours. They are not "
    "in general position: only where the velocities of both sides vanish at the same instant does an attracting "
    "hyperplane become a repelling one at once.",
)
