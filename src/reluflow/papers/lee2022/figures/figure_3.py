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
    FLOW_NAME,
    FLOW_ROOM,
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
    magnitude_band_from,
    magnitude_room,
    widest_breach,
)
from reluflow.papers.lee2022.figures.published_settings import DEPTHS, SIZES, START_FACTORS
from reluflow.papers.lee2022.figures.restarts_run import FULL, QUICK, Settings, compute
from reluflow.papers.lee2022.single_neuron import (
    BalancedNeuron,
    Band,
    TurningPoint,
    balanced_flow,
    one_layer_turning_point,
    rebuilt_magnitude_band,
    turning_point,
)
from reluflow.papers.store import Results

LAYERS = (0, 1)


def rows_of(settings: Settings, results: Results, q: int) -> list[int]:
    """The recorded rows of the restarts."""
    return [int(row) for row in np.searchsorted(results[f"steps_{q}"], settings.restarts[q])]


def bands_of(settings: Settings, results: Results, q: int, of: str = "") -> list[Band]:
    """The bounds from every restart on the rows from there on; `of` is a prefix of results, empty for samples."""
    return [
        magnitude_band_from(
            row,
            results[f"steps_{q}"],
            results[f"{of}magnitude_{q}"],
            results[f"{of}gap_{q}"],
            q=q,
            rate=settings.rates[q],
            teacher_norm=float(results[f"teacher_norm_{q}"]),
        )
        for row in rows_of(settings, results, q)
    ]


def start_of(results: Results, q: int, factor: float = 1.0) -> BalancedNeuron:
    """Where the run begins, or a start in the same direction that many times as long."""
    return BalancedNeuron(
        q,
        factor * float(results[f"magnitude_{q}"][0]),
        gap=float(results[f"gap_{q}"][0]),
        teacher_magnitude=float(results[f"teacher_norm_{q}"]),
    )


def turn_of(results: Results, q: int) -> TurningPoint | None:
    """Where the flow's magnitude is smallest: in closed form with one layer, by quadrature with two."""
    return one_layer_turning_point(start_of(results, q)) if q == 0 else turning_point(start_of(results, q))


def nesting_breach(bands: list[Band], rows: list[int]) -> float:
    """How far a later band reaches out of an earlier one, over all pairs; at most 0 when they are nested."""
    cut = [
        (Band(outer.lower[late - early :], outer.upper[late - early :]), inner)
        for place, (early, outer) in enumerate(zip(rows, bands, strict=True))
        for late, inner in list(zip(rows, bands, strict=True))[place + 1 :]
    ]
    return max(widest_breach(outer, inner) for outer, inner in cut)


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """The bounds, that they are nested, which side is the closer one, and the turning point."""
    return (*_bounds(settings, results), *_shape(settings, results), *_flow(settings, results))


def _bounds(settings: Settings, results: Results) -> tuple[Claim, ...]:
    slack: dict[str, list[float]] = {"": [], "population_": []}
    breach, flow_breach, flow_slack = [], [], []
    for q in LAYERS:
        norm, rows = float(results[f"teacher_norm_{q}"]), rows_of(settings, results, q)
        for of, found in slack.items():
            values = results[f"{of}magnitude_{q}"]
            for row, band in zip(rows, bands_of(settings, results, q, of), strict=True):
                found.append(float(np.min(band.slack(values[row:])[1:])) / norm)
        breach.append(nesting_breach(bands_of(settings, results, q), rows) / norm)
        for factor in START_FACTORS:
            flow = balanced_flow(start_of(results, q, factor), settings.rates[q] * results[f"steps_{q}"])
            bands = [rebuilt_magnitude_band(flow, row) for row in rows]
            flow_breach.append(nesting_breach(bands, rows) / norm)
            for row, band in zip(rows, bands, strict=True):
                flow_slack.append(float(np.min(band.slack(flow.magnitude[row:]))) / norm)
    first = len(settings.restarts[0])
    one_layer, two_layers = slack["population_"][:first], slack["population_"][first:]
    sizes = ", ".join(SIZES)
    return (
        Claim.above(
            f"all eight pairs of bounds hold, $n$ = {settings.n:,} (smallest slack over $|w^*|$)",
            min(slack[""]),
            -magnitude_room(settings.n),
            why=SAMPLE_NOISE,
            source="Fig. 3, caption",
        ),
        Claim.below(
            "they improve as training goes on: later ones lie inside earlier ones (largest breach over $|w^*|$)",
            max(breach),
            magnitude_room(settings.n),
            source="App. D.1: “improved as training progresses”",
        ),
        Claim.above(
            f"along the exact flow they hold from {sizes} starts (smallest slack over $|w^*|$)",
            min(flow_slack),
            -FLOW_ROOM,
            source=OURS,
        ),
        Claim.below(
            f"and are nested from {sizes} starts (largest breach over $|w^*|$)",
            max(flow_breach),
            FLOW_ROOM,
            source=OURS,
        ),
        Claim.above(
            "Theorem A.1 holds for descent at this step size on infinitely many samples (smallest slack over "
            "$|w^*|$, one layer)",
            min(one_layer),
            -ROUNDING,
            source=OURS,
        ),
        Claim.above(
            "so does Theorem A.3, as a strict inequality (smallest slack over $|w^*|$, two layers)",
            min(two_layers),
            -ROUNDING,
            finding=True,
            why=STRICT_INEQUALITY,
            source="Theorem A.3",
        ),
    )


def _shape(settings: Settings, results: Results) -> tuple[Claim, ...]:
    changes, flow_changes, convex, curves = 0, 0, 0, 0
    for q in LAYERS:
        for row, band in zip(rows_of(settings, results, q), bands_of(settings, results, q), strict=True):
            changes += goes_from_lower_to_upper(results[f"magnitude_{q}"][row:], band)
            even = np.isin(results[f"steps_{q}"][row:], np.linspace(0, settings.steps[q], 201).astype(int))
            for curve in (band.lower[even], band.upper[even]):
                curves += 1
                convex += bool(np.all(np.diff(curve, 2) >= -1e-12 * curve[0]))
        for row, band in zip(rows_of(settings, results, q), bands_of(settings, results, q, "flow_"), strict=True):
            flow_changes += goes_from_lower_to_upper(results[f"flow_magnitude_{q}"][row:], band)
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


def _flow(settings: Settings, results: Results) -> tuple[Claim, ...]:
    scale = float(np.sqrt(settings.d / settings.n))
    judged = []
    for q in LAYERS:
        norm, turn = float(results[f"teacher_norm_{q}"]), turn_of(results, q)
        values, flow = results[f"magnitude_{q}"], results[f"flow_magnitude_{q}"]
        judged.append(
            Claim.near(
                f"{DEPTHS[q]}: the magnitude turns where the flow's does, the open question of App. D.1 (smallest "
                f"$|w|$ over $|w^*|$, at step {results[f'steps_{q}'][np.argmin(values)]:,}; flow: step "
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
                100.0 * float(np.max(np.abs(results[f"population_magnitude_{q}"] - flow))) / norm,
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


def draw(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """One panel per depth."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    panels = []
    for q in LAYERS:
        steps, rows, values = results[f"steps_{q}"], rows_of(settings, results, q), results[f"magnitude_{q}"]
        dots, turn = dotted_rows(steps, 24), turn_of(results, q)
        curves = [Curve(steps, values, "descent", look=LOOK_DESCENT)]
        for row, band in zip(rows, bands_of(settings, results, q), strict=True):
            curves.append(Curve(steps[row:], band.lower, "lower bounds", look=LOOK_LOWER))
            curves.append(Curve(steps[row:], band.upper, "upper bounds", look=LOOK_UPPER))
        curves.append(
            Curve(steps[dots], results[f"flow_magnitude_{q}"][dots], FLOW_NAME, look=LOOK_FLOW, kind="points")
        )
        curves.append(Curve(steps[rows], values[rows], "rebuilt from here", look=LOOK_RESTART, kind="points"))
        panels.append(
            Panel(
                f"{DEPTHS[q]}, $|w_0|/|w^*|$ = {values[0] / results[f'teacher_norm_{q}']:.2g}",
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
