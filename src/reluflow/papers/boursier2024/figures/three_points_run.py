"""The run of Figure 2: descent at the paper's step size and the exact flow from the same neurons.

Phases follow Lemmas 5 and 6: with I the positive neurons that some sample activates at the start, phase 2a ends when
the sum of a^2 over I reaches eps_2, phase 2 when beta_I, the sum of a w over I, is within eps_3 of least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow import EventDrivenFlow, TrainingProblem, balanced_initialization, load, train, unbalanced_initialization
from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics.descent.descent_run import geometric_iterations
from reluflow.dynamics.solver import AbstractRun
from reluflow.network.network import Network
from reluflow.papers.boursier2024.figures.training import (
    LOSS,
    LR,
    SCALE,
    Film,
    FlowBeside,
    Scenes,
    angle_of,
    descend_through,
    flow_beside,
    frames_of,
    least_squares,
    scenes_of,
)
from reluflow.papers.workbench import Workbench

MOMENTS = ("initialisation", "end of phase 2a", "end of phase 2", "convergence")


@dataclass(frozen=True)
class Settings:
    """Appendix B.1, and where the panels stand."""

    width: int
    iterations: int
    lr: float = LR
    scale: float = SCALE
    seed: int = 0
    eps_2: float = 0.01
    eps_3: float = 0.1
    frames: int = 60
    rtol: float = 1e-9
    unbalanced_width: int = 4_000


@dataclass(frozen=True, eq=False)
class ThreePointsDescent:
    """Descent at its snapshots.

    Parameters
    ----------
    iterations, losses, outputs
        The snapshots, the mean squared error and the outputs on the samples there.
    growth, distances, angles
        Sum of a^2 over I; distance of beta_I from least squares, and its angle in degrees.
    panels, film
        All neurons at the moments drawn, some neurons at the frames of the animation.
    angle_to_extremal
        Of every neuron of I at the end of phase 2a, in degrees.
    dead_movement
        Largest change of a weight of a positive neuron that is dead.
    negative_growth
        Largest sum of a^2 over the negative neurons, relative to the start.
    num_flips
        Output weights of another sign than at the start, over all snapshots.
    num_mixed
        Neurons at the end that are active on some samples but not on all.
    output_below
        h(0, -1) at the end.
    """

    iterations: IntArray
    losses: FloatArray
    outputs: FloatArray
    growth: FloatArray
    distances: FloatArray
    angles: FloatArray
    panels: Scenes
    film: Scenes
    angle_to_extremal: FloatArray
    dead_movement: float
    negative_growth: float
    num_flips: int
    num_mixed: int
    output_below: float


@dataclass(frozen=True, eq=False)
class UnbalancedEnd:
    """Section 5: the mean squared error at the end of an unbalanced run, and how many output weights changed sign."""

    loss: float
    flips: int


@dataclass(frozen=True, eq=False)
class ThreePointsRun:
    """Descent, the flow beside it, and the unbalanced run."""

    descent: ThreePointsDescent
    flow: FlowBeside
    unbalanced: UnbalancedEnd


@dataclass(frozen=True)
class Sides:
    """Which neurons are which at the start: I, the negative ones, and the positive ones that are dead."""

    active: BoolArray
    negative: BoolArray
    dead: BoolArray


def compute(settings: Settings, workbench: Workbench) -> ThreePointsRun:
    """Descent, the flow at the same times, and the unbalanced run of Section 5."""
    data = load("three-points")
    rng = np.random.default_rng(settings.seed)
    network = balanced_initialization(data, width=settings.width, scale=settings.scale, rng=rng)
    problem = TrainingProblem(data, LOSS, network)
    descent = workbench.piece("descent", ThreePointsDescent, lambda: _descend(settings, problem, workbench))
    times = np.asarray(settings.lr * descent.iterations, dtype=np.float64)
    flow = workbench.piece(
        "flow",
        FlowBeside,
        lambda: flow_beside(problem, times, descent.film, descent.panels, settings.rtol, workbench.stretch(0.5, 1.0)),
    )
    return ThreePointsRun(
        descent, flow, workbench.piece("unbalanced", UnbalancedEnd, lambda: _unbalanced(settings, data))
    )


def _descend(settings: Settings, problem: TrainingProblem, workbench: Workbench) -> ThreePointsDescent:
    data, start = problem.dataset, problem.network.materialized()
    sides = _sides(start, data)
    iterations = geometric_iterations(settings.iterations)
    filmed = set(frames_of(iterations, settings.frames))
    film, rows = Film(), list[tuple[float, ...]]()
    panels: dict[str, tuple[int, Network]] = {}
    beta = least_squares(data)
    largest_negative, num_flips = 0.0, 0

    def look(run: AbstractRun) -> None:
        nonlocal largest_negative, num_flips
        index, network = len(rows), run.network()
        growth = float(np.sum(network.a[sides.active] ** 2))
        beta_now = network.a[sides.active] @ network.w[sides.active]
        largest_negative = max(largest_negative, float(np.sum(network.a[sides.negative] ** 2)))
        num_flips += int(np.sum(np.sign(network.a) != np.sign(start.a)))
        rows.append((growth, float(np.linalg.norm(beta_now - beta)), angle_of(beta_now), run.loss(), *run.outputs()))
        for name, has_come in zip(
            MOMENTS,
            (index == 0, growth >= settings.eps_2, rows[-1][1] <= settings.eps_3, run.steps == iterations[-1]),
            strict=True,
        ):
            if has_come and name not in panels:
                panels[name] = (index, network)
        if index in filmed:
            film.add(index, network)

    descend_through(problem, settings.lr, iterations, look, workbench.stretch(0.0, 0.5))
    table = np.array(rows)
    missing = [name for name in MOMENTS if name not in panels]
    if missing:
        raise ValueError(f"the run is too short for {', '.join(missing)}")
    aligned, last = panels["end of phase 2a"][1], panels["convergence"][1]
    return ThreePointsDescent(
        iterations=np.array(iterations),
        losses=table[:, 3],
        outputs=table[:, 4:],
        growth=table[:, 0],
        distances=table[:, 1],
        angles=table[:, 2],
        panels=scenes_of([panels[name][0] for name in MOMENTS], [panels[name][1] for name in MOMENTS]),
        film=film.scenes(),
        angle_to_extremal=_angles_to(aligned.w[sides.active], data.X.T @ data.y),
        dead_movement=float(np.max(np.abs(last.w[sides.dead] - start.w[sides.dead]), initial=0.0)),
        negative_growth=largest_negative / float(np.sum(start.a[sides.negative] ** 2)),
        num_flips=num_flips,
        num_mixed=_num_mixed(last, data),
        output_below=float(last.outputs(np.array([[0.0, -1.0]]))[0]),
    )


def _unbalanced(settings: Settings, data: Dataset) -> UnbalancedEnd:
    """Section 5: without balancedness output weights change sign and the loss vanishes."""
    rng = np.random.default_rng(settings.seed)
    network = unbalanced_initialization(data, width=settings.unbalanced_width, scale=settings.scale, rng=rng)
    trajectory = train(TrainingProblem(data, LOSS, network), EventDrivenFlow(rtol=settings.rtol), horizon=1e5)
    flips = np.sum(np.sign(trajectory.network.a) != np.sign(network.a))
    return UnbalancedEnd(trajectory.loss, int(flips))


def _sides(network: Network, data: Dataset) -> Sides:
    is_on = np.any(network.pre_activations(data.X) > 0, axis=1)
    return Sides((network.a > 0) & is_on, network.a < 0, (network.a > 0) & ~is_on)


def _angles_to(w: FloatArray, direction: FloatArray) -> FloatArray:
    """Unsigned angle in degrees of each row to a direction."""
    cosines = w @ direction / (np.linalg.norm(w, axis=1) * np.linalg.norm(direction))
    return np.asarray(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))


def _num_mixed(network: Network, data: Dataset) -> int:
    """Neurons that are neither active on all samples nor on none."""
    is_on = network.pre_activations(data.X) > 0
    return int(np.sum(~(np.all(is_on, axis=1) | np.all(~is_on, axis=1))))
