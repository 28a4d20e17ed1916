r"""Figure 10: two opposite teachers, the largest angle within either group of neurons against the samples' spread.

The paper takes two teachers of opposite sign, lengths 1 and 3, each with samples of its own ($d = 16$, $m = 25$, scale
$4^{-7}$, 15 draws), and shows the largest angle at the end within the positive and within the negative neurons against
$\rho$, the mean squared distance of a sample from its centre: small while the samples are within about 45 degrees of
their teacher ($\rho$ near $\sqrt{2} - 1$), and growing with $\rho$. The groups are those of the output weight's sign
(erratum E13).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.chistikov2023.data import NOISE_UNCENTRED
from reluflow.papers.chistikov2023.figures.two_teachers_run import SIGNS, Settings, SpreadAngles, compute_angles
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure

APART = 1.0  # degrees: neurons of one bundle are hundreds of times closer at this scale
NAMES = {1: "positive", -1: "negative"}


def claims(settings: Settings, results: SpreadAngles) -> tuple[Claim, ...]:
    """Small medians up to 45 degrees; growth with the spread, by the medians and by the groups that stay apart."""
    medians = np.median(results.largest, axis=2)  # (signs, spreads)
    apart = np.mean(results.largest > APART, axis=(0, 2))  # (spreads,)
    rho = np.array(settings.spreads)
    near = rho <= NOISE_UNCENTRED
    both = np.median(results.largest, axis=(0, 2))  # over both groups and all draws
    return (
        *(
            Claim.below(
                rf"{NAMES[sign]} neurons: up to $\rho$ = {rho[near][-1]:.3g} they end nearly parallel (largest of "
                rf"the medians of the largest angle, degrees)",
                float(np.max(medians[i, near])),
                APART,
                source="Fig. 10",
            )
            for i, sign in enumerate(SIGNS)
        ),
        Claim(
            r"the largest angle grows with the spread (its median over both groups and all draws at the smallest "
            r"and at the largest $\rho$, degrees)",
            bool(both[-1] > both[0]),
            (float(both[0]), float(both[-1])),
            "the second above the first",
            source="Fig. 10",
        ),
        Claim(
            rf"beyond $\rho$ = {rho[near][-1]:.3g} some groups do not become parallel (share of groups with an "
            rf"angle above {APART:g} degree, at $\rho$ = {', '.join(f'{value:.3g}' for value in rho)})",
            bool(np.max(apart[~near]) > np.max(apart[near])),
            tuple(round(float(share), 3) for share in apart),
            f"more beyond {rho[near][-1]:.3g} than up to it",
            source=OURS,
        ),
    )


def draw(settings: Settings, results: SpreadAngles, folder: Path) -> tuple[Path, ...]:
    """One panel per group: medians and draws."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    x = np.array(settings.spreads)
    panels = []
    for i, sign in enumerate(SIGNS):
        values = results.largest[i]
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
