r"""Figure 3: a convolutional network makes the images of two digits more and more orthogonally separable.

The paper trains six convolutions and two dense layers on MNIST 0 against 1 (Adam, batches of 128, 50 epochs, dense
weights times 0.05) and shows for the images themselves and for every layer $l$ up to the seventh the distribution of
$\langle f^l(x_i), f^l(x_j)\rangle$ over pairs of images: of different digits, of two 0s, of two 1s. Images of one
digit are more alike than images of different digits, more so in higher layers, and the features of layer 7 are
orthogonally separable.

The quick size has a quarter of the kernels and 320 images. $f^l$ is what layer $l$ gives before its activation. At
full size Figure 4 shows the same run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.phuong2021.figures.convolutional_run import (
    FULL,
    GROUPS,
    QUICK,
    ConvolutionalRun,
    ConvolutionalSettings,
    compute,
)

TOO_SMALL = "The share grows with training; the quick run is too short and too small to decide."
NOT_GIVEN = "The paper gives neither Adam's rate nor the law of the weights nor the pairs; these are the usual ones."
LAYER = 7  # the first dense layer, whose features the paper calls orthogonally separable


def separation(results: ConvolutionalRun) -> FloatArray:
    """By layer, how far the less alike digit's pairs lie above mixed pairs, in standard deviations of a pair."""
    means, deviations = results.products.means, results.products.deviations
    slack = np.minimum(means[:, 1], means[:, 2]) - means[:, 0]
    return np.asarray(slack / np.sqrt(np.mean(deviations**2, axis=1)))


def claims(settings: ConvolutionalSettings, results: ConvolutionalRun) -> tuple[Claim, ...]:
    """Separation, its growth with depth, and orthogonal separability of layer 7."""
    apart = separation(results)
    nonpositive = results.products.nonpositive[LAYER]  # shares of the pairs of different digits, two 0s, two 1s
    is_separable = bool(np.all(nonpositive == (1.0, 0.0, 0.0)))
    is_quick = settings.source != "full"
    return (
        Claim.above(
            f"the network fits the {results.num_images:,} images (accuracy)", results.accuracy, 0.99, source=OURS
        ),
        Claim.equal(
            "two images of either digit are more alike, on average, than images of different digits: layers in which "
            "both digits are, the images included",
            int(np.sum(apart > 0.0)),
            len(apart),
            finding=is_quick,
            why="A 1 has few pixels, so a 0 and a 1 can have the larger product in a layer that has not yet told them "
            "apart; the paper says 'generally'.",
            source="App. D: “generally more to the right”",
        ),
        Claim.above(
            "higher layers separate more strongly: layer 7 over the best layer below (separation in standard "
            "deviations of a pair)",
            apart[LAYER] / np.max(apart[:LAYER]),
            1.0,
            finding=is_quick,
            why="Layer 7 comes last: after 12 epochs on 2,000 images the full network is at 0.14, its layer 7 not yet "
            "telling two 1s from a mixed pair.",
            source="App. D: “generally more strongly separated”",
        ),
        Claim.above(
            "in layer 7 images of one digit have positive products (smaller share of the two digits)",
            np.min(1.0 - nonpositive[1:]),
            0.99,
            source="App. D",
        ),
        Claim(
            "layer 7 is orthogonally separable: products are positive within a digit and at most 0 between digits "
            "(shares of pairs)",
            None if is_quick and not is_separable else is_separable,
            (float(np.min(1.0 - nonpositive[1:])), float(nonpositive[0])),
            "(1, 1)",
            why=TOO_SMALL if is_quick else NOT_GIVEN,
            finding=not is_quick,
            source=OURS,
        ),
    )


def draw(settings: ConvolutionalSettings, results: ConvolutionalRun, folder: Path) -> tuple[Path, ...]:
    """One panel for the images and one for each of seven layers."""
    from reluflow.viz.composed_figure import plot_parts
    from reluflow.viz.saving import save_figure
    from reluflow.viz.similarity_histograms import SimilarityHistogram

    parts = []
    for layer, (edges, shares) in enumerate(zip(results.products.edges, results.products.densities, strict=True)):
        product = r"$\langle x_i, x_j\rangle$" if layer == 0 else rf"$\langle f^{layer}(x_i), f^{layer}(x_j)\rangle$"
        parts.append(
            SimilarityHistogram(
                "images" if layer == 0 else f"layer {layer}",
                product,
                edges,
                shares,
                GROUPS if layer == 0 else [""] * len(GROUPS),
                marks=(0.0,) if edges[0] < 0.0 else (),
            )
        )
    return (save_figure(plot_parts(parts, columns=4, part_size=(2.9, 2.5)), folder / "fig3.png"),)


FIGURE = PaperFigure("phuong2021/fig3", __doc__, QUICK, FULL, compute, claims, draw)
