"""Figure 2: a four-layer residual network learns rank-two layers, each with two directions of neurons.

The paper trains $f^1 = W_1 x$, $f^l = f^{l-1} + W_l s(f^{l-1})$, $f = W_4 s(f^3)$ of width 100 on the data and with
the training of Figure 1, and shows (a to c) the ten largest singular values of $W_1$, $W_2$, $W_3$, (d to f)
their rows in the plane of the two largest, and (g) for the rows of $W_1$ the larger of the cosines with $w_+$ and
$w_-$. All three layers have rank two and their rows lie in two directions; those of $W_1$ are near the max-margin
directions, which the paper conjectures. For $W_2$ and $W_3$ the dashed rays are the two directions that fit the rows
best.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.phuong2021.figures.residual_run import LAYERS, ResidualRun, Settings, compute
from reluflow.papers.phuong2021.figures.weights import BINS


def claims(settings: Settings, results: ResidualRun) -> tuple[Claim, ...]:
    """Rank two, two directions, and the conjecture about the first layer."""
    values = np.array([[layer.singular_values for layer in seed.layers] for seed in results.seeds])
    ratios = np.min(values[:, :, 1] / values[:, :, 2], axis=0)
    gathered = np.min([[layer.gathered for layer in seed.layers] for seed in results.seeds], axis=0)
    return (
        Claim.above(
            "$W_1$ has rank two: second over third singular value", ratios[0], 2.0, source="Sec. 5.2: “all rank two”"
        ),
        Claim.above(
            "$W_2$ has rank two: second over third singular value", ratios[1], 7.0, source="Sec. 5.2: “all rank two”"
        ),
        Claim.above(
            "$W_3$ has rank two: second over third singular value", ratios[2], 7.0, source="Sec. 5.2: “all rank two”"
        ),
        Claim(
            "the rows of $W_1$, $W_2$, $W_3$ lie in two directions (cosine with the nearer one, weighted by "
            "squared length)",
            bool(np.all(gathered > 0.9)),
            tuple(round(float(value), 4) for value in gathered),
            "at least 0.9 each",
            source="Sec. 5.2: “align in two main directions”",
        ),
        Claim.above(
            "the rows of $W_1$ are near the max-margin directions (median of the larger cosine)",
            min(seed.median for seed in results.seeds),
            0.85,
            source="Sec. 5.2, conjecture",
        ),
        Claim.above(
            "every sample is rightly classified (smallest accuracy)",
            min(seed.accuracy for seed in results.seeds),
            1.0,
            source=OURS,
        ),
    )


def draw(settings: Settings, results: ResidualRun, folder: Path) -> tuple[Path, ...]:
    """Panels (a) to (g) for the first seed."""
    from reluflow.viz.composed_figure import Part, plot_parts
    from reluflow.viz.directions_plane import DirectionsPlane
    from reluflow.viz.saving import save_figure
    from reluflow.viz.similarity_histograms import SimilarityHistogram
    from reluflow.viz.singular_values import SingularValues

    first = results.seeds[0]
    parts: list[Part] = [
        SingularValues(f"({letter}) $W_{number}$", layer.singular_values, layer.start_norm)
        for letter, number, layer in zip("abc", LAYERS, first.layers, strict=True)
    ]
    for letter, number, layer in zip("def", LAYERS, first.layers, strict=True):
        names = ("$w_+$", "$w_-$") if number == 1 else ("direction 1", "direction 2")
        rays = list(zip(names, layer.directions, strict=True))
        parts.append(DirectionsPlane(f"({letter}) rows of $W_{number}$", layer.plane, directions=rays))
    parts.append(
        SimilarityHistogram(
            "(g) rows of $W_1$",
            "larger cosine with $w_+$, $w_-$",
            BINS,
            first.histogram[None],
            ("",),
            marks=(0.9,),
            mark_label="cosine 0.9",
            y_label="neurons",
        )
    )
    return (save_figure(plot_parts(parts, columns=3, part_size=(2.9, 2.6)), folder / "fig2.png"),)


FIGURE = PaperFigure(
    "phuong2021/fig2", __doc__, Settings(seeds=(0,)), Settings(seeds=(0, 1, 2, 3, 4)), compute, claims, draw
)
