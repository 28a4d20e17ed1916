"""Figure 1: on orthogonally separable data the first layer becomes two rays, near the max-margin directions.

The paper trains a two-layer network of 100 neurons on 500 points of two opposite orthants of R^20 by stochastic
gradient descent (batches of 50, rate 0.1, 500 epochs, logistic loss, weights times 0.05 at the start) and shows (a) the
ten largest singular values of the first layer W, (b) its rows in the plane of the two largest, by the sign of their
output weight, and (c) the cosine of every neuron with the max-margin direction of its sign, w_+ or w_-.

Panel (d) is ours: descent on batches, descent on all samples and the exact gradient flow from the same neurons on the
same samples, with the distance of the two descents from the flow. The quick size takes the first 60 samples and 20
neurons for it, the full size all of them: some twelve thousand crossings of activation boundaries, minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.experiments.store import Results
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.phuong2021.figures.two_layer_run import Settings, compute
from reluflow.papers.phuong2021.figures.weights import BINS, DIMENSION


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """Rank two, two rays, near the max-margin directions; what the theorem assumes; and how near the flow is."""
    values = results["singular_values"]
    seeds = f"{len(settings.seeds)} seeds"
    batched, full = results["flow_distances"][:, -1]
    return (
        Claim.above(
            f"the first layer has rank two: second over third singular value (smallest of {seeds})",
            np.min(values[:, 1] / values[:, 2]),
            3.0,
        ),
        Claim.below(
            f"all singular values but two are effectively zero: the third over the first (largest of {seeds})",
            np.max(values[:, 2] / values[:, 0]),
            0.05,
            why="The third is what the start left there, about 0.09, and stays there (erratum P14).",
        ),
        Claim.below(
            "training adds no third direction: the third singular value over the largest before training",
            np.max(values[:, 2] / results["start_norm"]),
            1.05,
        ),
        Claim.above(
            f"most neurons have correlation above 0.9 with their max-margin direction (smallest share of {seeds})",
            np.min(results["share_close"]),
            0.5,
        ),
        Claim.above(
            "neurons are active on all of their own class and on no other sample (smallest share)",
            np.min(results["share_in_cones"]),
            0.9,
        ),
        Claim.above("every sample is rightly classified (smallest accuracy)", np.min(results["accuracy"]), 1.0),
        Claim.above(
            "the support samples of each class span R^20, as Theorem 1 asks (smallest dimension of the span)",
            np.min(results["ranks"]),
            DIMENSION,
            finding=True,
            why="The paper's own data break the span assumption (erratum P13); the picture comes out all the same.",
        ),
        Claim.below(
            "descent on batches follows descent on all samples at the paper's size (relative distance of W at the end)",
            results["batch_distance"],
            0.02,
            ours=True,
        ),
        Claim.below(
            "descent on all samples follows the exact flow from the same neurons (relative distance of W at the end)",
            full,
            0.02,
            ours=True,
        ),
        Claim.below(
            "descent on batches follows the exact flow from the same neurons (relative distance of W at the end)",
            batched,
            0.1,
            ours=True,
        ),
    )


def draw(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """Panels (a) to (c) of the paper for the first seed, and the flow."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.directions_plane import DirectionsPlane
    from reluflow.viz.panels import Curve, Panel
    from reluflow.viz.saving import save_figure
    from reluflow.viz.similarity_histograms import SimilarityHistogram
    from reluflow.viz.singular_values import SingularValues

    ends = results["plane_directions"]
    far = 100.0 * results["flow_distances"][:, -1]
    flow = Panel(
        f"(d) descent and exact flow, n = {settings.flow_samples}, m = {settings.flow_width}",
        "time $t$ = rate × iteration",
        "loss",
        [
            Curve(results["flow_times"], results["flow_losses"][0], f"batches, W {far[0]:.1f} % off", look=1),
            Curve(results["flow_times"], results["flow_losses"][1], f"all samples, W {far[1]:.1f} % off", look=2),
            Curve(results["flow_times"], results["flow_losses"][2], "exact flow", look=0, kind="points"),
        ],
        x_scale="log",
        y_scale="log",
        legend="lower left",
    )
    parts: list[Part] = [
        SingularValues("(a) first layer $W$", results["singular_values"][0], float(results["start_norm"][0])),
        DirectionsPlane(
            "(b) neurons $w_j$", results["plane"], results["signs"], [("$w_+$", ends[0]), ("$w_-$", ends[1])]
        ),
        SimilarityHistogram(
            "(c) correlation with max-margin",
            "cosine of $w_j$ with $w_+$ ($a_j>0$) or $w_-$ ($a_j<0$)",
            BINS,
            results["histogram"],
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
