"""The six pictures that Figures 5, 10 and 11 share, and the claims that hold for every pair of digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.digits_run import DigitsCourse, DigitsRun, Settings, compute

# Descent lags behind the flow by an amount that is of first order in the step; for steps of the paper's size.
COSINE_ALLOWANCE, LOSS_ALLOWANCE = 0.003, 0.01
NOT_FITTED = "The paper shows no accuracy for these digits; at its size their loss is 0.19 at the end, and still falls."


def first_below(course: DigitsCourse, share: float) -> float:
    """The iteration at which the loss is first below a share of what it was at the start; inf if never."""
    below = np.flatnonzero(course.losses < share * course.losses[0])
    return float(course.iterations[below[0]]) if len(below) else float("inf")


def shared_claims(settings: Settings, results: DigitsRun) -> tuple[Claim, ...]:
    """What Sec. 4 says of its digits and App. A.4 shows for others."""
    said = "Sec. 4" if settings.digits == (1, 0) else "App. A.4, its plots"
    course, flow, images = results.descent.course, results.flow, results.correlations
    cosines, ranks, norms = course.cosines, course.stable_ranks, course.squared_norms
    means = cosines[:, :, 0]
    drop = first_below(course, 0.99)
    beside = np.searchsorted(course.iterations, flow.iterations)  # the snapshots of the descent at those of the flow
    not_fitted = NOT_FITTED if settings.digits == (3, 8) else ""
    before = course.iterations < drop
    best = np.max(np.min(means[before], axis=1))
    return (
        Claim.below(
            "at the start every neuron is nearly orthogonal to $x_+$ and $x_-$ (largest |cosine|)",
            np.max(np.abs(cosines[0, :, 1:])),
            0.2,
            source=said,
        ),
        Claim.above(
            "before the loss falls the mean neurons are aligned with $x_+$ and $x_-$ (the smaller cosine at its best)",
            best,
            0.95,
            source=said,
        ),
        Claim.below(
            r"and their norm has not grown until then ($\|W\|_2^2$ when the loss has lost 1 %, over that at the "
            r"end)",
            norms[course.nearest(drop)] / norms[-1],
            0.05,
            source=said,
        ),
        Claim.below(
            "the stable rank decreases below 2 (largest once the loss falls)",
            np.max(ranks[~before], initial=ranks[-1]),
            2.0,
            source=said,
        ),
        Claim.below("and is almost 1 at the end, as $x_+ = -x_-$ for centred images", ranks[-1], 1.2, source=said),
        Claim.below(
            "once the loss falls the alignment drops (the smaller mean cosine at the end)",
            np.min(means[-1]),
            float(best) - 0.01,
            source=said,
        ),
        Claim(
            r"the centred images satisfy Assumption 1 nearly: most pairs have the sign it asks for, not all "
            r"(share, $\mu$)",
            images.right_signed > 0.5 and images.mu < 0.0,
            (images.right_signed, images.mu),
            "above 0.5, below 0",
            source=said,
        ),
        Claim.above(
            "the images are fitted in the end (share rightly classified)",
            results.descent.accuracy,
            0.95,
            finding=bool(not_fitted),
            why=not_fitted,
            source=OURS,
        ),
        Claim.below(
            "descent follows the exact flow from the same neurons (largest difference of a mean cosine)",
            np.max(np.abs(cosines[beside] - flow.cosines)[:, :, 0]),
            COSINE_ALLOWANCE * settings.stride,
            source=OURS,
        ),
        Claim.below(
            "and of the loss, which starts at 1 (largest difference)",
            np.max(np.abs(course.losses[beside] - flow.losses)),
            LOSS_ALLOWANCE * settings.stride,
            source=OURS,
        ),
    )


def draw_digits(settings: Settings, results: DigitsRun, path: Path) -> tuple[Path, ...]:
    """Heat map; alignment of V_+ and V_-; loss, norm and stable rank; mean neurons and mean images."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.heat_map import HeatMap
    from reluflow.viz.image_grid import ImageGrid
    from reluflow.viz.panels import BLACK_DOT, Curve, Guide, Panel
    from reluflow.viz.saving import save_figure

    course, flow = results.descent.course, results.flow

    def dots(values: FloatArray, label: str = "exact flow") -> Curve:
        return Curve(flow.iterations / 1000.0, values, label, look=BLACK_DOT, kind="points")

    iterations, gram = course.iterations / 1000.0, results.correlations.gram
    positive, negative = settings.digits
    first = results.correlations.num_first
    heat = HeatMap(
        r"data correlation $[\langle x_i, x_j\rangle]_{ij}$",
        gram,
        [(f"digit {positive}", first), (f"digit {negative}", len(gram) - first)],
    )
    images = ImageGrid(
        f"neuron and data centres, iteration {int(course.iterations[-1]):,}\n(middle grey is zero)",
        results.descent.images[[0, 2, 1, 3]],
        [r"$\bar w_+$", r"$\bar x_+$", r"$\bar w_-$", r"$\bar x_-$"],
    )
    alignment = [
        Panel(
            rf"alignment of neurons and $x_{sign}$ (digit {digit})",
            "iteration (thousands)",
            rf"$\cos(\cdot, x_{sign})$",
            [
                Curve(
                    iterations,
                    course.cosines[:, side, 0],
                    f"{mean}; band: all neurons",
                    look=look,
                    low=course.cosines[:, side, 1],
                    high=course.cosines[:, side, 2],
                ),
                dots(flow.cosines[:, side, 0], f"exact flow, {mean}"),
            ],
            y_limits=(-0.15, 1.05),
            legend="lower right",
        )
        for side, (sign, digit, look) in enumerate((("+", positive, 1), ("-", negative, 2)))
        for mean in (rf"$\cos(\bar w_{sign}, x_{sign})$",)
    ]
    growth = Panel(
        "loss and squared spectral norm",
        "iteration (thousands)",
        "",
        [
            Curve(iterations, course.losses, r"loss $\mathcal{L}$", look=0),
            Curve(iterations, course.squared_norms, r"$\|W\|_2^2$", look=4),
            dots(flow.losses),
            dots(flow.squared_norms),
        ],
        legend="upper left",
    )
    rank = Panel(
        "stable rank",
        "iteration (thousands)",
        r"$\|W\|_F^2/\|W\|_2^2$",
        [
            Curve(iterations, course.stable_ranks, r"$\|W\|_F^2/\|W\|_2^2$", look=0),
            dots(flow.stable_ranks),
        ],
        levels=[Guide(2.0, "2"), Guide(1.0, "1", look=2)],
        y_scale="log",
        y_limits=(0.9, 50.0),
        legend="upper right",
    )
    parts: list[Part] = [heat, Curves(alignment[0]), Curves(growth), images, Curves(alignment[1]), Curves(rank)]
    return (save_figure(plot_parts(parts, columns=3, part_size=(3.7, 3.0)), path),)


def appendix_figure(key: str, about: str | None, digits: tuple[int, int]) -> PaperFigure[Settings, DigitsRun]:
    """A figure of App. A.4: the plots of Figure 5 for other digits; the paper's text makes no numerical claim there."""

    def claims(settings: Settings, results: DigitsRun) -> tuple[Claim, ...]:
        longer = Claim.above(
            "all this takes longer than for digits 0 and 1, whose loss is down by a tenth at some 2900 (iteration)",
            first_below(results.descent.course, 0.9),
            3_600,
            source=OURS,
        )
        return (*shared_claims(settings, results), longer)

    def draw(settings: Settings, results: DigitsRun, folder: Path) -> tuple[Path, ...]:
        return draw_digits(settings, results, folder / f"{key.partition('/')[2]}.png")

    quick = Settings(digits, size=400, source="bundled", stride=10)
    return PaperFigure(key, about, quick, Settings(digits, size=None, source="full", stride=1), compute, claims, draw)
