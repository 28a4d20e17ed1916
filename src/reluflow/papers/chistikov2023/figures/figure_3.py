r"""Figure 3: the bundle passes the teacher's coordinates in the order of the eigenvalues.

Example 31: $m = 25$ neurons on one uncentred set, $d = 16$, from the scale $4^{-7}$. In the eigenbasis of the
covariance the bundle $V = \sum_j a_j w_j$ has coordinates $\nu_k$, the teacher $\nu_k^*$. The paper shows
$\operatorname{arsinh}((\nu_k^* - \nu_k)/10^{-5})$ over iterations: each coordinate but the last crosses 0 from above,
one after the other, the largest eigenvalue's first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.chistikov2023.figures.bundle_run import BundleRun, Settings, compute, crossing_iterations
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure

UNIT = 1e-5
FAR = 1e-8  # a coordinate that never gets further below 0 than this may be rounding


def claims(settings: Settings, results: BundleRun) -> tuple[Claim, ...]:
    """Order of the crossings; who crosses; the last one does not."""
    times = crossing_iterations(results)
    crossed = times[np.isfinite(times)]
    return (
        Claim(
            "coordinates cross 0 in the order of the eigenvalues (iterations)",
            bool(np.all(np.diff(times[: len(crossed)]) >= 0.0)) and bool(np.all(np.isfinite(times[: len(crossed)]))),
            tuple(float(round(time)) for time in crossed),
            "increasing, without a gap",
            source="Example 31, Fig. 3",
        ),
        Claim.above(
            "several coordinates cross (how many)", len(crossed), min(3, settings.d - 1), source="Example 31, Fig. 3"
        ),
        Claim.above(
            r"the last coordinate never crosses (least $\nu_d^* - \nu_d$)",
            float(np.min(results.deviations[:, -1])),
            -FAR,
            source="Example 31, Fig. 3",
        ),
    )


def draw(settings: Settings, results: BundleRun, folder: Path) -> tuple[Path, ...]:
    """All coordinates, those of large eigenvalues in strong colours."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    values = np.arcsinh(results.deviations / UNIT)
    curves = [
        Curve(
            results.iterations,
            values[:, k],
            f"k = {k + 1}" if k < 4 or k == settings.d - 1 else "the others",
            look=k if k < 4 else 6 if k < settings.d - 1 else 7,
        )
        for k in range(settings.d)
    ]
    panel = Panel(
        f"uncentred, d = {settings.d}, m = {settings.width}, $\\lambda = 4^{{-{settings.power}}}$",
        "iteration",
        "arsinh$((\\nu_k^* - \\nu_k)/10^{-5})$",
        curves,
        levels=[Guide(0.0)],
        x_scale="log",
        legend="below",
    )
    return (save_figure(plot_panels([panel], columns=1, panel_size=(6.0, 4.4)), folder / "fig3.png"),)


FIGURE = PaperFigure(
    "chistikov2023/fig3", __doc__, Settings(d=8, width=15, num_times=200), Settings(), compute, claims, draw
)
