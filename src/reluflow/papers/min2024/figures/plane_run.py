"""Figures 6 to 9: descent on a few points of the plane, and the exact flow from the same neurons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics import AtTime, EventDrivenFlow, GradientDescent
from reluflow.dynamics.train import train
from reluflow.errors import BackendError
from reluflow.network import Network
from reluflow.papers.min2024.figures.section_4 import (
    LR,
    Cones,
    class_sums,
    cones_of_network,
    cosines,
    descended,
    gaussian_problem,
    stable_rank,
)
from reluflow.papers.workbench import Workbench

SNAPSHOTS = 300  # of the loss curves
ALIGNED = 0.95  # the cosine of a well aligned neuron


@dataclass(frozen=True)
class Settings:
    """One point set, the iterations of the panels, and which seeds.

    Parameters
    ----------
    dataset
        A registered name.
    moments
        Iterations of the panels, the last of them the end of the run.
    seeds
        The first is drawn, all are counted.
    companion
        Another point set trained from the same neurons for comparison; empty for none.
    """

    dataset: str
    moments: tuple[int, ...]
    seeds: tuple[int, ...]
    companion: str = ""
    lr: float = LR
    rtol: float = 1e-10


@dataclass(frozen=True, eq=False)
class PlaneCourse:
    """What is drawn of one seed: curves over `iterations`, and neurons at the moments of the panels.

    `moment_w` and `moment_a` are those of descent, `flow_moment_w` those of the flow, a row for each moment.
    """

    iterations: IntArray
    losses: FloatArray
    flow_losses: FloatArray
    stable_ranks: FloatArray
    moment_w: FloatArray
    moment_a: FloatArray
    flow_moment_w: FloatArray


@dataclass(frozen=True, eq=False)
class PlaneSeed:
    """What is measured of one seed; the arrays have an entry for each moment of the panels.

    Parameters
    ----------
    num_home, num_dead, num_outside
        Neurons in the cone of their sign, dead, and elsewhere.
    num_positive_home, num_positive_outside
        Of those with a > 0.
    aligned_shares, ranks, losses
        The share of living neurons that are well aligned, the stable rank, the loss.
    norms
        Largest norm of a neuron with a > 0 in S_+, of one elsewhere that is not dead, and of a dead one of any sign,
        shape (moments, 3).
    loss_gap, output_gap
        Largest difference of descent and flow, relative.
    lag
        By how much later descent halves the loss than the flow does, relative.
    """

    num_home: IntArray
    num_dead: IntArray
    num_outside: IntArray
    num_positive_home: IntArray
    num_positive_outside: IntArray
    aligned_shares: FloatArray
    ranks: FloatArray
    losses: FloatArray
    norms: FloatArray
    loss_gap: float
    output_gap: float
    lag: float


@dataclass(frozen=True, eq=False)
class PlaneSeedRun:
    """One seed on one point set."""

    course: PlaneCourse
    measured: PlaneSeed


@dataclass(frozen=True, eq=False)
class PlaneRuns:
    """The course of the first seed, what is measured of each, and of each on the companion's points (if there are)."""

    first: PlaneCourse
    seeds: tuple[PlaneSeed, ...]
    companions: tuple[PlaneSeed, ...]


def compute(settings: Settings, workbench: Workbench) -> PlaneRuns:
    """Every seed by descent and by the flow; counts for all, pictures for the first."""
    names = [settings.dataset, *([settings.companion] if settings.companion else [])]
    runs: dict[str, list[PlaneSeedRun]] = {name: [] for name in names}
    for count, seed in enumerate(settings.seeds):
        for name in names:
            workbench.progress(count / len(settings.seeds), f"{name}, seed {seed}")
            keys = {"dataset": name, "moments": settings.moments, "lr": settings.lr, "rtol": settings.rtol}
            runs[name].append(
                workbench.piece(f"{name}-{seed}", PlaneSeedRun, partial(one_seed, settings, name, seed), settings=keys)
            )
    own = runs[settings.dataset]
    beside = runs[settings.companion] if settings.companion else []
    return PlaneRuns(own[0].course, tuple(run.measured for run in own), tuple(run.measured for run in beside))


def one_seed(settings: Settings, name: str, seed: int) -> PlaneSeedRun:
    """Descent with the step size of the paper, and the flow of the same loss at the times lr k."""
    data, last = load(name), settings.moments[-1]
    problem = gaussian_problem(data, seed)
    kept = sorted({*np.linspace(0, last, SNAPSHOTS + 1).astype(int).tolist(), *settings.moments})
    run = descended(problem, GradientDescent(settings.lr, last), kept)
    losses = np.array([snapshot.loss for snapshot in run])
    outputs = np.array([snapshot.outputs for snapshot in run])
    times = settings.lr * np.array(kept)
    flow = train(problem, EventDrivenFlow(rtol=settings.rtol), times=times, until=AtTime(float(times[-1])))
    if len(flow.snapshots) != len(kept):
        raise BackendError(f"the flow ended at time {flow.time:g}: {flow.outcome}.")
    flow_losses = np.array([snapshot.loss for snapshot in flow.snapshots])
    flow_outputs = np.array([snapshot.outputs for snapshot in flow.snapshots])
    places = [kept.index(moment) for moment in settings.moments]
    networks = [run[place].network for place in places]
    cones = [cones_of_network(network, data) for network in networks]
    course = PlaneCourse(
        iterations=np.array(kept),
        losses=losses,
        flow_losses=flow_losses,
        stable_ranks=np.array([stable_rank(snapshot.network.w) for snapshot in run]),
        moment_w=np.array([network.w for network in networks]),
        moment_a=np.array([network.a for network in networks]),
        flow_moment_w=np.array([flow.snapshots[place].network.materialized().w for place in places]),
    )
    measured = PlaneSeed(
        num_home=_counted(cone.is_home for cone in cones),
        num_dead=_counted(cone.is_dead for cone in cones),
        num_outside=_counted(cone.is_outside for cone in cones),
        num_positive_home=_counted(cone.is_home & cone.is_positive for cone in cones),
        num_positive_outside=_counted(cone.is_outside & cone.is_positive for cone in cones),
        aligned_shares=np.array([_aligned_share(*pair, data) for pair in zip(networks, cones, strict=True)]),
        ranks=np.array([stable_rank(network.w) for network in networks]),
        losses=losses[places],
        norms=np.array([_norms_of(*pair) for pair in zip(networks, cones, strict=True)]),
        loss_gap=float(np.max(np.abs(losses - flow_losses)) / losses[0]),
        output_gap=float(np.max(np.abs(outputs - flow_outputs)) / np.max(np.abs(flow_outputs))),
        lag=_lag(course.iterations, losses, flow_losses),
    )
    return PlaneSeedRun(course, measured)


def _counted(masks: Iterable[BoolArray]) -> IntArray:
    """How many neurons each mask chooses."""
    return np.array([int(np.sum(mask)) for mask in masks])


def _aligned_share(network: Network, cones: Cones, data: Dataset) -> float:
    """Of the neurons that are not dead, the share with a cosine of at least `ALIGNED` with x_+ (a > 0) or x_-."""
    num_aligned = 0
    for total, is_chosen in zip(class_sums(data), (cones.is_positive, ~cones.is_positive), strict=True):
        if np.any(total):
            num_aligned += int(np.sum(cosines(network.w[is_chosen & ~cones.is_dead], total) >= ALIGNED))
    return num_aligned / max(1, int(np.sum(~cones.is_dead)))


def _norms_of(network: Network, cones: Cones) -> tuple[float, float, float]:
    """Largest norm of a neuron with a > 0 in S_+, of one elsewhere that is not dead, and of a dead one of any sign."""
    norms = np.linalg.norm(network.w, axis=1)
    chosen = (cones.is_positive & cones.is_home, cones.is_positive & cones.is_outside, cones.is_dead)
    largest = [float(np.max(norms[mask], initial=0.0)) for mask in chosen]
    return largest[0], largest[1], largest[2]


def _lag(iterations: IntArray, losses: FloatArray, flow_losses: FloatArray) -> float:
    """By how much later descent first halves the loss than the flow does, relative."""
    halves = [
        float(np.interp(-0.5 * losses[0], -np.minimum.accumulate(curve), iterations)) for curve in (losses, flow_losses)
    ]
    return halves[0] / halves[1] - 1.0
