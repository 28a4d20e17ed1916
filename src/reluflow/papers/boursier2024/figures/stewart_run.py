"""The runs of Figure 3: descent and the exact flow from the same unbalanced neurons on the teacher of Stewart et al.

At the end some neurons slide along boundaries, across which descent jumps back and forth for ever, each on its own; so
descent costs time in proportion to the width here (hours of one core at the paper's 200,000). The full size takes
descent at 4,000 neurons through the whole run and at 200,000 through the early phase, and the exact flow at 200,000
through all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow import Dataset, SquareLoss, TrainingProblem, load, unbalanced_initialization
from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.descent.descent_run import geometric_iterations
from reluflow.dynamics.solver import AbstractRun
from reluflow.geometry.extremal import extremal_vectors
from reluflow.network.network import Network, leaky_relu
from reluflow.papers.boursier2024.data import stewart
from reluflow.papers.boursier2024.figures.best_fit import best_continuous_fit
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
    flow_through,
    frames_of,
    scenes_of,
)
from reluflow.papers.workbench import Workbench

MOMENTS = (
    "initialisation",
    "end of the early phase",
    "after the first growth",
    "after the second growth",
    "convergence",
)
SMALLEST_CONTRIBUTION = 0.02  # of a bundle to an output; labels reach 1
SAME_KINK = 0.03  # neurons whose kinks are closer than this belong to one bundle


@dataclass(frozen=True)
class Fresh:
    """A run with other inputs: narrow and with longer steps, which changes nothing that is judged."""

    width: int = 300
    iterations: int = 300_000
    lr: float = 10 * LR
    scale: float = SCALE


@dataclass(frozen=True)
class Settings:
    """Appendix B.2. Times are lr times iterations; those of the inner panels were read off the authors' animation."""

    width: int
    iterations: int
    lr: float
    early_width: int  # of a run to the end of the early phase only
    wide_width: int  # of a run by the flow only
    seeds: tuple[int, ...]  # of runs with fresh inputs
    scale: float = SCALE
    seed: int = 0
    times: tuple[float, float, float] = (6.504, 100.0, 900.0)
    frames: int = 60
    rtol: float = 1e-8
    fresh: Fresh = Fresh()
    fit_starts: int = 200


@dataclass(frozen=True, eq=False)
class StewartDescent:
    """Descent at its snapshots.

    Parameters
    ----------
    iterations, losses, outputs
        The snapshots, the mean squared error and the outputs on the samples there.
    panels, film
        All neurons at the moments drawn, some neurons at the frames of the animation.
    occupied
        Cones that hold a neuron at the moments drawn, of `num_cones`.
    bundle_counts, bundles
        How many bundles there are at the moments drawn, and those at the end, as `bundles_of` gives them.
    end
        The neurons at the end.
    """

    iterations: IntArray
    losses: FloatArray
    outputs: FloatArray
    panels: Scenes
    film: Scenes
    occupied: IntArray
    num_cones: int
    bundle_counts: IntArray
    bundles: FloatArray
    end: NeuronArrays


@dataclass(frozen=True, eq=False)
class NeuronArrays:
    """Neurons: w (m, 2) and a (m,)."""

    w: FloatArray
    a: FloatArray


@dataclass(frozen=True)
class EarlyStand:
    """The end of the early phase: cones that hold a neuron, widest sector without one, and without a negative one."""

    occupied: int
    gap: float
    negative_gap: float


@dataclass(frozen=True, eq=False)
class WideRun:
    """The exact flow of a wide network: times, mean squared errors, and its bundles at the end."""

    times: FloatArray
    losses: FloatArray
    bundles: FloatArray


@dataclass(frozen=True)
class FreshRun:
    """A run with other inputs: mean squared error, number of bundles and norm of the gradient at the end."""

    loss: float
    num_bundles: int
    gradient: float


@dataclass(frozen=True)
class EscapeRates:
    """How fast a tiny neuron in the best direction could grow at the end, and the fastest of those there does."""

    possible: float
    present: float


@dataclass(frozen=True, eq=False)
class StewartRun:
    """Descent, the flow beside it, wider networks, fresh inputs, and the best fit with four kinks."""

    descent: StewartDescent
    flow: FlowBeside
    early: EarlyStand
    wide: WideRun
    fresh: tuple[FreshRun, ...]
    escape: EscapeRates
    fit_loss: float
    fit_kinks: FloatArray


def compute(settings: Settings, workbench: Workbench) -> StewartRun:
    """Descent and flow from the same neurons, a wider network by the flow, fresh inputs, the best fit."""
    data = load("stewart-digitised")
    problem = _problem(settings, data, settings.width)
    descent = workbench.piece("descent", StewartDescent, lambda: _descend(settings, problem, workbench))
    times = np.asarray(settings.lr * descent.iterations, dtype=np.float64)
    flow = workbench.piece(
        "flow",
        FlowBeside,
        lambda: flow_beside(problem, times, descent.film, descent.panels, settings.rtol, workbench.stretch(0.45, 0.6)),
    )
    drawn = {"scale": settings.scale, "seed": settings.seed}
    early = workbench.piece(
        "early",
        EarlyStand,
        lambda: _early(settings, data, workbench),
        settings={"width": settings.early_width, "time": settings.times[0], **drawn},
    )
    horizon = settings.lr * settings.iterations
    wide = workbench.piece(
        "wide",
        WideRun,
        lambda: _wide(settings, data, horizon, workbench),
        settings={"width": settings.wide_width, "horizon": horizon, "rtol": settings.rtol, **drawn},
    )
    fresh = []
    for seed in settings.seeds:
        workbench.progress(0.95, f"fresh inputs, seed {seed}")
        run = partial(_fresh, settings.fresh, seed)
        fresh.append(workbench.piece(f"fresh-{seed}", FreshRun, run, settings=settings.fresh))
    fit_loss, kinks = best_continuous_fit(data, num_kinks=4, starts=settings.fit_starts)
    return StewartRun(
        descent=descent,
        flow=flow,
        early=early,
        wide=wide,
        fresh=tuple(fresh),
        escape=_escape(data, descent.outputs[-1], Network(descent.end.w, descent.end.a)),
        fit_loss=fit_loss,
        fit_kinks=kinks,
    )


def _problem(settings: Settings, data: Dataset, width: int) -> TrainingProblem:
    rng = np.random.default_rng(settings.seed)
    return TrainingProblem(data, LOSS, unbalanced_initialization(data, width=width, scale=settings.scale, rng=rng))


def _descend(settings: Settings, problem: TrainingProblem, workbench: Workbench) -> StewartDescent:
    data = problem.dataset
    wanted = [0, *(round(time / settings.lr) for time in settings.times), settings.iterations]
    iterations = sorted({*geometric_iterations(settings.iterations), *wanted})
    filmed = set(frames_of(iterations, settings.frames))
    film, panels, losses, outputs = Film(), list[Network](), list[float](), list[FloatArray]()

    def look(run: AbstractRun) -> None:
        if run.steps in wanted:
            panels.append(run.network())
        if len(losses) in filmed:
            film.add(len(losses), run.network())
        losses.append(run.loss())
        outputs.append(run.outputs())

    descend_through(problem, settings.lr, iterations, look, workbench.stretch(0.0, 0.45))
    last = panels[-1]
    return StewartDescent(
        iterations=np.array(iterations),
        losses=np.array(losses),
        outputs=np.array(outputs),
        panels=scenes_of([iterations.index(iteration) for iteration in wanted], panels),
        film=film.scenes(),
        occupied=np.array([num_occupied_cones(network, data) for network in panels]),
        num_cones=2 * data.n,
        bundle_counts=np.array([len(bundles_of(network, data)) for network in panels]),
        bundles=bundles_of(last, data),
        end=NeuronArrays(last.w, last.a),
    )


def _early(settings: Settings, data: Dataset, workbench: Workbench) -> EarlyStand:
    """Where the neurons of a wide network stand at the end of the early phase, which is soon reached."""
    iteration = round(settings.times[0] / LR)
    problem = _problem(settings, data, settings.early_width)
    network = descend_through(problem, LR, [iteration], AbstractRun.loss, workbench.stretch(0.6, 0.65)).network
    is_negative = network.a < 0
    return EarlyStand(
        num_occupied_cones(network, data),
        largest_gap(network),
        largest_gap(Network(network.w[is_negative], network.a[is_negative])),
    )


def _wide(settings: Settings, data: Dataset, horizon: float, workbench: Workbench) -> WideRun:
    times = np.geomspace(1.0, horizon, 100).tolist()
    problem = _problem(settings, data, settings.wide_width)
    run = flow_through(problem, times, settings.rtol, AbstractRun.loss, workbench.stretch(0.65, 0.95))
    return WideRun(np.array(times), np.array(run.measured), bundles_of(run.network.materialized(), data))


def _fresh(settings: Fresh, seed: int) -> FreshRun:
    """The same experiment with other inputs and other neurons."""
    data = stewart(np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    network = unbalanced_initialization(data, width=settings.width, scale=settings.scale, rng=rng)
    problem = TrainingProblem(data, LOSS, network)
    run = descend_through(problem, settings.lr, [settings.iterations], AbstractRun.loss, lambda share, words: None)
    return FreshRun(float(run.measured[-1]), len(bundles_of(run.network, data)), run.limit.gradient_norm)


def bundles_of(network: Network, data: Dataset) -> FloatArray:
    """The neurons that make up the function, gathered: rows (sign, angle in degrees, kink, contribution).

    Neurons active on all samples act as one, whose kink is nan. The others belong together if they have the same sign
    of a, the same side of activity and nearly the same kink. A bundle counts if it adds at least 0.02 to some output.
    """
    is_on = network.pre_activations(data.X) > 0
    num_on = np.sum(is_on, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = -network.w[:, 1] / network.w[:, 0]
    groups = [np.flatnonzero(num_on == data.n)]
    for sign in (1.0, -1.0):
        for side in (1.0, -1.0):
            is_member = (np.sign(network.a) == sign) & (np.sign(network.w[:, 0]) == side)
            members = np.flatnonzero(is_member & (num_on > 0) & (num_on < data.n))
            members = members[np.argsort(kinks[members])]
            groups += np.split(members, np.flatnonzero(np.diff(kinks[members]) > SAME_KINK) + 1)
    rows = []
    for place, group in enumerate(groups):
        sums = network.a[group] @ network.w[group]
        parts = network.a[group] @ leaky_relu(network.w[group] @ data.X.T, 0.0)
        contribution = float(np.max(np.abs(parts), initial=0.0))
        if contribution >= SMALLEST_CONTRIBUTION:
            sign = float(np.sign(parts[np.argmax(np.abs(parts))]))
            kink = float("nan") if place == 0 else float(-sums[1] / sums[0])
            rows.append((sign, angle_of(sign * sums), kink, contribution))
    return np.array(rows).reshape(-1, 4)


def num_occupied_cones(network: Network, data: Dataset) -> int:
    """Activation patterns that some neuron has, of the 2n open cones of the plane."""
    return len(np.unique(network.pre_activations(data.X) > 0, axis=0))


def largest_gap(network: Network) -> float:
    """Widest angle, in degrees, without a neuron."""
    angles = np.sort(np.degrees(np.arctan2(network.w[:, 1], network.w[:, 0])))
    return float(np.max(np.diff(angles, append=angles[0] + 360.0)))


def _escape(data: Dataset, outputs: FloatArray, network: Network) -> EscapeRates:
    """How fast a tiny neuron could grow at the end, and how fast the neurons that are there do.

    A neuron of direction w grows at the rate sign(a) G_r(w) with G_r(w) = (1/n) sum_k r_k s(<w, x_k>) and r = y - h.
    """
    residuals = data.y - outputs
    found = extremal_vectors(Dataset(data.X, residuals), SquareLoss())
    directions = network.w / np.linalg.norm(network.w, axis=1, keepdims=True)
    rates = np.sign(network.a) * (leaky_relu(directions @ data.X.T, 0.0) @ residuals) / data.n
    return EscapeRates(float(np.max(found.norms)), float(np.max(rates)))
