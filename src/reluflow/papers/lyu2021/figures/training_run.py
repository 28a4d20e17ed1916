"""The runs of Figure 2: descent from small neurons, and the exact flow from the same neurons at the same times.

Descent ends where |theta|^2 reaches `squared_norm`, or at the last iteration. The flow goes on beyond, to `log_horizon`
in ln t, and is repeated from the same draw at smaller scales until the limit of its direction is certified.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.network_margin import network_margin
from reluflow.data.dataset import Dataset
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.flow.event_driven import EventDrivenFlow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule, Check, Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome, Snapshot
from reluflow.endings.directions import direction_distance, unit_norm
from reluflow.endings.limit import LimitIdentified, certified_limit
from reluflow.experiments.store import Results
from reluflow.experiments.workbench import Workbench
from reluflow.network.initialization import initialization_named
from reluflow.network.network import Network
from reluflow.papers.lyu2021.figures.panels import (
    LEAK,
    LOSS,
    LR,
    NAMES,
    SCALE,
    WIDTH,
    Example,
    example,
    function_difference,
    sign_difference,
)
from reluflow.papers.lyu2021.theorems.smoothed_margin import smoothed_margin

STARTS = ("he", "lyu-balanced")  # App. I.1.3, and what Theorems 6.2 and A.7 assume
GRID_POINTS = 160  # even, so that no column of the grid lies on an axis of symmetry


@dataclass(frozen=True)
class Settings:
    """Appendix I.1.3. Width, steps and seed are not printed there; the step size is that of Appendix J."""

    log_horizon: float
    scales: tuple[float, ...]
    scale_seeds: tuple[int, ...]
    seed: int = 0
    width: int = WIDTH
    scale: float = SCALE
    lr: float = LR
    iterations: int = 200_000
    squared_norm: float = 1000.0
    rtol: float = 1e-8


def compute(settings: Settings, workbench: Workbench) -> Results:
    """Every example from either start, then the limits at smaller scales."""
    results: Results = {}
    parts = len(NAMES) * len(STARTS)
    for count, (name, start) in enumerate((name, start) for name in NAMES for start in STARTS):
        workbench.progress(0.6 * count / parts, f"{name}, start {start}: descent and flow")
        run = workbench.piece(f"{name}-{start}", partial(one_run, settings, name, start))
        results |= {f"{name}_{start}_{key}": value for key, value in run.items()}
    for name in NAMES:
        results[f"{name}_best"] = network_margin(example(name).dataset, LEAK).margin
    cases = [(name, start, seed) for name in NAMES for start in STARTS for seed in settings.scale_seeds]
    shape = (len(NAMES), len(STARTS), len(settings.scale_seeds), len(settings.scales))
    margins, proved = [], []
    for count, (name, start, seed) in enumerate(cases):
        workbench.progress(0.6 + 0.4 * count / len(cases), f"{name}, start {start}, seed {seed}: smaller scales")
        limits = workbench.piece(
            f"scales-{name}-{start}-{seed}",
            partial(limits_of_scales, settings, name, start, seed),
            settings={"scales": settings.scales, "width": settings.width, "rtol": settings.rtol},
        )
        margins.append(limits["margins"])
        proved.append(limits["proved"])
    return results | {
        "scale_margins": np.array(margins).reshape(shape),
        "scale_proved": np.array(proved).reshape(shape),
    }


def one_run(settings: Settings, name: str, start: str) -> Results:
    """Descent, and the flow at the times of descent and beyond, from the same neurons."""
    case = example(name)
    problem = _problem(settings, case, start, settings.scale, settings.seed)
    descent = _descend(settings, problem)
    networks, times = [s.network for s in descent], [s.time for s in descent]
    last = unit_norm(networks[-1])
    flow = train(
        problem,
        EventDrivenFlow(rtol=settings.rtol, ridge="positive"),
        until=Exhausted(),
        keep=Keep(times=times, thinned=np.inf),
        log_horizon=max(settings.log_horizon, np.log(times[-1]) + 1e-9),
    )
    distances = [
        direction_distance(unit_norm(network), unit_norm(snapshot.network))
        for network, snapshot in zip(networks, flow.snapshots, strict=True)
    ]
    values, wanted = case.values(last, GRID_POINTS), case.values(case.limit, GRID_POINTS)
    end, on_the_way = unit_norm(flow.network), [frame.network for frame in flow.frames[1:]]
    return {
        "iterations": np.array([s.step for s in descent]),
        "times": np.array(times),
        "norms": np.array([network.squared_norm() for network in networks]),
        "margins": np.array([normalized_margin(network, case.dataset) for network in networks]),
        "distances": np.array(distances),
        "w": last.w,
        "a": last.a,
        **strays(last, case.dataset),
        "sign_difference": sign_difference(values, wanted),
        "function_difference": function_difference(values, wanted),
        "flow_norms": np.array([network.squared_norm() for network in on_the_way]),
        "flow_margins": np.array([normalized_margin(network, case.dataset) for network in on_the_way]),
        # of norm 1, as the margins; it never falls once L < ln 2/n (Theorem 3.1)
        "flow_smoothed": smoothed_margin(case.dataset.y * flow.outputs[-1]) / flow.network.squared_norm(),
        "flow_log_time": flow.log_time,
        "flow_slides": flow.slides,
        "flow_w": end.w,
        "flow_a": end.a,
        "flow_outcome": str(flow.outcome),
    }


def strays(network: Network, dataset: Dataset) -> Results:
    """Positive neurons that are not active on every positive sample: how many, and their share of |theta|^2."""
    is_active = network.pre_activations(dataset.X)[:, dataset.y > 0.0] > 0.0
    is_stray = (network.a > 0.0) & ~np.all(is_active, axis=1)
    squares = network.a**2 + np.sum(network.w**2, axis=1)
    return {"num_strays": int(np.sum(is_stray)), "stray_share": float(squares[is_stray].sum() / squares.sum())}


def _descend(settings: Settings, problem: TrainingProblem) -> tuple[Snapshot, ...]:
    """Each iteration a twenty-fifth after the last, and the end."""
    kept = [0]
    while kept[-1] < settings.iterations:
        kept.append(min(kept[-1] + kept[-1] // 25 + 10, settings.iterations))
    solver = GradientDescent(lr=settings.lr, iterations=settings.iterations, loss_scaled=True)
    run = train(problem, solver, until=SquaredNorm(settings.squared_norm), keep=Keep(iterations=kept))
    return run.snapshots if run.snapshots[-1].step == run.steps else (*run.snapshots, run.end)


@dataclass(frozen=True)
class SquaredNorm(AbstractStoppingRule):
    """Stop when |theta|^2 is at least `level`."""

    level: float

    def start(self) -> Check:
        return self._check

    def _check(self, run: AbstractRun) -> Outcome | None:
        return Outcome.REACHED if run.network().squared_norm() >= self.level else None


def limits_of_scales(settings: Settings, name: str, start: str, seed: int) -> Results:
    """Margins of the limits of one draw at every scale; nan where none was certified."""
    case = example(name)
    margins, proved = [], []
    for scale in settings.scales:
        problem = _problem(settings, case, start, scale, seed)
        flow = train(
            problem,
            EventDrivenFlow(rtol=settings.rtol, ridge="positive"),
            until=LimitIdentified(close=0.1),
            log_horizon=100.0,
        )
        limit = certified_limit(flow)
        proved.append(limit.is_proof)
        margins.append(normalized_margin(limit.network, case.dataset) if limit.is_proof else np.nan)
    return {"margins": np.array(margins), "proved": np.array(proved)}


def _problem(settings: Settings, case: Example, start: str, scale: float, seed: int) -> TrainingProblem:
    draw = initialization_named(start)
    rng = np.random.default_rng(seed)
    return TrainingProblem(
        case.dataset, LOSS, draw(case.dataset, width=settings.width, scale=scale, rng=rng, leak=LEAK)
    )
