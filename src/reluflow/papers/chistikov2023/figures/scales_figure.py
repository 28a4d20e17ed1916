"""Claims and pictures that Figures 1, 7 and 8 share: measures at the end of training against the scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from reluflow.experiments.store import Results
from reluflow.papers.chistikov2023.figures.scales_run import KINDS, Settings, last_factors, medians
from reluflow.papers.claim import Claim

LABELS = {
    "largest": "largest angle in $J_+$ (degrees), median",
    "average": "average angle in $J_+$ (degrees), median",
    "nuclear": "nuclear norm of W, median",
}
SLOPE = 0.04  # of the factor 4.00 that the tables print


def slope_claims(settings: Settings, results: Results, name: str, what: str) -> tuple[Claim, ...]:
    """The medians of an angle fall by 4.00 per factor 4 of the scale, for either kind of data."""
    factors = last_factors(settings, medians(results, name))
    return tuple(
        Claim(
            f"{kind}: at the smallest scales the median {what} falls by 4.00 per factor 4 of the scale",
            bool(np.all(np.abs(factors[i] - 4.0) < SLOPE)),
            tuple(round(float(x), 4) for x in factors[i]),
            f"{4 - SLOPE:g} to {4 + SLOPE:g} at every size",
        )
        for i, kind in enumerate(KINDS)
    )


def norm_claims(results: Results) -> tuple[Claim, ...]:
    """At the smallest scale the network has rank one and squared norm 2."""
    nuclear, squared = medians(results, "nuclear")[..., -1], medians(results, "squared")[..., -1]
    return (
        Claim.below(
            "at the smallest scale the network has rank one: median nuclear norm of W, distance to 1",
            float(np.max(np.abs(nuclear - 1.0))),
            0.01,
        ),
        Claim.below(
            "and the squared norm of all weights is 2: median, distance to 2",
            float(np.max(np.abs(squared - 2.0))),
            0.01,
        ),
    )


def draw_scales(
    settings: Settings, results: Results, path: Path, *, rows: Sequence[str], label: Callable[[int, int], str]
) -> tuple[Path, ...]:
    """One row of panels per measure, one column per kind: medians with all draws behind them."""
    from reluflow.viz.panels import Curve, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    panels = []
    for row, name in enumerate(rows):
        for i, kind in enumerate(KINDS):
            curves = []
            for j, (d, width) in enumerate(settings.sizes):
                values = results[name][i, j]
                curves += [
                    Curve(settings.scales, one, "" if j or k else "each draw, thin", look=j, is_faint=True)
                    for k, one in enumerate(values)
                ]
                curves.append(Curve(settings.scales, np.median(values, axis=0), label(d, width), look=j, kind="marked"))
            panels.append(
                Panel(
                    f"({'abcdef'[2 * row + i]}) {kind}",
                    "scale $\\lambda$",
                    LABELS[name],
                    curves,
                    x_scale="log",
                    y_scale="linear" if name == "nuclear" else "log",
                    legend="upper left" if name == "nuclear" else "lower right",
                )
            )
    return (save_figure(plot_panels(panels, columns=2, panel_size=(3.9, 3.0)), path),)
