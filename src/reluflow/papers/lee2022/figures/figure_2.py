"""Figure 2: the magnitude of one neuron, bounds from its start, and far closer ones rebuilt on the way.

For the runs of Figure 1 with one and two layers (1L, 2L) the paper plots $|w(T)|$ with the bounds of Theorem A.1 (1L)
and Theorem A.3 (2L): once from the start, and once rebuilt from $w(20000)$. From a small start the magnitude grows;
from a medium or large one it falls first and grows later. The lower bound follows it at the beginning and the upper
bound at the end. The less the neuron has still to turn, the closer they are: those rebuilt on the way are much better.

The brown marks are the exact gradient flow on infinitely many samples from the same start. The run is that of
Figure 1, computed once for both; at quick size it has ten times the rate and a tenth of the steps, and the bounds are
rebuilt at step 2,000.
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
    LOOK_REBUILT_LOWER,
    LOOK_REBUILT_UPPER,
    LOOK_RESTART,
    LOOK_UPPER,
    ROUNDING,
    SAMPLE_NOISE,
    STRICT_INEQUALITY,
    Phases,
    dotted_rows,
    goes_from_lower_to_upper,
    magnitude_allowance,
    magnitude_band_from,
    phases,
)
from reluflow.papers.lee2022.figures.neuron_curves import NeuronCurves
from reluflow.papers.lee2022.figures.nine_starts_run import FULL, LAYERS, QUICK, NineStarts, Settings, compute
from reluflow.papers.lee2022.figures.published_settings import RATES, SHORT_DEPTHS, SHORT_SIZES
from reluflow.papers.lee2022.single_neuron import Band, magnitude_band, turning_point

COLUMNS = tuple(int(column) for column in np.flatnonzero(LAYERS <= 1))  # explicit bounds exist for q = 0 and 1
STILL = 2e-3  # of |w*|: a move of the magnitude that nobody sees in the picture


def restart_row(settings: Settings, results: NineStarts) -> int:
    """The recorded row from which the bounds are rebuilt."""
    return int(np.flatnonzero(results.steps == settings.rebuilt_at)[0])


def band_of(settings: Settings, results: NineStarts, curves: NeuronCurves, column: int, row: int) -> Band:
    """Theorem A.1 or A.3 from one recorded row on, for the curves of descent on samples or on the population."""
    q = int(LAYERS[column])
    return magnitude_band_from(
        row,
        results.steps,
        curves.column(column),
        q=q,
        rate=settings.rates[q],
        teacher_norm=float(results.teacher_norms[q]),
    )


def slack_of(settings: Settings, results: NineStarts, curves: NeuronCurves, column: int, row: int) -> float:
    """Smallest distance of |w| to the nearer bound over |w*|, after the row from which they are built."""
    slack = band_of(settings, results, curves, column, row).slack(curves.magnitude[row:, column])[1:]
    return float(np.min(slack) / results.teacher_norms[LAYERS[column]])


def flow_slack_of(settings: Settings, results: NineStarts, column: int, row: int) -> float:
    """The same for the exact flow and its own bounds, Theorems 3.3 and 3.8."""
    q = int(LAYERS[column])
    norm, flow = float(results.teacher_norms[q]), results.flow.column(column)
    times = settings.rates[q] * (results.steps[row:] - results.steps[row])
    band = magnitude_band(flow.neuron(row, q=q, teacher_norm=norm), times)
    return float(np.min(band.slack(flow.magnitude[row:])) / norm)


def claims(settings: Settings, results: NineStarts) -> tuple[Claim, ...]:
    """The bounds, their widths, the phases of the magnitude, and the distance from the flow."""
    return (*_bounds(settings, results), *_shape(settings, results), *_flow(settings, results))


def _bounds(settings: Settings, results: NineStarts) -> tuple[Claim, ...]:
    row = restart_row(settings, results)
    ratios = []
    for column in COLUMNS:
        first, rebuilt = (band_of(settings, results, results.sampled, column, begin) for begin in (0, row))
        ratios.append(np.max(rebuilt.upper - rebuilt.lower) / (first.upper[-1] - first.lower[-1]))
    one_layer, two_layers = (
        min(slack_of(settings, results, results.population, column, 0) for column in COLUMNS if LAYERS[column] == q)
        for q in (0, 1)
    )
    return (
        Claim.above(
            f"the bounds from the start hold in all six panels, $n$ = {settings.n:,} (smallest slack over $|w^*|$)",
            min(slack_of(settings, results, results.sampled, column, 0) for column in COLUMNS),
            -magnitude_allowance(settings.n),
            why=SAMPLE_NOISE,
            source="Fig. 2; Theorems A.1, A.3",
        ),
        Claim.above(
            f"so do those rebuilt at step {settings.rebuilt_at:,} (smallest slack over $|w^*|$)",
            min(slack_of(settings, results, results.sampled, column, row) for column in COLUMNS),
            -magnitude_allowance(settings.n),
            source="Fig. 2, caption",
        ),
        Claim.above(
            "both hold along the exact flow from the same starts (smallest slack over $|w^*|$)",
            min(flow_slack_of(settings, results, column, begin) for column in COLUMNS for begin in (0, row)),
            -FLOW_ALLOWANCE,
            source=OURS,
        ),
        Claim.above(
            "Theorem A.1 holds for descent at this step size on infinitely many samples (smallest slack over "
            "$|w^*|$, 1L)",
            one_layer,
            -ROUNDING,
            source=OURS,
        ),
        Claim.above(
            "so does Theorem A.3, as a strict inequality (smallest slack over $|w^*|$, 2L)",
            two_layers,
            -ROUNDING,
            finding=True,
            why=STRICT_INEQUALITY,
            source="Theorem A.3",
        ),
        Claim.below(
            "rebuilt bounds are far closer together (largest width over the width at which those from the start end)",
            max(ratios),
            0.6,
            source="Sec. 5.2: “more tighter range”",
        ),
    )


def _shape(settings: Settings, results: NineStarts) -> tuple[Claim, ...]:
    moves: dict[int, Phases] = {
        column: phases(results.sampled.magnitude[:, column] / results.teacher_norms[LAYERS[column]])
        for column in COLUMNS
    }
    small = [moves[column] for column in COLUMNS if column % 3 == 0]
    others = [moves[column] for column in COLUMNS if column % 3 != 0]
    nearer = sum(
        goes_from_lower_to_upper(
            results.sampled.magnitude[:, column], band_of(settings, results, results.sampled, column, 0)
        )
        for column in COLUMNS
    )
    return (
        Claim.below(
            "from a small start the magnitude grows monotonically (largest decrease over $|w^*|$)",
            max(max(move.fall, move.against) for move in small),
            STILL,
            source="Sec. 3, after Theorem 3.8",
        ),
        Claim.above(
            "from a medium or large start it falls first and grows later (smaller of the two moves over $|w^*|$)",
            min(min(move.fall, move.rise) for move in others),
            0.02,
            source="App. D.1: “first decreases, and increases to converge”",
        ),
        Claim.below(
            "and turns only once (largest move against this order over $|w^*|$)",
            max(move.against for move in others),
            STILL,
            source=OURS,
        ),
        Claim.equal(
            "the lower bound is the closer one first and the upper bound later, with one change (panels of six)",
            nearer,
            len(COLUMNS),
            source="Sec. 5.2, Fig. 2",
        ),
    )


def _flow(settings: Settings, results: NineStarts) -> tuple[Claim, ...]:
    columns = list(COLUMNS)
    norms = results.teacher_norms[LAYERS[columns]]
    flow = results.flow.magnitude[:, columns]
    sampled, population = (
        np.max(np.abs(curves.magnitude[:, columns] - flow) / norms) for curves in (results.sampled, results.population)
    )
    minima = []
    for column in (column for column in COLUMNS if column % 3 != 0):
        q = int(LAYERS[column])
        norm, curves = float(results.teacher_norms[q]), results.sampled.column(column)
        turn = turning_point(curves.neuron(0, q=q, teacher_norm=norm))
        lowest = np.min(curves.magnitude)
        minima.append(np.inf if turn is None else abs(lowest - turn.neuron.magnitude) / norm)
    scale = float(np.sqrt(settings.d / settings.n))
    return (
        Claim.below(
            "descent at this step size follows the exact flow on infinitely many samples (largest difference of "
            "$|w|$, % of $|w^*|$)",
            100.0 * population,
            0.05 * settings.rates[0] / RATES[0],
            source=OURS,
        ),
        Claim.below(
            rf"and on $n$ = {settings.n:,} samples, for which $\sqrt{{d/n}}$ = {scale:.2g} (largest difference of "
            rf"$|w|$ over $|w^*|$)",
            sampled,
            scale,
            source=OURS,
        ),
        Claim.below(
            "the smallest magnitude is the one the flow's turning point gives (largest difference over $|w^*|$)",
            max(minima),
            0.5 * scale,
            source=OURS,
        ),
    )


def draw(settings: Settings, results: NineStarts, folder: Path) -> tuple[Path, ...]:
    """The six panels."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    steps, row = results.steps, restart_row(settings, results)
    dots = dotted_rows(steps)
    panels = []
    for column in COLUMNS:
        q = int(LAYERS[column])
        norm = float(results.teacher_norms[q])
        first, rebuilt = (band_of(settings, results, results.sampled, column, begin) for begin in (0, row))
        values = results.sampled.magnitude[:, column]
        panels.append(
            Panel(
                f"{SHORT_DEPTHS[q]}, {SHORT_SIZES[column % 3]}: $|w_0|/|w^*|$ = {values[0] / norm:.2g}",
                f"iteration $T$, rate {settings.rates[q]:g}",
                r"$|w(T)|$",
                [
                    Curve(steps, values, "descent", look=LOOK_DESCENT),
                    Curve(steps, first.lower, "lower bound", look=LOOK_LOWER),
                    Curve(steps, first.upper, "upper bound", look=LOOK_UPPER),
                    Curve(steps[row:], rebuilt.lower, "rebuilt, lower", look=LOOK_REBUILT_LOWER),
                    Curve(steps[row:], rebuilt.upper, "rebuilt, upper", look=LOOK_REBUILT_UPPER),
                    Curve(
                        steps[dots],
                        results.flow.magnitude[dots, column],
                        FLOW_NAME,
                        look=LOOK_FLOW,
                        kind="points",
                    ),
                    Curve(steps[[row]], values[[row]], "rebuilt from here", look=LOOK_RESTART, kind="points"),
                ],
                [Guide(norm, "$|w^*|$")],
                legend="upper right" if column == COLUMNS[-1] else "",  # the panel with room
            )
        )
    title = f"descent on {settings.n:,} samples in dimension {settings.d}; marks: the exact flow on infinitely many"
    return (save_figure(plot_panels(panels, columns=3, title=title, panel_size=(3.2, 2.8)), folder / "fig2.png"),)


FIGURE = PaperFigure("lee2022/fig2", __doc__, QUICK, FULL, compute, claims, draw)
