"""Figure 1: the largest angle between active neurons at the end falls like the scale.

The paper trains m = 200 neurons on n = d samples around a centre (centred: the centre is the teacher; uncentred: one
more sample is) from scales 4^2 to 4^-13 and shows, against the scale, the median over five draws of the largest angle
between active neurons (positive, with a sample inside at the start) when the loss has fallen to 1e-9. At small scales
the medians fall by the factor 4 from one scale to the next, in every dimension. Here the training is the exact flow and
the dimensions are 4 and 16 of the paper's 4 to 1024. Figure 7 of the paper adds the nuclear norm of W; it tends to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reluflow.experiments.store import Results
from reluflow.experiments.workbench import Workbench
from reluflow.papers.chistikov2023.paper import angles, draw, nuclear_norm, squared_norm, trained
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure

KINDS = ("centred", "uncentred")


@dataclass(frozen=True)
class Settings:
    """Dimensions, powers k of the scales 4^-k, draws, width."""

    dimensions: tuple[int, ...]
    powers: tuple[int, ...]
    seeds: tuple[int, ...]
    width: int = 200


def compute(settings: Settings, workbench: Workbench) -> Results:
    """Largest angle, nuclear and squared norm at the end: arrays over kind, dimension, draw and scale."""
    shape = (len(KINDS), len(settings.dimensions), len(settings.seeds), len(settings.powers))
    largest, nuclear, squared = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    total, done = shape[0] * shape[1] * shape[2], 0
    for i, kind in enumerate(KINDS):
        for j, d in enumerate(settings.dimensions):
            for k, seed in enumerate(settings.seeds):
                workbench.progress(done / total, f"{kind}, d = {d}, draw {seed}")

                def one(kind: str = kind, d: int = d, seed: int = seed) -> Results:
                    trial = draw(seed, d=d, width=settings.width, centred=kind == "centred")
                    ends = [trained(trial, -power * float(np.log(4.0))) for power in settings.powers]
                    return {
                        "largest": np.array([np.max(angles(end.w[trial.group]), initial=0.0) for end in ends]),
                        "nuclear": np.array([nuclear_norm(end) for end in ends]),
                        "squared": np.array([squared_norm(end) for end in ends]),
                    }

                found = workbench.piece(
                    f"{kind}-{d}-{seed}", one, settings=(kind, d, seed, settings.width, settings.powers)
                )
                largest[i, j, k], nuclear[i, j, k] = found["largest"], found["nuclear"]
                squared[i, j, k] = found["squared"]
                done += 1
    return {"largest": largest, "nuclear": nuclear, "squared": squared}


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """Slope 1 of the medians for small scales; rank one, squared norm 2."""
    medians = np.median(results["largest"], axis=2)  # (kinds, dimensions, scales)
    ratios = medians[:, :, -2] / medians[:, :, -1]
    step = settings.powers[-1] - settings.powers[-2]
    factors = ratios ** (1.0 / step)
    found = [
        Claim(
            f"{kind}: at the smallest scales the median falls by 4.00 per factor 4 of the scale",
            bool(np.all(np.abs(factors[i] - 4.0) < 0.04)),
            tuple(round(float(x), 4) for x in factors[i]),
            "3.96 to 4.04 in every dimension",
        )
        for i, kind in enumerate(KINDS)
    ]
    norms = np.median(results["nuclear"], axis=2)[:, :, -1]
    squares = np.median(results["squared"], axis=2)[:, :, -1]
    return (
        *found,
        Claim.below(
            "at the smallest scale the network has rank one: median nuclear norm of W, distance to 1",
            float(np.max(np.abs(norms - 1.0))),
            0.01,
        ),
        Claim.below(
            "and the squared norm of all weights is 2: median, distance to 2",
            float(np.max(np.abs(squares - 2.0))),
            0.01,
        ),
    )


def draw_panels(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """One panel per kind: medians and all draws against the scale."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.panels import Curve, Panel
    from reluflow.viz.saving import save_figure

    scales = 4.0 ** -np.array(settings.powers, dtype=float)
    parts: list[Part] = []
    for i, kind in enumerate(KINDS):
        curves = [
            Curve(scales, np.median(results["largest"][i, j], axis=0), f"d = {d}", look=j)
            for j, d in enumerate(settings.dimensions)
        ]
        parts.append(
            Curves(
                Panel(
                    f"({'ab'[i]}) {kind}, m = {settings.width}",
                    "scale $\\lambda$",
                    "largest angle in $J_+$ (degrees), median",
                    curves,
                    x_scale="log",
                    y_scale="log",
                    legend="upper left",
                )
            )
        )
    return (save_figure(plot_parts(parts, columns=2, part_size=(3.9, 3.0)), folder / "fig1.png"),)


FIGURE = PaperFigure(
    "chistikov2023/fig1",
    __doc__,
    Settings(dimensions=(4,), powers=(6, 8, 10), seeds=(0, 1, 2), width=20),
    Settings(dimensions=(4, 16), powers=(2, 4, 6, 8, 10, 12), seeds=(0, 1, 2, 3, 4)),
    compute,
    claims,
    draw_panels,
)
