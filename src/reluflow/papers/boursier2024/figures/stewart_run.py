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

from reluflow import Dataset, SquareLoss, TrainingProblem, extremal_vectors, load, unbalanced_initialization
from reluflow.arrays import FloatArray
from reluflow.dynamics.descent.descent_run import geometric_iterations
from reluflow.dynamics.solver import AbstractRun
from reluflow.experiments.store import Results
from reluflow.experiments.workbench import Workbench
from reluflow.network.network import Network, leaky_relu
from reluflow.papers.boursier2024.data import stewart
from reluflow.papers.boursier2024.figures.best_fit import best_continuous_fit
from reluflow.papers.boursier2024.figures.training import (
    GRID,
    LOSS,
    LR,
    SCALE,
    Film,
    angle_of,
    descend_through,
    flow_beside,
    flow_through,
    frames_of,
    rows_of,
)

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


def compute(settings: Settings, workbench: Workbench) -> Results:
    """Descent and flow from the same neurons, a wider network by the flow, fresh inputs, the best fit."""
    data = load("stewart-digitised")
    problem = _problem(settings, data, settings.width)
    descent = workbench.piece("descent", lambda: _descend(settings, problem, workbench))
    flow = workbench.piece(
        "flow", partial(flow_beside, problem, settings.lr, descent, settings.rtol, workbench.stretch(0.45, 0.6))
    )
    drawn = {"scale": settings.scale, "seed": settings.seed}
    early = workbench.piece(
        "early",
        lambda: _early(settings, data, workbench),
        settings={"width": settings.early_width, "time": settings.times[0], **drawn},
    )
    horizon = settings.lr * settings.iterations
    wide = workbench.piece(
        "wide",
        lambda: _wide(settings, data, horizon, workbench),
        settings={"width": settings.wide_width, "horizon": horizon, "rtol": settings.rtol, **drawn},
    )
    fresh: dict[str, list[float]] = {"loss": [], "num_bundles": [], "gradient": []}
    for seed in settings.seeds:
        workbench.progress(0.95, f"fresh inputs, seed {seed}")
        piece = workbench.piece(f"fresh-{seed}", partial(_fresh, settings.fresh, seed), settings=settings.fresh)
        for name, values in fresh.items():
            values.append(piece[name])
    fit_loss, kinks = best_continuous_fit(data, num_kinks=4, starts=settings.fit_starts)
    final = descent["outputs"][-1]
    return (
        descent
        | flow
        | early
        | wide
        | {f"fresh_{name}": np.array(values) for name, values in fresh.items()}
        | _escape(data, final, Network(descent["last_w"], descent["last_a"]))
        | {"fit_loss": fit_loss, "fit_kinks": kinks}
    )


def _problem(settings: Settings, data: Dataset, width: int) -> TrainingProblem:
    rng = np.random.default_rng(settings.seed)
    return TrainingProblem(data, LOSS, unbalanced_initialization(data, width=width, scale=settings.scale, rng=rng))


def _descend(settings: Settings, problem: TrainingProblem, workbench: Workbench) -> Results:
    data = problem.dataset
    wanted = [0, *(round(time / settings.lr) for time in settings.times), settings.iterations]
    iterations = sorted({*geometric_iterations(settings.iterations), *wanted})
    filmed = set(frames_of(iterations, settings.frames))
    film, panels, losses, outputs = Film(), list[Network](), list[float](), list[FloatArray]()

    def look(run: AbstractRun) -> None:
        if run.steps in wanted:
            panels.append(run.network())
        if len(losses) in filmed:
            film.add(run.network())
        losses.append(run.loss())
        outputs.append(run.outputs())

    descend_through(problem, settings.lr, iterations, look, workbench.stretch(0.0, 0.45))
    return {
        "iterations": np.array(iterations),
        "losses": np.array(losses),
        "outputs": np.array(outputs),
        "panels": np.array([iterations.index(iteration) for iteration in wanted]),
        "panel_w": np.array([network.w for network in panels], dtype=np.float32),
        "panel_a": np.array([network.a for network in panels], dtype=np.float32),
        "panel_curves": np.array([network.outputs(rows_of(GRID)) for network in panels]),
        "occupied": np.array([num_occupied_cones(network, data) for network in panels]),
        "gaps": np.array([largest_gap(network) for network in panels]),
        "num_cones": 2 * data.n,
        "bundles": bundles_of(panels[-1], data),
        "bundle_counts": np.array([len(bundles_of(network, data)) for network in panels]),
        "last_w": panels[-1].w,
        "last_a": panels[-1].a,
        "frames": np.array(sorted(filmed)),
        **film.results("film"),
    }


def _early(settings: Settings, data: Dataset, workbench: Workbench) -> Results:
    """Where the neurons of a wide network stand at the end of the early phase, which is soon reached."""
    iteration = round(settings.times[0] / LR)
    problem = _problem(settings, data, settings.early_width)
    network = descend_through(problem, LR, [iteration], AbstractRun.loss, workbench.stretch(0.6, 0.65)).network
    is_negative = network.a < 0
    return {
        "early_occupied": num_occupied_cones(network, data),
        "early_gap": largest_gap(network),
        "early_negative_gap": largest_gap(Network(network.w[is_negative], network.a[is_negative])),
    }


def _wide(settings: Settings, data: Dataset, horizon: float, workbench: Workbench) -> Results:
    times = np.geomspace(1.0, horizon, 100).tolist()
    problem = _problem(settings, data, settings.wide_width)
    run = flow_through(problem, times, settings.rtol, AbstractRun.loss, workbench.stretch(0.65, 0.95))
    plain = run.network.materialized()
    return {
        "wide_times": np.array(times),
        "wide_losses": np.array(run.measured),
        "wide_bundles": bundles_of(plain, data),
        "wide_curve": plain.outputs(rows_of(GRID)),
        "wide_occupied": num_occupied_cones(plain, data),
    }


def _fresh(settings: Fresh, seed: int) -> Results:
    """The same experiment with other inputs and other neurons."""
    data = stewart(np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    network = unbalanced_initialization(data, width=settings.width, scale=settings.scale, rng=rng)
    problem = TrainingProblem(data, LOSS, network)
    run = descend_through(problem, settings.lr, [settings.iterations], AbstractRun.loss, lambda share, words: None)
    return {
        "loss": run.measured[-1],
        "num_bundles": len(bundles_of(run.network, data)),
        "gradient": run.limit.gradient_norm,
    }


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


def _escape(data: Dataset, outputs: FloatArray, network: Network) -> Results:
    """How fast a tiny neuron could grow at the end, and how fast the neurons that are there do.

    A neuron of direction w grows at the rate sign(a) G_r(w) with G_r(w) = (1/n) sum_k r_k s(<w, x_k>) and r = y - h.
    """
    residuals = data.y - outputs
    found = extremal_vectors(Dataset(data.X, residuals), SquareLoss())
    directions = network.w / np.linalg.norm(network.w, axis=1, keepdims=True)
    rates = np.sign(network.a) * (leaky_relu(directions @ data.X.T, 0.0) @ residuals) / data.n
    best = int(np.argmax(found.norms))
    return {
        "possible_rate": float(found.norms[best]),
        "possible_angle": angle_of(found.vectors[best] * found.sides[best]),
        "present_rate": float(np.max(rates)),
    }
