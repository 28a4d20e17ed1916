"""Figure 3: bounds on the magnitude rebuilt four times, each inside the one before.

For one neuron with one layer (rate 6e-4, 30,000 steps) and with two (rate 1e-4, 2,000 steps) the paper draws $|w(T)|$
with the bounds of Theorem A.1 and Theorem A.3 from four points of the run: the start and steps 2,500, 5,000, 7,500, or
120, 250, 500. The bounds improve as training goes on; from each point the lower one is the better one first and the
upper one later.

The size of the start is not given: here it has the teacher's scale, which shows both phases. The brown marks are the
exact gradient flow on infinitely many samples. Where the magnitude turns, which the paper leaves open, is the vertical
line: for the flow it has a closed form. The quick size has 4,000 samples in dimension 40, and for one layer ten times
the rate and a tenth of the steps.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.lee2022.figures.bands import (
    FLOW_ALLOWANCE,
    FLOW_NAME,
    LOOK_DESCENT,
    LOOK_FLOW,
    LOOK_LOWER,
    LOOK_RESTART,
    LOOK_UPPER,
    ROUNDING,
    SAMPLE_NOISE,
    STRICT_INEQUALITY,
    dotted_rows,
    goes_from_lower_to_upper,
    magnitude_allowance,
    magnitude_band_from,
    widest_breach,
)
from reluflow.papers.lee2022.figures.neuron_curves import NeuronCurves
from reluflow.papers.lee2022.figures.published_settings import DEPTHS, SIZES, START_FACTORS
from reluflow.papers.lee2022.figures.restarts_run import FULL, QUICK, OneDepth, Restarts, Settings, compute
from reluflow.papers.lee2022.single_neuron import (
    BalancedNeuron,
    Band,
    TurningPoint,
    balanced_flow,
    one_layer_turning_point,
    rebuilt_magnitude_band,
    turning_point,
)


def rows_of(settings: Settings, depth: OneDepth) -> list[int]:
    """The recorded rows of the restarts."""
    return [int(row) for row in np.searchsorted(depth.steps, settings.restarts[depth.layers])]


def bands_of(settings: Settings, depth: OneDepth, curves: NeuronCurves) -> list[Band]:
    """The bounds from every restart on the rows from there on, for one of the three curves of a depth."""
    return [
        magnitude_band_from(
            row,
            depth.steps,
            curves,
            q=depth.layers,
            rate=settings.rates[depth.layers],
            teacher_norm=depth.teacher_norm,
        )
        for row in rows_of(settings, depth)
    ]


def start_of(depth: OneDepth, factor: float = 1.0) -> BalancedNeuron:
    """Where the run begins, or a start in the same direction that many times as long."""
    return BalancedNeuron(
        depth.layers,
        factor * float(depth.sampled.magnitude[0]),
        gap=float(depth.sampled.gap[0]),
        teacher_magnitude=depth.teacher_norm,
    )


def turn_of(depth: OneDepth) -> TurningPoint | None:
    """Where the flow's magnitude is smallest: in closed form with one layer, by quadrature with two."""
    start = start_of(depth)
    return one_layer_turning_point(start) if depth.layers == 0 else turning_point(start)


def smallest_slack(settings: Settings, depth: OneDepth, curves: NeuronCurves) -> float:
    """Smallest distance of |w| to the nearer bound over |w*|, after each restart."""
    pairs = zip(rows_of(settings, depth), bands_of(settings, depth, curves), strict=True)
    return min(float(np.min(band.slack(curves.magnitude[row:])[1:])) / depth.teacher_norm for row, band in pairs)


def nesting_breach(bands: list[Band], rows: list[int]) -> float:
    """How far a later band reaches out of an earlier one, over all pairs; at most 0 when they are nested."""
    cut = [
        (Band(outer.lower[late - early :], outer.upper[late - early :]), inner)
        for place, (early, outer) in enumerate(zip(rows, bands, strict=True))
        for late, inner in list(zip(rows, bands, strict=True))[place + 1 :]
    ]
    return max(widest_breach(outer, inner) for outer, inner in cut)


def claims(settings: Settings, results: Restarts) -> tuple[Claim, ...]:
    """The bounds, that they are nested, which side is the closer one, and the turning point."""
    return (*_bounds(settings, results), *_shape(settings, results), *_flow(settings, results))


def _bounds(settings: Settings, results: Restarts) -> tuple[Claim, ...]:
    breach, flow_breach, flow_slack = [], [], []
    for depth in results.depths:
        norm, rows = depth.teacher_norm, rows_of(settings, depth)
        breach.append(nesting_breach(bands_of(settings, depth, depth.sampled), rows) / norm)
        for factor in START_FACTORS:
            flow = balanced_flow(start_of(depth, factor), settings.rates[depth.layers] * depth.steps)
            bands = [rebuilt_magnitude_band(flow, row) for row in rows]
            flow_breach.append(nesting_breach(bands, rows) / norm)
            for row, band in zip(rows, bands, strict=True):
                flow_slack.append(float(np.min(band.slack(flow.magnitude[row:]))) / norm)
    one_layer, two_layers = (smallest_slack(settings, depth, depth.population) for depth in results.depths)
    sizes = ", ".join(SIZES)
    return (
        Claim.above(
            f"all eight pairs of bounds hold, $n$ = {settings.n:,} (smallest slack over $|w^*|$)",
            min(smallest_slack(settings, depth, depth.sampled) for depth in results.depths),
            -magnitude_allowance(settings.n),
            why=SAMPLE_NOISE,
            source="Fig. 3, caption",
        ),
        Claim.below(
            "they improve as training goes on: later ones lie inside earlier ones (largest breach over $|w^*|$)",
            max(breach),
            magnitude_allowance(settings.n),
            source="App. D.1: “improved as training progresses”",
        ),
        Claim.above(
            f"along the exact flow they hold from {sizes} starts (smallest slack over $|w^*|$)",
            min(flow_slack),
            -FLOW_ALLOWANCE,
            source=OURS,
        ),
        Claim.below(
            f"and are nested from {sizes} starts (largest breach over $|w^*|$)",
            max(flow_breach),
            FLOW_ALLOWANCE,
            source=OURS,
        ),
        Claim.above(
            "Theorem A.1 holds for descent at this step size on infinitely many samples (smallest slack over "
            "$|w^*|$, one layer)",
            one_layer,
            -ROUNDING,
            source=OURS,
        ),
        Claim.above(
            "so does Theorem A.3, as a strict inequality (smallest slack over $|w^*|$, two layers)",
            two_layers,
            -ROUNDING,
            finding=True,
            why=STRICT_INEQUALITY,
            source="Theorem A.3",
        ),
    )


def _shape(settings: Settings, results: Restarts) -> tuple[Claim, ...]:
    changes, flow_changes, convex, curves = 0, 0, 0, 0
    for depth in results.depths:
        rows, grid = rows_of(settings, depth), np.linspace(0, settings.steps[depth.layers], 201).astype(int)
        for row, band in zip(rows, bands_of(settings, depth, depth.sampled), strict=True):
            changes += goes_from_lower_to_upper(depth.sampled.magnitude[row:], band)
            even = np.isin(depth.steps[row:], grid)
            for curve in (band.lower[even], band.upper[even]):
                curves += 1
                convex += bool(np.all(np.diff(curve, 2) >= -1e-12 * curve[0]))
        for row, band in zip(rows, bands_of(settings, depth, depth.flow), strict=True):
            flow_changes += goes_from_lower_to_upper(depth.flow.magnitude[row:], band)
    return (
        Claim.equal(
            "from each restart the lower bound is the closer one first and the upper one later (restarts of eight)",
            changes,
            8,
            source="App. D.1: “for each initialization point”",
        ),
        Claim.equal("and so along the exact flow (restarts of eight)", flow_changes, 8, source=OURS),
        Claim.equal(
            "all bounds are convex functions, App. D.1 (convex ones of the curves drawn)",
            convex,
            curves,
            finding=True,
            why=r"A bound that begins below its limit is concave with one layer, and with two layers turns concave "
            r"at $\sqrt{(1 - \varepsilon)/3} |w^*|$ (erratum E10).",
            source="App. D.1: “convex functions”",
        ),
    )


def _flow(settings: Settings, results: Restarts) -> tuple[Claim, ...]:
    scale = float(np.sqrt(settings.d / settings.n))
    judged = []
    for depth in results.depths:
        q, norm, turn = depth.layers, depth.teacher_norm, turn_of(depth)
        values, flow = depth.sampled.magnitude, depth.flow.magnitude
        judged.append(
            Claim.near(
                f"{DEPTHS[q]}: the magnitude turns where the flow's does, the open question of App. D.1 (smallest "
                f"$|w|$ over $|w^*|$, at step {depth.steps[np.argmin(values)]:,}; flow: step "
                f"{(turn.time / settings.rates[q] if turn else np.nan):,.0f})",
                float(np.min(values)) / norm,
                turn.neuron.magnitude / norm if turn else np.nan,
                atol=0.5 * scale,
                source=OURS,
            )
        )
        judged.append(
            Claim.below(
                f"{DEPTHS[q]}: descent at this step size follows the exact flow on infinitely many samples "
                f"(largest difference of $|w|$, % of $|w^*|$)",
                100.0 * float(np.max(np.abs(depth.population.magnitude - flow))) / norm,
                20.0 * settings.rates[q] * max(norm, float(values[0])) ** (2 * q),
                source=OURS,
            )
        )
        judged.append(
            Claim.below(
                rf"{DEPTHS[q]}: and on $n$ = {settings.n:,} samples, for which $\sqrt{{d/n}}$ = {scale:.2g} "
                rf"(largest difference of $|w|$ over $|w^*|$)",
                float(np.max(np.abs(values - flow))) / norm,
                scale,
                source=OURS,
            )
        )
    return tuple(judged)


def draw(settings: Settings, results: Restarts, folder: Path) -> tuple[Path, ...]:
    """One panel per depth."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    panels = []
    for depth in results.depths:
        q, steps, rows, values = depth.layers, depth.steps, rows_of(settings, depth), depth.sampled.magnitude
        dots, turn = dotted_rows(steps, 24), turn_of(depth)
        curves = [Curve(steps, values, "descent", look=LOOK_DESCENT)]
        for row, band in zip(rows, bands_of(settings, depth, depth.sampled), strict=True):
            curves.append(Curve(steps[row:], band.lower, "lower bounds", look=LOOK_LOWER))
            curves.append(Curve(steps[row:], band.upper, "upper bounds", look=LOOK_UPPER))
        curves.append(Curve(steps[dots], depth.flow.magnitude[dots], FLOW_NAME, look=LOOK_FLOW, kind="points"))
        curves.append(Curve(steps[rows], values[rows], "rebuilt from here", look=LOOK_RESTART, kind="points"))
        panels.append(
            Panel(
                f"{DEPTHS[q]}, $|w_0|/|w^*|$ = {values[0] / depth.teacher_norm:.2g}",
                f"iteration $T$, rate {settings.rates[q]:g}",
                r"$|w(T)|$",
                curves,
                [Guide(turn.time / settings.rates[q], is_vertical=True, label="the flow turns here")] if turn else [],
                legend="below",
            )
        )
    title = f"descent on {settings.n:,} samples in dimension {settings.d}; marks: the exact flow on infinitely many"
    return (save_figure(plot_panels(panels, columns=2, title=title, panel_size=(4.6, 4.2)), folder / "fig3.png"),)


FIGURE = PaperFigure("lee2022/fig3", __doc__, QUICK, FULL, compute, claims, draw)
