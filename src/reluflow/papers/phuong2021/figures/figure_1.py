r"""Figure 1: on orthogonally separable data the first layer becomes two rays, near the max-margin directions.

The paper trains a two-layer network of 100 neurons on 500 points of two opposite orthants of $\mathbb{R}^{20}$ by
stochastic gradient descent (batches of 50, rate 0.1, 500 epochs, logistic loss, weights times 0.05 at the start) and
shows (a) the ten largest singular values of the first layer $W$, (b) its rows in the plane of the two largest, by the
sign of their output weight, and (c) the cosine of every neuron with the max-margin direction of its sign, $w_+$ or
$w_-$.

Panel (d) is ours: descent on batches, descent on all samples and the exact gradient flow from the same neurons on the
same samples, with the distance of the two descents from the flow. The quick size takes the first 60 samples and 20
neurons for it, the full size all of them: some twelve thousand crossings of activation boundaries, minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.phuong2021.figures.two_layer_run import Settings, TwoLayerRun, compute
from reluflow.papers.phuong2021.figures.weights import BINS, DIMENSION


def claims(settings: Settings, results: TwoLayerRun) -> tuple[Claim, ...]:
    """Rank two, two rays, near the max-margin directions; what the theorem assumes; and how near the flow is."""
    values = np.array([seed.singular_values for seed in results.seeds])
    start_norms = np.array([seed.start_norm for seed in results.seeds])
    seeds = f"{len(settings.seeds)} seeds"
    batched, full = results.flow.distances[:, -1]
    return (
        Claim.above(
            f"the first layer has rank two: second over third singular value (smallest of {seeds})",
            np.min(values[:, 1] / values[:, 2]),
            3.0,
            source="Sec. 5.1: “rank only two”",
        ),
        Claim.below(
            f"all singular values but two are effectively zero: the third over the first (largest of {seeds})",
            np.max(values[:, 2] / values[:, 0]),
            0.05,
            why="The third is what the start left there, about 0.09, and stays there (erratum P14).",
            source="Sec. 5.1: “effectively zero”",
        ),
        Claim.below(
            "training adds no third direction: the third singular value over the largest before training",
            np.max(values[:, 2] / start_norms),
            1.05,
            source=OURS,
        ),
        Claim.above(
            f"most neurons have correlation above 0.9 with their max-margin direction (smallest share of {seeds})",
            min(seed.share_close for seed in results.seeds),
            0.5,
            source="Sec. 5.1: “above 0.9 for most neurons”",
        ),
        Claim.above(
            "neurons are active on all of their own class and on no other sample (smallest share)",
            min(seed.share_in_cones for seed in results.seeds),
            0.9,
            source=OURS,
        ),
        Claim.above(
            "every sample is rightly classified (smallest accuracy)",
            min(seed.accuracy for seed in results.seeds),
            1.0,
            source=OURS,
        ),
        Claim.above(
            r"the support samples of each class span $\mathbb{R}^{20}$, as Theorem 1 asks (smallest dimension of "
            r"the span)",
            min(min(seed.ranks) for seed in results.seeds),
            DIMENSION,
            finding=True,
            why="The paper's own data break the span assumption (erratum P13); the picture comes out all the same.",
            source="Sec. 5.1: “exactly as predicted by the theorem”",
        ),
        Claim.below(
            "descent on batches follows descent on all samples at the paper's size (relative distance of $W$ at "
            "the end)",
            results.batch_distance,
            0.02,
            source=OURS,
        ),
        Claim.below(
            "descent on all samples follows the exact flow from the same neurons (relative distance of $W$ at the end)",
            full,
            0.02,
            source=OURS,
        ),
        Claim.below(
            "descent on batches follows the exact flow from the same neurons (relative distance of $W$ at the end)",
            batched,
            0.1,
            source=OURS,
        ),
    )


def draw(settings: Settings, results: TwoLayerRun, folder: Path) -> tuple[Path, ...]:
    """Panels (a) to (c) of the paper for the first seed, and the flow."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.directions_plane import DirectionsPlane
    from reluflow.viz.panels import Curve, Panel
    from reluflow.viz.saving import save_figure
    from reluflow.viz.similarity_histograms import SimilarityHistogram
    from reluflow.viz.singular_values import SingularValues

    first, beside = results.seeds[0], results.flow
    ends = first.plane_directions
    far = 100.0 * beside.distances[:, -1]
    flow = Panel(
        f"(d) descent and exact flow, n = {settings.flow_samples}, m = {settings.flow_width}",
        "time $t$ = rate × iteration",
        "loss",
        [
            Curve(beside.times, beside.losses[0], f"batches, W {far[0]:.1f} % off", look=1),
            Curve(beside.times, beside.losses[1], f"all samples, W {far[1]:.1f} % off", look=2),
            Curve(beside.times, beside.losses[2], "exact flow", look=0, kind="points"),
        ],
        x_scale="log",
        y_scale="log",
        legend="lower left",
    )
    parts: list[Part] = [
        SingularValues("(a) first layer $W$", first.singular_values, first.start_norm),
        DirectionsPlane("(b) neurons $w_j$", first.plane, first.signs, [("$w_+$", ends[0]), ("$w_-$", ends[1])]),
        SimilarityHistogram(
            "(c) correlation with max-margin",
            "cosine of $w_j$ with $w_+$ ($a_j>0$) or $w_-$ ($a_j<0$)",
            BINS,
            first.histogram,
            ("$a_j < 0$", "$a_j > 0$"),
            marks=(0.9,),
            mark_label="cosine 0.9",
            y_label="neurons",
        ),
        Curves(flow),
    ]
    return (save_figure(plot_parts(parts, columns=2, part_size=(3.9, 3.0)), folder / "fig1.png"),)


FIGURE = PaperFigure(
    "phuong2021/fig1",
    __doc__,
    Settings(seeds=(0, 1, 2), flow_samples=60, flow_width=20),
    Settings(seeds=tuple(range(10)), flow_samples=500, flow_width=100),
    compute,
    claims,
    draw,
)
