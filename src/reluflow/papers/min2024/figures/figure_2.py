r"""Figure 2: positive neurons leave $S_-$, and end in $S_+$ or in $S_{\mathrm{dead}}$.

The paper's sketch of alignment under Assumption 1: a neuron with positive output weight that (1) starts in $S_-$ is
repelled by $x_-$ and escapes; outside it may (2) be repelled by negative samples until none activates it, in
$S_{\mathrm{dead}}$, or (3) be activated by some positive sample, enter $S_+$, and then be attracted by $x_+$ for ever.

Here the cones are those of the four points of Figure 6, the little arrows are the direction field of Eq. (4), and the
paths are directions of real neurons of scale 1e-9 under the exact flow, drawn further out as time goes on; on the right
many of them over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.data.registry import load
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.direction_run import directions_over_time
from reluflow.papers.min2024.figures.section_4 import (
    class_sums,
    cone_sectors,
    cosines,
    degrees_of,
    on_circle,
    smallest_correlation,
    turning,
)
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, MINUS, PLUS, cones_of
from reluflow.papers.workbench import Workbench

if TYPE_CHECKING:
    from reluflow.viz.vector_plane import Role


DATASET = "min-toy"


@dataclass(frozen=True)
class Settings:
    """How many neurons start around the circle, and for how long they are followed."""

    num_neurons: int
    horizon: float = 6.0
    num_times: int = 121
    scale: float = 1e-9


@dataclass(frozen=True, eq=False)
class LeavingNeurons:
    """Positive neurons under the exact flow.

    `degrees` are the angles of their directions and `cones` where they stand, a row for each time; `gap` is the largest
    angle to Eq. (4), `has_positive` whether some positive sample activates them at the start, `cosines` those with
    $x_+$ at the end.
    """

    times: FloatArray
    degrees: FloatArray
    cones: IntArray
    gap: float
    has_positive: BoolArray
    cosines: FloatArray
    mu: float


def compute(settings: Settings, workbench: Workbench) -> LeavingNeurons:
    """Positive neurons from evenly spread directions, none within 0.4 degrees of x_-, which Assumption 2 excludes."""
    data = load(DATASET)
    start = on_circle(np.arange(settings.num_neurons) * 360.0 / settings.num_neurons + 180.0 / settings.num_neurons)
    times = np.linspace(0.0, settings.horizon, settings.num_times)
    run = directions_over_time(data, start, np.ones(settings.num_neurons), times, scale=settings.scale)
    active = run.flow @ data.X.T > 0.0  # (times, neurons, samples)
    cones = np.array([cones_of(pattern, data.y) for pattern in active])
    # A dead neuron stands on the boundary to within rounding, which side it is on is no information.
    is_dead = np.all(run.flow @ data.X.T < 1e-9, axis=2)
    cones[is_dead] = DEAD
    return LeavingNeurons(
        times=times,
        degrees=degrees_of(run.flow),
        cones=cones,
        gap=run.largest_angle(),
        has_positive=np.any(active[0][:, data.y > 0], axis=1),
        cosines=cosines(run.flow[-1], class_sums(data)[0]),
        mu=smallest_correlation(data),
    )


def claims(settings: Settings, results: LeavingNeurons) -> tuple[Claim, ...]:
    """Theorem 1, part 1, and the three arrows of the sketch."""
    first, last = results.cones[0], results.cones[-1]
    from_other = first == MINUS
    in_own = last == PLUS
    steps = np.diff(results.cones, axis=0) != 0
    left_trap = steps & ((results.cones[:-1] == PLUS) | (results.cones[:-1] == DEAD))
    return (
        Claim.above(r"the data satisfy Assumption 1 ($\mu$)", results.mu, 0.0, source=OURS),
        Claim.equal(
            f"(1) each of the {int(np.sum(from_other))} positive neurons that start in $S_-$ escapes it (left there)",
            int(np.sum(from_other & (last == MINUS))),
            0,
            source="Fig. 2, caption (1)",
        ),
        Claim.above(
            r"(2) some of them end in $S_{\mathrm{dead}}$ (how many)",
            int(np.sum(from_other & (last == DEAD))),
            1,
            source="Fig. 2, caption (2)",
        ),
        Claim.above(
            "(3) some of them end in $S_+$ (how many)",
            int(np.sum(from_other & in_own)),
            1,
            source="Fig. 2, caption (3)",
        ),
        Claim.equal(
            rf"all {settings.num_neurons} positive neurons end in $S_+$ or $S_{{\mathrm{{dead}}}}$ (elsewhere)",
            int(np.sum(~in_own & (last != DEAD))),
            0,
            source="Theorem 1",
        ),
        Claim.equal(
            "one that some positive sample activates at the start ends in $S_+$ (exceptions)",
            int(np.sum(results.has_positive & ~in_own)),
            0,
            source="Theorem 1",
        ),
        Claim.equal(
            r"no neuron leaves $S_+$ or $S_{\mathrm{dead}}$ again (departures)",
            int(np.sum(left_trap)),
            0,
            source="Theorem 1",
        ),
        Claim.above(
            "in $S_+$ neurons are attracted by $x_+$ (smallest cosine at the end)",
            np.min(results.cosines[in_own]),
            0.99,
            source="Fig. 2, caption (3)",
        ),
        Claim.below(
            f"at scale {settings.scale:g} the exact flow turns as Eq. (4) says up to $t$ = {settings.horizon:g} "
            f"(largest angle between them, degrees)",
            results.gap,
            0.01,
            source=OURS,
        ),
    )


def draw(settings: Settings, results: LeavingNeurons, folder: Path) -> tuple[Path, ...]:
    """Cones, field and three paths; the angles of all neurons over time."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.panels import Curve, Panel
    from reluflow.viz.saving import save_figure
    from reluflow.viz.vector_plane import Arrow, Sector, VectorPlane, samples_as_arrows

    data = load(DATASET)
    totals = class_sums(data)
    field = on_circle(np.arange(0.0, 360.0, 15.0))
    velocities = turning(field, data)
    reach = 2.9
    arrows = [Arrow(1.7 * w + 0.16 * v, "", "plain", start=1.7 * w) for w, v in zip(field, velocities, strict=True)]
    arrows += samples_as_arrows(data.X, data.y, names=False)
    roles: tuple[Role, Role] = ("positive", "negative")
    arrows += [
        Arrow(0.95 * total / np.linalg.norm(total), name, role, is_dashed=True)
        for total, name, role in zip(totals, ("$x_+$", "$x_-$"), roles, strict=True)
    ]
    paths: list[tuple[str, FloatArray, Role]] = []
    for neuron, name in _examples(results):
        angles = np.unwrap(results.degrees[:, neuron], period=360.0)
        radii = 2.0 + 0.4 * results.times / settings.horizon
        paths.append((name, on_circle(angles, radii), "velocity" if "dead" in name else "pull"))
    plane = VectorPlane(
        "cones, direction field of Eq. (4), two neurons",
        reach,
        arrows,
        [Sector(*sector) for sector in cone_sectors(data)],
        paths=paths,
    )
    last = results.cones[-1]
    curves = []
    for neuron in range(0, settings.num_neurons, max(1, settings.num_neurons // 36)):
        angles = np.unwrap(results.degrees[:, neuron], period=360.0)
        is_dead = last[neuron] == DEAD
        name = r"ends in $S_{\mathrm{dead}}$" if is_dead else "ends in $S_+$"
        shift = 360.0 * np.floor((angles[0] + 90.0) / 360.0)  # the cut is an edge of S_dead, so that it is in one piece
        curves.append(Curve(results.times, angles - shift, name, look=3 if is_dead else 2))
    panel = Panel(
        "positive neurons over time",
        "time $t$",
        "angle of $w_j$ (degrees)",
        curves,
        legend="below",
    )
    parts: list[Part] = [plane, Curves(panel)]
    return (save_figure(plot_parts(parts, columns=2, part_size=(4.2, 4.2)), folder / "fig2.png"),)


def _examples(results: LeavingNeurons) -> list[tuple[int, str]]:
    """Of the neurons that start in S_-, the one nearest to x_- that ends in S_dead and the one that ends in S_+."""
    first, last = results.cones[0], results.cones[-1]
    middle = degrees_of(class_sums(load(DATASET))[1])
    found = []
    for end, name in ((DEAD, "(1), (2): out of $S_-$, then dead"), (PLUS, "(1), (3): out of $S_-$, then into $S_+$")):
        chosen = np.flatnonzero((first == MINUS) & (last == end))
        if len(chosen):
            away = np.abs((results.degrees[0, chosen] - middle + 180.0) % 360.0 - 180.0)
            found.append((int(chosen[np.argmin(away)]), name))
    return found


FIGURE = PaperFigure(
    "min2024/fig2", __doc__, Settings(num_neurons=72), Settings(num_neurons=360), compute, claims, draw
)
