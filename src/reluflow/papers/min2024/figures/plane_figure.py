"""The picture that Figures 6 to 9 share: neurons among the samples at three moments, and the loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.network import Network
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.min2024.figures.plane_run import PlaneRuns, Settings
from reluflow.papers.min2024.figures.section_4 import cone_sectors, cones_of_network


def flow_claims(settings: Settings, results: PlaneRuns) -> tuple[Claim, ...]:
    """How far descent at the paper's step size is from the flow it stands for."""
    seeds = f"{len(settings.seeds)} seeds"
    return (
        Claim.below(
            f"descent at step {settings.lr:g} follows the exact flow from the same neurons (largest difference of the "
            f"loss of {seeds}, % of that at the start)",
            100.0 * np.max([seed.loss_gap for seed in results.seeds]),
            1.0,
            source=OURS,
        ),
        Claim.below(
            f"and lags behind it (by how much later it halves the loss, largest of {seeds}, %)",
            100.0 * np.max([seed.lag for seed in results.seeds]),
            0.2,
            source=OURS,
        ),
    )


def every_start_claim(settings: Settings, num_outside: list[int]) -> Claim:
    """Whether what is seen in one run is so for every seed."""
    count = len(settings.seeds)
    return Claim.equal(
        f"and so from every start (of {count} seeds, those with some elsewhere; at most {max(num_outside)})",
        sum(outside > 0 for outside in num_outside),
        0,
        finding=True,
        why="A neuron whose output weight changes sign first, as only an unbalanced start allows, aligns later.",
        source=OURS,
    )


def _outside(w: FloatArray, a: FloatArray, data: Dataset) -> BoolArray:
    return cones_of_network(Network(w, a), data).is_outside


def draw_plane(settings: Settings, results: PlaneRuns, path: Path) -> tuple[Path, ...]:
    """Three moments of the first seed and the loss of descent and flow."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.panels import Curve, Guide, Panel
    from reluflow.viz.saving import save_figure
    from reluflow.viz.vector_plane import Sector, VectorPlane, samples_as_arrows

    data, first = load(settings.dataset), results.first
    sectors = [Sector(*sector) for sector in cone_sectors(data)]
    reach = 1.12 * max(
        1.35 * float(np.max(np.linalg.norm(data.X, axis=1))),
        float(np.max(np.abs(first.moment_w))),
    )
    parts: list[Part] = []
    for number, (moment, w, a, exact) in enumerate(
        zip(settings.moments, first.moment_w, first.moment_a, first.flow_moment_w, strict=True)
    ):
        place = int(np.argmin(np.abs(first.iterations - moment)))
        parts.append(
            VectorPlane(
                f"({chr(97 + number)}) iteration {moment:,}, loss {first.losses[place]:.3g}",
                reach,
                samples_as_arrows(data.X, data.y),
                sectors,
                rays=w,
                ray_signs=a,
                ray_marks=_outside(w, a, data) if number else (),
                mark_name="neither dead nor in the cone of its sign",
                dots=[
                    ("exact flow", exact, "plain"),
                    ("neurons, $a_j>0$", w[a > 0], "positive"),
                    ("neurons, $a_j<0$", w[a < 0], "negative"),
                ],
                note=f"neurons neither dead nor in the cone of their sign: {int(results.seeds[0].num_outside[number])}",
            )
        )
    after = first.iterations > 0
    loss = Panel(
        "loss",
        "iteration",
        r"$\mathcal{L}$",
        [
            Curve(first.iterations[after], first.losses[after], f"descent, step {settings.lr:g}", look=0),
            Curve(
                first.iterations[after][::12],
                first.flow_losses[after][::12],
                "exact flow",
                look=1,
                kind="points",
            ),
        ],
        levels=[Guide(float(moment), "moment of panel (b)", is_vertical=True) for moment in settings.moments[1:-1]],
        legend="upper right",
    )
    parts.append(Curves(loss))
    return (save_figure(plot_parts(parts, columns=2, part_size=(4.1, 4.0)), path),)
