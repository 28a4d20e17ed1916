"""Figure 1: in the early phase a neuron turns towards $x_a(w)$, the signed sum of the samples that activate it.

The paper's sketch: $x_1$ has label +1, $x_2$ and $x_3$ have label -1; $x_1$ and $x_2$ lie in the half-space that
activates the neuron $w_j$ (grey), so $x_a(w_j) = x_1 - x_2$, and a neuron with positive output weight is pushed
towards it.

Here three such points are trained on. The arrows are computed, the curve is the direction of a real neuron of scale
1e-6 under the exact flow, and on the right stands its angle beside what Eq. (4) predicts. The coordinates are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.direction_run import directions_over_time
from reluflow.papers.min2024.figures.section_4 import (
    SCALE,
    cosines,
    degrees_of,
    on_circle,
    pull,
    smallest_correlation,
    turning,
)
from reluflow.papers.workbench import Workbench

DATA = Dataset(
    on_circle(np.array([20.0, 120.0, 195.0]), np.array([1.2, 1.0, 1.1])),
    [1.0, -1.0, -1.0],
    name="three vectors",
    provenance="stand-in for Min et al. (2024), Fig. 1, which prints no coordinates [min2024]",
)
NEURON = on_circle(np.array([60.0]))  # shape (1, 2)


@dataclass(frozen=True)
class Settings:
    """How long the neurons are followed, at how many times, and their scale."""

    horizon: float = 2.0
    num_times: int = 41
    scale: float = SCALE


@dataclass(frozen=True, eq=False)
class TurningNeurons:
    """A positive and a negative neuron from the same direction, at several times.

    `limit` and `flow` are their directions by Eq. (4) and by the exact flow, shape (times, 2, 2), `gap` the largest
    angle between the two; `cosines` those of the flow with `x_a`, a row for each neuron; `velocity` is that of the
    positive neuron's direction at the start.
    """

    times: FloatArray
    limit: FloatArray
    flow: FloatArray
    gap: float
    x_a: FloatArray
    velocity: FloatArray
    cosines: FloatArray
    mu: float


def compute(settings: Settings, workbench: Workbench) -> TurningNeurons:
    """A positive and a negative neuron from the same direction."""
    times = np.linspace(0.0, settings.horizon, settings.num_times)
    w = np.repeat(NEURON, 2, axis=0)
    run = directions_over_time(DATA, w, np.array([1.0, -1.0]), times, scale=settings.scale)
    x_a = pull(NEURON, DATA)[0]
    return TurningNeurons(
        times=times,
        limit=run.limit,
        flow=run.flow,
        gap=run.largest_angle(),
        x_a=x_a,
        velocity=turning(NEURON, DATA)[0],
        cosines=np.array([cosines(run.flow[:, j], x_a) for j in (0, 1)]),
        mu=smallest_correlation(DATA),
    )


def claims(settings: Settings, results: TurningNeurons) -> tuple[Claim, ...]:
    """What the caption says."""
    difference = np.max(np.abs(results.x_a - (DATA.X[0] - DATA.X[1])))
    quarter = settings.num_times // 4
    rates = np.gradient(results.cosines, results.times, axis=1)[:, :quarter]  # per unit of time
    return (
        Claim.below(
            "$x_1$ and $x_2$ activate the neuron, so that $x_a(w) = x_1 - x_2$ (difference)",
            difference,
            1e-15,
            source="Fig. 1, caption",
        ),
        Claim.above(
            "a positive neuron turns towards $x_a$ (smallest rate of the cosine)",
            np.min(rates[0]),
            0.05,
            source="Fig. 1, caption",
        ),
        Claim.below(
            "a negative neuron turns away from it (largest rate of the cosine)",
            np.max(rates[1]),
            -0.05,
            source="Sec. 2.2",
        ),
        Claim.below(
            f"at scale {settings.scale:g} the exact flow turns as Eq. (4) says up to $t$ = {settings.horizon:g} "
            f"(largest angle between them, degrees)",
            results.gap,
            0.01,
            source=OURS,
        ),
    )


def draw(settings: Settings, results: TurningNeurons, folder: Path) -> tuple[Path, ...]:
    """The sketch with computed vectors, and the angles over time."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.panels import Curve, Guide, Panel
    from reluflow.viz.saving import save_figure
    from reluflow.viz.vector_plane import Arrow, VectorPlane, samples_as_arrows

    w = NEURON[0]
    arrows = [
        *samples_as_arrows(DATA.X, DATA.y),
        Arrow(w, "$w_j$", "neuron"),
        Arrow(results.x_a, "$x_a(w_j)$", "pull"),
        Arrow(w + 0.35 * results.velocity, "", "velocity", start=w),
    ]
    path = on_circle(degrees_of(results.flow[:, 0]), 0.72)
    plane = VectorPlane(
        r"$\frac{d}{dt}\,w_j/\|w_j\|$ (arrow at $w_j$) points to $x_a=x_1-x_2$",
        2.3,
        arrows,
        half_planes=[w],
        lines=[("", [w[1], -w[0]])],
        paths=[("arc: direction of $w_j$, exact flow", path, "velocity")],
    )
    times = results.times
    flow, limit = (degrees_of(directions) for directions in (results.flow, results.limit))
    angles = Panel(
        "angle of a neuron",
        r"time $t$",
        "degrees",
        [
            Curve(times, flow[:, 0], "exact flow, $a_j>0$", look=1),
            Curve(times, flow[:, 1], "exact flow, $a_j<0$", look=0),
            Curve(times[::4], limit[::4, 0], "Eq. (4)", look=7, kind="points"),
            Curve(times[::4], limit[::4, 1], "Eq. (4)", look=7, kind="points"),
        ],
        levels=[Guide(float(degrees_of(results.x_a)), "angle of $x_a(w_j)$ at the start")],
        legend="below",
    )
    parts: list[Part] = [plane, Curves(angles)]
    return (save_figure(plot_parts(parts, columns=2, part_size=(3.9, 3.6)), folder / "fig1.png"),)


FIGURE = PaperFigure("min2024/fig1", __doc__, Settings(num_times=21), Settings(), compute, claims, draw)
