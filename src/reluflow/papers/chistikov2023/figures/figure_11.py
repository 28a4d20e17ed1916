r"""Figure 11: two opposite teachers, one run: the loss falls twice, and each time one group of neurons aligns before.

One run of Figure 10 with $\rho = \sqrt{2} - 1$, uncentred: the training loss and the largest angle within the positive
and within the negative neurons over iterations. The network leaves the saddle at 0 along the longer teacher, whose
neurons are aligned by then, waits at a second saddle where only that one is learned, and leaves it along the other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.chistikov2023.figures.figure_10 import NAMES
from reluflow.papers.chistikov2023.figures.two_teachers_run import SIGNS, Settings, TwoTeachersPath, compute_path
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure


def drops(results: TwoTeachersPath) -> tuple[float, float]:
    """Iterations at which the loss is half-way from 0 to the longer teacher, and from there to nothing."""
    losses, between = results.losses, float(results.one_sided[1])
    levels = (0.5 * (float(losses[0]) + between), 0.5 * between)
    first, second = (float(results.iterations[int(np.argmax(losses <= level))]) for level in levels)
    return first, second


def claims(settings: Settings, results: TwoTeachersPath) -> tuple[Claim, ...]:
    """Two drops, a plateau between them, small angles when each comes and at the end."""
    first, second = drops(results)
    iterations, losses, largest = results.iterations, results.losses, results.largest
    logs = np.log(iterations)
    waits = (iterations > first) & (iterations < second)
    slowest = float(np.min(-np.diff(np.log(losses[waits])) / np.diff(logs[waits])))
    return (
        Claim.above(
            "the loss falls twice (iteration of the second drop over that of the first)",
            second / first,
            1.5,
            source="Fig. 11",
        ),
        Claim.below(
            r"between the drops there is a plateau (least rate $-d\,\ln L/d\,\ln t$ there)",
            slowest,
            0.5,
            source="Fig. 11",
        ),
        Claim.below("the loss tends to 0 (at the end)", float(losses[-1]), 5.000001e-10, source="Fig. 11"),
        Claim.below(
            "negative neurons, those of the longer teacher, are aligned when the first drop comes (largest angle)",
            float(np.interp(first, iterations, largest[1])),
            10.0,
            source="Fig. 11",
        ),
        Claim.below(
            "positive neurons are aligned when the second one comes (largest angle)",
            float(np.interp(second, iterations, largest[0])),
            10.0,
            source="Fig. 11",
        ),
    )


def draw(settings: Settings, results: TwoTeachersPath, folder: Path) -> tuple[Path, ...]:
    """Loss above the two angles."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    x = results.iterations
    marks = [Guide(value, "half-way down a drop", is_vertical=True) for value in drops(results)]
    groups = [Curve(x, results.largest[i], f"{NAMES[sign]} neurons", look=i) for i, sign in enumerate(SIGNS)]
    panels = [
        Panel("training loss", "iteration", "L", [Curve(x, results.losses)], levels=marks, x_scale="log"),
        Panel(
            "largest angle (degrees)",
            "iteration",
            "",
            groups,
            levels=marks,
            x_scale="log",
            y_scale="log",
            legend="below",
        ),
    ]
    return (save_figure(plot_panels(panels, columns=2, panel_size=(3.9, 3.0)), folder / "fig11.png"),)


FIGURE = PaperFigure(
    "chistikov2023/fig11",
    __doc__,
    Settings(d=6, width=20, seeds=(0,), num_times=200),
    Settings(d=16, width=25, seeds=(0,)),
    compute_path,
    claims,
    draw,
)
