r"""Figure 3: at the boundary of a sample the flow pushes a neuron the right way, under Assumption 1.

The paper's sketch for a neuron with positive output weight on the boundary $\langle x_i, w_j\rangle = 0$: since
$\langle x_i y_i, x_a(w_j)\rangle$ is positive, the flow pushes it into the half-space
$\langle x_i y_i, w_j\rangle > 0$, towards activation by $x_i$ if $y_i = +1$ (left) and away from it if $y_i = -1$
(right).

Here both boundaries are real ones of the four points of Figure 6 with the computed $x_a$ and velocity, and below stand
the speeds at boundaries drawn at random, for samples in $\mathbb{R}^5$ with and without Assumption 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.section_4 import on_circle, pull, separable_samples, smallest_correlation, turning
from reluflow.papers.workbench import Workbench

if TYPE_CHECKING:
    from reluflow.viz.vector_plane import Role, VectorPlane


DATASET = "min-toy"
ROUNDING = 1e-12  # the bound is attained: where one other sample is active
BINS = np.linspace(-1.0, 1.0, 41)
# Sample and boundary direction (degrees) of the two panels: a positive sample to be gained, a negative one to be lost.
PANELS = ((0, 90.0), (3, 60.0))


@dataclass(frozen=True)
class Settings:
    """The samples in R^d, and how many boundary points are drawn for each."""

    points: int
    n: int = 8
    d: int = 5
    spread: float = 0.5
    seed: int = 0


@dataclass(frozen=True, eq=False)
class InwardSpeeds:
    """Speeds inwards over $|x_a|$ at boundaries of one set of samples, and its mu."""

    values: FloatArray
    mu: float


@dataclass(frozen=True, eq=False)
class BoundarySpeeds:
    """At all boundaries of the plane's points, and at random ones in R^d with and without Assumption 1."""

    plane: InwardSpeeds
    separable: InwardSpeeds
    mixed: InwardSpeeds


def compute(settings: Settings, workbench: Workbench) -> BoundarySpeeds:
    """Speeds at all boundaries of the plane's points, and at random ones in R^d with and without Assumption 1."""
    toy = load(DATASET)
    separable = separable_samples(settings.seed, n=settings.n, d=settings.d, spread=settings.spread)
    rng = np.random.default_rng(settings.seed)
    mixed = separable.replace(y=rng.permutation(separable.y))
    edges = [boundary_cosines(toy, sample, turned) for sample in range(toy.n) for turned in _both_sides(toy, sample)]
    with_it, without = (
        np.concatenate([boundary_cosines(data, k, _on_boundary(data, k, settings, rng)) for k in range(data.n)])
        for data in (separable, mixed)
    )
    return BoundarySpeeds(
        plane=InwardSpeeds(np.concatenate(edges), smallest_correlation(toy)),
        separable=InwardSpeeds(with_it, smallest_correlation(separable)),
        mixed=InwardSpeeds(without, smallest_correlation(mixed)),
    )


def boundary_cosines(data: Dataset, sample: int, w: FloatArray) -> FloatArray:
    """d/dt <w/|w|, y_i x_i/|x_i|> over |x_a(w)| at points with <w, x_i> = 0, dead ones left out, by Eq. (4).

    At the boundary this is the cosine of x_a(w) and y_i x_i, which Lemma 5 bounds by mu from below.
    """
    # Rounding puts a point on either side of its own boundary; the sample itself is inactive there, sigma'(0) = 0.
    others = data.subset(np.delete(np.arange(data.n), sample))
    is_alive = np.any(w @ others.X.T > 0.0, axis=1)
    alive = w[is_alive]
    towards = data.y[sample] * data.X[sample] / np.linalg.norm(data.X[sample])
    return np.asarray(turning(alive, others) @ towards / np.linalg.norm(pull(alive, others), axis=1))


def _both_sides(data: Dataset, sample: int) -> list[FloatArray]:
    turned = np.array([-data.X[sample, 1], data.X[sample, 0]])
    return [turned[None], -turned[None]]


def _on_boundary(data: Dataset, sample: int, settings: Settings, rng: np.random.Generator) -> FloatArray:
    normal = data.X[sample] / np.linalg.norm(data.X[sample])
    w = rng.standard_normal((settings.points, data.d))
    return np.asarray(w - np.outer(w @ normal, normal))


def claims(settings: Settings, results: BoundarySpeeds) -> tuple[Claim, ...]:
    """(7) and (8), and that Assumption 1 is what makes them hold."""
    mu = results.separable.mu
    count = len(results.separable.values)
    return (
        Claim.above(
            r"at every boundary of the four points a living positive neuron is pushed inwards, at a speed of at "
            r"least $\mu|x_a|$ (smallest speed over $|x_a|$)",
            np.min(results.plane.values),
            results.plane.mu,
            source="Fig. 3, caption; Eq. (7)",
        ),
        Claim.above(
            f"and so at {count:,} random boundary points in dimension {settings.d} (smallest speed over $|x_a|$)",
            np.min(results.separable.values),
            mu - ROUNDING,
            source="Eq. (7)",
        ),
        Claim.below(
            "(8) a negative neuron moves the other way (largest speed over $|x_a|$)",
            -np.min(results.separable.values),
            ROUNDING - mu,
            source="Eq. (8)",
        ),
        Claim.below(
            rf"without Assumption 1 (labels permuted, $\mu$ = {results.mixed.mu:.2f}) some boundaries push outwards "
            rf"(smallest speed over $|x_a|$)",
            np.min(results.mixed.values),
            -0.01,
            source=OURS,
        ),
    )


def draw(settings: Settings, results: BoundarySpeeds, folder: Path) -> tuple[Path, ...]:
    """The two sketches with computed vectors, and two histograms."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.panels import Curve, Guide, Panel
    from reluflow.viz.saving import save_figure

    parts: list[Part] = [_sketch(*panel) for panel in PANELS]
    middles = 0.5 * (BINS[1:] + BINS[:-1])
    for speeds, words, look in (
        (results.separable, "with Assumption 1", 2),
        (results.mixed, "labels permuted", 1),
    ):
        share = np.histogram(speeds.values, BINS)[0] / len(speeds.values)
        panel = Panel(
            f"random boundaries in $R^{settings.d}$, {words}",
            r"speed inwards over $\|x_a\|$",
            "share of boundary points",
            [Curve(middles, share, "", look=look, kind="bars")],
            levels=[
                Guide(0.0, is_vertical=True),
                Guide(speeds.mu, rf"$\mu={speeds.mu:.3f}$", is_vertical=True, look=7),
            ],
            legend="upper left" if speeds is results.separable else "upper right",
        )
        parts.append(Curves(panel))
    return (save_figure(plot_parts(parts, columns=2, part_size=(4.0, 3.7)), folder / "fig3.png"),)


def _sketch(sample: int, degrees: float) -> VectorPlane:
    """One boundary of the four points: the sample, the neuron on it, x_a without that sample, and the velocity."""
    from reluflow.viz.vector_plane import Arrow, VectorPlane

    toy = load(DATASET)
    w = on_circle(np.array([degrees]))
    others = toy.subset(np.delete(np.arange(toy.n), sample))
    x_a, velocity = pull(w, others)[0], turning(w, others)[0]
    x, sign = toy.X[sample], toy.y[sample]
    side: Role = "positive" if sign > 0 else "negative"
    words = "gains $x_i$, $y_i=+1$" if sign > 0 else "loses $x_i$, $y_i=-1$"
    return VectorPlane(
        f"positive neuron {words}\n(arrow at $w_j$: where the flow turns it)",
        3.2,
        [
            Arrow(x, "$x_i$", side),
            Arrow(1.5 * w[0], "$w_j$", "neuron"),
            Arrow(x_a, "$x_a(w_j)$", "pull"),
            Arrow(1.5 * w[0] + 0.45 * velocity, "", "velocity", start=1.5 * w[0]),
        ],
        half_planes=[sign * x],
        lines=[(r"$S^\perp_{x_i}$", w[0]), (r"$S^\perp_{w_j}$", [-w[0][1], w[0][0]])],
    )


FIGURE = PaperFigure("min2024/fig3", __doc__, Settings(points=1_000), Settings(points=100_000), compute, claims, draw)
