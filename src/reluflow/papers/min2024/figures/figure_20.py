r"""Figure 20: with $\sigma'(0) > 0$ no Caratheodory solution starts on the hyperplane of a sample that pushes back.

The paper's example (App. E.3): one sample $x = (1, 0)$, $y = -1$, one neuron $w = (0, 1)$, $a = 1$. It cannot stay,
for $\sigma'(0) > 0$ gives it a velocity; it cannot enter the dead side either, for there it would have none.

Computed: Euler's steps move once, to minus the step times $\sigma'(0)$, and stop; their limit stays at $w_1 = 0$ and
misses its own integral equation by $\sigma'(0) t$. With $\sigma'(0) = 0$, which the paper and this laboratory choose,
the exact flow stays and is a solution, whatever is asked of it at ridges.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.registry import load
from reluflow.dynamics import AtTime, EventDrivenFlow, TrainingProblem
from reluflow.dynamics.train import train
from reluflow.geometry.boundary.decision import Ridge
from reluflow.network import Network
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.section_4 import SUMMED
from reluflow.papers.min2024.theorems.counterexamples import euler_path, path_residual
from reluflow.papers.workbench import Workbench

POLICIES: tuple[Ridge, ...] = ("stop", "stay", "positive", "negative")


@dataclass(frozen=True)
class Settings:
    """sigma'(0), Euler's steps, and for how long."""

    slope: float = 0.5
    steps: tuple[float, ...] = (0.2, 0.1, 0.05)
    horizon: float = 2.0
    num_times: int = 21


@dataclass(frozen=True, eq=False)
class StayingNeuron:
    """What becomes of the neuron.

    `euler` has the first coordinates of Euler's path for each step; `residual` and `residual_zero` say by how much
    staying misses its integral equation at each of the `times`, with the slope of the settings and with 0; `moved` has
    the largest move of the exact flow under each policy.
    """

    times: FloatArray
    moved: FloatArray
    euler: tuple[FloatArray, ...]
    residual: FloatArray
    residual_zero: FloatArray


def compute(settings: Settings, workbench: Workbench) -> StayingNeuron:
    """Euler's paths, the residual of their limit, and the exact flow under every policy."""
    times = np.linspace(0.0, settings.horizon, settings.num_times)
    problem = TrainingProblem(load("min-existence-failure"), SUMMED, Network([[0.0, 1.0]], [1.0]))
    moved = []
    for ridge in POLICIES:
        run = train(problem, EventDrivenFlow(ridge=ridge), times=times, until=AtTime(settings.horizon))
        w = np.array([np.exp(s.network.log_scale) * s.network.w[0] for s in run.snapshots])
        moved.append(float(np.max(np.abs(w - [0.0, 1.0]))) if len(w) == len(times) else np.inf)
    paths = tuple(
        euler_path(label=-1.0, slope_at_zero=settings.slope, step=step, num_steps=round(settings.horizon / step))
        for step in settings.steps
    )
    residual, residual_zero = (
        np.array([path_residual(_rests, t, label=-1.0, slope_at_zero=slope) if t > 0.0 else 0.0 for t in times])
        for slope in (settings.slope, 0.0)
    )
    return StayingNeuron(times, np.array(moved), paths, residual, residual_zero)


def _rests(times: FloatArray) -> FloatArray:
    """(w_1, a) of the neuron that stays."""
    return np.column_stack([np.zeros_like(times), np.ones_like(times)])


def claims(settings: Settings, results: StayingNeuron) -> tuple[Claim, ...]:
    """It cannot stay, it cannot leave; with sigma'(0) = 0 it stays."""
    last = [float(path[-1]) for path in results.euler]
    stops = max(float(np.max(np.abs(np.diff(path[1:])))) for path in results.euler)
    fit = np.polyfit(settings.steps, last, 1)
    return (
        Claim.below(
            "it cannot enter the dead side: Euler's neuron has no velocity after its first step (largest move)",
            stops,
            0.0,
            source="Fig. 20, caption",
        ),
        Claim.near(
            r"that step is minus the step size times $\sigma'(0)$ (slope in the step)",
            fit[0],
            -settings.slope,
            atol=1e-12,
            source=OURS,
        ),
        Claim.below(
            "so that Euler's limit stays at $w_1 = 0$ ($|w_1|$ extrapolated to step 0)", abs(fit[1]), 1e-12, source=OURS
        ),
        Claim.near(
            rf"and staying is no solution: it misses the integral equation by $\sigma'(0) t$ (at $t$ = "
            rf"{settings.horizon:g})",
            results.residual[-1],
            settings.slope * settings.horizon,
            atol=1e-9,
            source="Fig. 20, caption",
        ),
        Claim.below(
            r"with $\sigma'(0) = 0$ it is one (largest residual)", np.max(results.residual_zero), 1e-12, source=OURS
        ),
        Claim.below(
            f"and the exact flow stays under each of {len(POLICIES)} policies at ridges (largest move)",
            np.max(results.moved),
            1e-12,
            source=OURS,
        ),
    )


def draw(settings: Settings, results: StayingNeuron, folder: Path) -> tuple[Path, ...]:
    """Euler's paths, and the residual of staying."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.panels import Curve, Guide, Panel
    from reluflow.viz.saving import save_figure
    from reluflow.viz.vector_plane import Arrow, Sector, VectorPlane

    parts: list[Part] = [
        VectorPlane(
            "a neuron on the hyperplane\nof a negative sample",
            1.5,
            arrows=[
                Arrow([1.0, 0.0], "$x$", "negative"),
                Arrow([0.0, 1.0], "$w(0)$", "neuron"),
                Arrow([-0.5 * settings.slope, 1.0], r"$-\sigma'(0)\,x$", "velocity", start=[0.0, 1.0]),
            ],
            sectors=[Sector("S_dead", 90.0, 270.0)],
            lines=[(r"$\langle w, x\rangle = 0$", [0.0, 1.0])],
        ),
        Curves(
            Panel(
                rf"Euler with $\sigma'(0) = {settings.slope:g}$ moves once",
                "time $t$",
                "$w_1$",
                [
                    Curve(step * np.arange(len(path)), path, f"step {step:g}", k, "marked")
                    for k, (step, path) in enumerate(zip(settings.steps, results.euler, strict=True))
                ],
                levels=[Guide(0.0, "limit")],
                legend="below",
            )
        ),
        Curves(
            Panel(
                "how far staying misses its integral equation",
                "time $t$",
                "residual",
                [
                    Curve(results.times, results.residual, rf"$\sigma'(0) = {settings.slope:g}$", 1),
                    Curve(results.times, results.residual_zero, r"$\sigma'(0) = 0$", 2),
                ],
            )
        ),
    ]
    return (save_figure(plot_parts(parts, columns=3, part_size=(3.7, 3.5)), folder / "fig20.png"),)


QUICK = Settings()
FULL = Settings(steps=(0.2, 0.1, 0.05, 0.02, 0.01), num_times=201)
FIGURE = PaperFigure("min2024/fig20", __doc__, QUICK, FULL, compute, claims, draw)
