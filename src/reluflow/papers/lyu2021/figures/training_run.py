"""The runs of Figure 2: descent from small neurons, and the exact flow from the same neurons at the same times.

Descent ends where |theta|^2 reaches `squared_norm`, or at the last iteration. The flow goes on beyond, to `log_horizon`
in ln t, and is repeated from the same draw at smaller scales until the limit of its direction is certified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.certificates.limits.directions import direction_distance, unit_norm
from reluflow.certificates.network_margin import network_margin
from reluflow.data.dataset import Dataset
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule, Check, Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome, Snapshot
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
from reluflow.papers.workbench import Workbench

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


@dataclass(frozen=True)
class Strays:
    """Positive neurons that are not active on every positive sample: how many, and their share of |theta|^2."""

    count: int
    share: float


@dataclass(frozen=True, eq=False)
class FlowBeyond:
    """The exact flow to its horizon.

    Parameters
    ----------
    norms, margins
        |theta|^2 and the normalised margin on the way.
    smoothed
        The smoothed margin at the end, of norm 1 as the margins; it never falls once L < ln 2/n (Theorem 3.1).
    log_time, slides, outcome
        When it ended, how often neurons slid, and why it ended.
    w, a
        The last network, of norm 1.
    """

    norms: FloatArray
    margins: FloatArray
    smoothed: float
    log_time: float
    slides: int
    outcome: str
    w: FloatArray
    a: FloatArray


@dataclass(frozen=True, eq=False)
class DescentBesideFlow:
    """Descent from one start, and the flow from the same neurons.

    Parameters
    ----------
    iterations, times, norms, margins
        Of the snapshots: when, |theta|^2 and the normalised margin.
    distances
        Between the unit directions of descent and flow at these times.
    w, a
        The last network, of norm 1.
    strays
        Of the last network.
    sign_difference, function_difference
        Between the last network and the predicted limit, on the window.
    flow
        The flow.
    """

    iterations: IntArray
    times: FloatArray
    norms: FloatArray
    margins: FloatArray
    distances: FloatArray
    w: FloatArray
    a: FloatArray
    strays: Strays
    sign_difference: float
    function_difference: float
    flow: FlowBeyond


@dataclass(frozen=True, eq=False)
class ScaleLimits:
    """Margins of the limits at several scales, nan where none was certified, and whether one was."""

    margins: FloatArray
    proved: BoolArray


@dataclass(frozen=True, eq=False)
class TrainingRuns:
    """What Figure 2 shows.

    Parameters
    ----------
    runs
        By the name of the panel, then by the start.
    best
        The largest margin of any network, by the name of the panel.
    limits
        Arrays of shape (panels, starts, seeds, scales).
    """

    runs: Mapping[str, Mapping[str, DescentBesideFlow]]
    best: Mapping[str, float]
    limits: ScaleLimits


def compute(settings: Settings, workbench: Workbench) -> TrainingRuns:
    """Every example from either start, then the limits at smaller scales."""
    runs: dict[str, dict[str, DescentBesideFlow]] = {name: {} for name in NAMES}
    parts = len(NAMES) * len(STARTS)
    for count, (name, start) in enumerate((name, start) for name in NAMES for start in STARTS):
        workbench.progress(0.6 * count / parts, f"{name}, start {start}: descent and flow")
        runs[name][start] = workbench.piece(
            f"{name}-{start}", DescentBesideFlow, partial(one_run, settings, name, start)
        )
    best = {name: network_margin(example(name).dataset, LEAK).margin for name in NAMES}
    cases = [(name, start, seed) for name in NAMES for start in STARTS for seed in settings.scale_seeds]
    shape = (len(NAMES), len(STARTS), len(settings.scale_seeds), len(settings.scales))
    limits = []
    for count, (name, start, seed) in enumerate(cases):
        workbench.progress(0.6 + 0.4 * count / len(cases), f"{name}, start {start}, seed {seed}: smaller scales")
        limits.append(
            workbench.piece(
                f"scales-{name}-{start}-{seed}",
                ScaleLimits,
                partial(limits_of_scales, settings, name, start, seed),
                settings={"scales": settings.scales, "width": settings.width, "rtol": settings.rtol},
            )
        )
    together = ScaleLimits(
        margins=np.array([limit.margins for limit in limits]).reshape(shape),
        proved=np.array([limit.proved for limit in limits]).reshape(shape),
    )
    return TrainingRuns(runs, best, together)


def one_run(settings: Settings, name: str, start: str) -> DescentBesideFlow:
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
    return DescentBesideFlow(
        iterations=np.array([s.step for s in descent]),
        times=np.array(times),
        norms=np.array([network.squared_norm() for network in networks]),
        margins=np.array([normalized_margin(network, case.dataset) for network in networks]),
        distances=np.array(distances),
        w=last.w,
        a=last.a,
        strays=strays(last, case.dataset),
        sign_difference=sign_difference(values, wanted),
        function_difference=function_difference(values, wanted),
        flow=FlowBeyond(
            norms=np.array([network.squared_norm() for network in on_the_way]),
            margins=np.array([normalized_margin(network, case.dataset) for network in on_the_way]),
            smoothed=smoothed_margin(case.dataset.y * flow.outputs[-1]) / flow.network.squared_norm(),
            log_time=flow.log_time,
            slides=flow.slides,
            outcome=str(flow.outcome),
            w=end.w,
            a=end.a,
        ),
    )


def strays(network: Network, dataset: Dataset) -> Strays:
    """The strays of a network."""
    is_active = network.pre_activations(dataset.X)[:, dataset.y > 0.0] > 0.0
    is_stray = (network.a > 0.0) & ~np.all(is_active, axis=1)
    squares = network.a**2 + np.sum(network.w**2, axis=1)
    return Strays(count=int(np.sum(is_stray)), share=float(squares[is_stray].sum() / squares.sum()))


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


def limits_of_scales(settings: Settings, name: str, start: str, seed: int) -> ScaleLimits:
    """The limits of one draw at every scale."""
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
    return ScaleLimits(np.array(margins), np.array(proved))


def _problem(settings: Settings, case: Example, start: str, scale: float, seed: int) -> TrainingProblem:
    draw = initialization_named(start)
    rng = np.random.default_rng(seed)
    return TrainingProblem(
        case.dataset, LOSS, draw(case.dataset, width=settings.width, scale=scale, rng=rng, leak=LEAK)
    )
