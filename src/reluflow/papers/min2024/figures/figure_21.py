r"""Figure 21: on the hyperplane of a sample that pulls, staying is a solution and so is leaving at any time.

The paper's example (App. E.4): one sample $x = (1, 0)$, $y = 1$, one neuron $w = (0, 1)$, $a = 1$. It may stay at the
edge of $S_{\mathrm{dead}}$, or leave it at any time $t_0$ and follow the flow outside, $w_1 = \sinh s$, $a = \cosh s$
with the clock of Eq. (47).

Both branches are run: the exact flow stops at the ridge unless told a side, stays when told to stay, and leaves along
the closed form when told to leave. Regular solutions, Definition 1, are those that stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.registry import load
from reluflow.dynamics import AtTime, EventDrivenFlow, TrainingProblem
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.geometry.boundary.decision import Ridge
from reluflow.network import Network
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.section_4 import SUMMED
from reluflow.papers.min2024.theorems.counterexamples import LeavingPath, path_residual
from reluflow.papers.workbench import Workbench


@dataclass(frozen=True)
class Settings:
    """For how long, how many times, and the waits drawn."""

    horizon: float = 4.0
    num_times: int = 41
    waits: tuple[float, ...] = (0.0, 1.0, 2.0)


@dataclass(frozen=True, eq=False)
class RidgeBranches:
    """The solutions from one start, as (w_1, a) at the `times`.

    `stops` says whether the exact flow without a choice ends at a ridge, at `stop_time`; `stay` and `leave` are the
    exact flow told so, `leaving` the closed form for each wait; `residuals` are those of the integral equation, of
    staying first and then for each wait.
    """

    times: FloatArray
    stops: bool
    stop_time: float
    stay: FloatArray
    leave: FloatArray
    leaving: tuple[FloatArray, ...]
    residuals: FloatArray


def compute(settings: Settings, workbench: Workbench) -> RidgeBranches:
    """The two branches of the exact flow, the closed form for every wait, and the residuals."""
    times = np.linspace(0.0, settings.horizon, settings.num_times)
    problem = TrainingProblem(load("min-uniqueness-failure"), SUMMED, Network([[0.0, 1.0]], [1.0]))
    undecided = train(problem, EventDrivenFlow(ridge="stop"), until=AtTime(settings.horizon))
    residuals = [path_residual(_rests, settings.horizon, label=1.0, slope_at_zero=0.0)]
    for wait in settings.waits:
        path = LeavingPath(wait)
        breaks = (wait, *(wait + t for t in (0.1, 0.3, 1.0, 2.0)))
        residuals.append(path_residual(path, settings.horizon, label=1.0, slope_at_zero=0.0, breaks=breaks))
    return RidgeBranches(
        times=times,
        stops=undecided.outcome is Outcome.RIDGE,
        stop_time=undecided.time,
        stay=_with_choice(problem, "stay", times),
        leave=_with_choice(problem, "positive", times),
        leaving=tuple(LeavingPath(wait)(times) for wait in settings.waits),
        residuals=np.array(residuals),
    )


def _with_choice(problem: TrainingProblem, ridge: Ridge, times: FloatArray) -> FloatArray:
    """(w_1, a) of the exact flow under one policy at the ridge."""
    run = train(problem, EventDrivenFlow(ridge=ridge), times=times, until=AtTime(float(times[-1])))
    return np.array(
        [np.exp(s.network.log_scale) * np.array([s.network.w[0, 0], s.network.a[0]]) for s in run.snapshots]
    )


def _rests(times: FloatArray) -> FloatArray:
    """(w_1, a) of the neuron that stays."""
    return np.column_stack([np.zeros_like(times), np.ones_like(times)])


def claims(settings: Settings, results: RidgeBranches) -> tuple[Claim, ...]:
    """Many solutions from one start."""
    return (
        Claim.equal(
            "the flow is not unique there: without a choice the run stops at once (ridges)",
            int(results.stops),
            1,
            source="Fig. 21, caption",
        ),
        Claim.below(
            "one solution stays: the exact flow told to stay (largest $|w_1|$)",
            np.max(np.abs(results.stay[:, 0])),
            0.0,
            source=OURS,
        ),
        Claim.below(
            "another leaves at once: the exact flow told to leave follows the closed form (largest difference)",
            np.max(np.abs(results.leave - LeavingPath()(results.times))),
            1e-8,
            source=OURS,
        ),
        Claim.below(
            f"staying, and leaving at {', '.join(f'{w:g}' for w in settings.waits)}, solve the integral equation "
            "(largest residual)",
            np.max(results.residuals),
            1e-8,
            source="Fig. 21, caption",
        ),
        Claim.above(
            f"and they differ ($w_1$ of the one that leaves at once, $t$ = {settings.horizon:g})",
            results.leave[-1, 0],
            1.0,
            source="Fig. 21, caption",
        ),
    )


def draw(settings: Settings, results: RidgeBranches, folder: Path) -> tuple[Path, ...]:
    """The plane with both branches, and w_1 over time for every wait."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.panels import Curve, Panel
    from reluflow.viz.saving import save_figure
    from reluflow.viz.vector_plane import Arrow, Sector, VectorPlane

    leaves = np.column_stack([results.leave[:, 0], np.ones(len(results.times))])
    curves = [Curve(results.times, results.stay[:, 0], "stays (exact flow)", 7)]
    curves += [
        Curve(results.times, path[:, 0], f"leaves at $t_0$ = {wait:g} (closed form)", k)
        for k, (wait, path) in enumerate(zip(settings.waits, results.leaving, strict=True))
    ]
    some = slice(None, None, max(1, len(results.times) // 20))
    curves.append(Curve(results.times[some], results.leave[some, 0], "leaves (exact flow)", 100, "points"))
    parts: list[Part] = [
        VectorPlane(
            "two solutions from one start",
            1.8,
            arrows=[Arrow([1.0, 0.0], "$x$", "positive"), Arrow([0.0, 1.0], "$w(0)$", "neuron")],
            sectors=[Sector("S_dead", 90.0, 270.0)],
            lines=[(r"$\langle w, x\rangle = 0$", [0.0, 1.0])],
            paths=[("leaves", leaves, "velocity")],
            dots=[("stays", [[0.0, 1.0]], "plain")],
        ),
        Curves(Panel("the first coordinate", "time $t$", "$w_1$", curves, legend="below")),
    ]
    return (save_figure(plot_parts(parts, columns=2, part_size=(4.4, 3.9)), folder / "fig21.png"),)


QUICK = Settings()
FULL = Settings(num_times=401, waits=(0.0, 0.5, 1.0, 1.5, 2.0, 3.0))
FIGURE = PaperFigure("min2024/fig21", __doc__, QUICK, FULL, compute, claims, draw)
