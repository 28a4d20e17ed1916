"""Figure 10: two opposite teachers, the largest angle within either group of neurons against the spread of the samples.

The paper takes two teachers of opposite sign, lengths 1 and 3, each with samples of its own (d = 16, m = 25, scale
4^-7, 15 draws), and shows the largest angle at the end within the positive and within the negative neurons against rho,
the mean squared distance of a sample from its centre: small while the samples are within about 45 degrees of their
teacher (rho near sqrt 2 - 1), large beyond. The groups are those of the output weight's sign (erratum E13).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.experiments.store import Results
from reluflow.papers.chistikov2023.data import NOISE_UNCENTRED
from reluflow.papers.chistikov2023.figures.two_teachers_run import SIGNS, Settings, compute_angles
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure

APART = 1.0  # degrees: neurons of one bundle are hundreds of times closer at this scale
NAMES = {1: "positive", -1: "negative"}


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """Small medians for the smallest spread; groups that stay apart in some draws for the largest."""
    medians = np.median(results["largest"], axis=2)  # (signs, spreads)
    apart = np.mean(results["largest"] > APART, axis=(0, 2))  # (spreads,)
    return (
        *(
            Claim.below(
                f"{NAMES[sign]} neurons: for the smallest spread, rho = {settings.spreads[0]:.3g}, they end nearly "
                "parallel (median largest angle, degrees)",
                float(medians[i, 0]),
                APART,
            )
            for i, sign in enumerate(SIGNS)
        ),
        Claim(
            f"the angles grow with the spread: share of the groups that end more than {APART:g} degree apart, per rho",
            bool(apart[-1] > apart[0]),
            tuple(round(float(share), 3) for share in apart),
            "more for the largest than for the smallest",
        ),
    )


def draw(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """One panel per group: medians and draws."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    x = np.array(settings.spreads)
    panels = []
    for i, sign in enumerate(SIGNS):
        values = results["largest"][i]
        curves = [
            Curve(x, values[:, k], "each draw, pale", look=i, kind="points", is_faint=True)
            for k in range(values.shape[1])
        ]
        curves.append(Curve(x, np.median(values, axis=1), "median", look=i, kind="marked"))
        panels.append(
            Panel(
                f"{NAMES[sign]} neurons",
                "$\\rho$",
                "largest angle (degrees)",
                curves,
                x_scale="log",
                levels=[Guide(NOISE_UNCENTRED, "$\\sqrt{2} - 1$", is_vertical=True)],
                y_scale="log",
                legend="upper left",
            )
        )
    title = f"two teachers, d = {settings.d}, m = {settings.width}, $\\lambda = 4^{{-{settings.power}}}$"
    return (save_figure(plot_panels(panels, columns=2, title=title, panel_size=(3.9, 3.0)), folder / "fig10.png"),)


FIGURE = PaperFigure(
    "chistikov2023/fig10",
    __doc__,
    Settings(d=6, width=20, seeds=(0, 1, 2, 3, 4), spreads=(0.1, NOISE_UNCENTRED, 3.0)),
    Settings(d=16, width=25, seeds=tuple(range(15)), spreads=(0.1, 0.2, NOISE_UNCENTRED, 1.0, 2.0, 3.0)),
    compute_angles,
    claims,
    draw,
)
