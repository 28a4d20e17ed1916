r"""Figure 1: how fast one neuron turns to its teacher, and how that depends on depth and size of the start.

The paper trains a single ReLU neuron under 0, 1 and 2 scalar layers (1L, 2L, 3L) by gradient descent on 10,000
Gaussian samples from a small, a medium and a large start (SN, MN, LN: 0.1, 1 and 2 times the teacher's scale) and
plots $\varphi$, $\pi$ minus the angle to the teacher, with the bounds of Theorem A.2 (1L) and Theorem 4.2 (2L, 3L).
The smallest start is the fastest with one layer and the slowest with three; with two layers the size makes no
difference.

The brown marks are the exact gradient flow on infinitely many samples from the same start: what the theorems are
about. A second picture has the flow's time from $\varphi = \pi/2$ to $0.95 \pi$ against the size of the start. The
three sizes share one direction here, so that they start at the same angle. "$N(0, k I)$" has $k$ as a standard
deviation (erratum E12). The quick size has 4,000 samples in dimension 40 ($n/d$ and $|w^*|$ are the paper's), ten
times the rate and a tenth of the steps.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.lee2022.figures.bands import (
    ANGLE_ALLOWANCE,
    FLOW_ALLOWANCE,
    FLOW_NAME,
    LOOK_DESCENT,
    LOOK_FLOW,
    LOOK_LOWER,
    LOOK_UPPER,
    dotted_rows,
    first_step_above,
    magnitude_allowance,
)
from reluflow.papers.lee2022.figures.neuron_curves import NeuronCurves
from reluflow.papers.lee2022.figures.nine_starts_run import (
    FULL,
    LAYERS,
    QUICK,
    SCALING_LAYERS,
    SCALING_STARTS,
    NineStarts,
    Settings,
    compute,
)
from reluflow.papers.lee2022.figures.published_settings import (
    DEPTHS,
    DIMENSION,
    RATES,
    SHORT_DEPTHS,
    SHORT_SIZES,
    SIZES,
    START_FACTORS,
    STEPS,
    TEACHER_STDS,
)
from reluflow.papers.lee2022.single_neuron import (
    BalancedNeuron,
    Band,
    MagnitudeRange,
    angle_band,
    balanced_orbit,
    descent_angle_band,
    descent_tolerance,
    published_magnitude_range,
)

TURNED = np.radians(175.0)  # an angle that counts as turned


def start_of(results: NineStarts, column: int) -> BalancedNeuron:
    """The state in which a column begins."""
    q = int(LAYERS[column])
    return results.sampled.column(column).neuron(0, q=q, teacher_norm=float(results.teacher_norms[q]))


def magnitudes_of(results: NineStarts, column: int) -> MagnitudeRange:
    """The r and R with which the paper draws the panel."""
    return published_magnitude_range(start_of(results, column), SIZES[column % len(SIZES)])


def bounds_on_gap(settings: Settings, results: NineStarts, column: int) -> Band:
    """Theorem A.2 or 4.2 as a band on pi - phi(T), as drawn."""
    return descent_angle_band(
        start_of(results, column),
        results.steps,
        step_size=settings.rates[LAYERS[column]],
        magnitudes=magnitudes_of(results, column),
    )


def turning_steps(steps: IntArray, curves: NeuronCurves) -> FloatArray:
    """Step at which phi first exceeds 175 degrees, infinite if never: rows are depths, columns sizes."""
    turned = [first_step_above(steps, np.pi - gap, TURNED) for gap in curves.gap.T]
    return np.reshape(turned, (len(DEPTHS), len(SIZES)))


def spread(steps: FloatArray) -> float:
    """The largest over the smallest, less 1; infinite where one is never reached.

    >>> spread(np.array([4.0, 5.0])), spread(np.array([4.0, np.inf]))
    (0.25, inf)
    """
    return float(steps.max() / steps.min() - 1.0) if np.all(np.isfinite(steps)) else float(np.inf)


def claims(settings: Settings, results: NineStarts) -> tuple[Claim, ...]:
    """The bounds, the order of the sizes at each depth, the law behind it, and the distance from the flow."""
    return (*_bounds(settings, results), *_order(results), *_law(results), *_flow(settings, results))


def _bounds(settings: Settings, results: NineStarts) -> tuple[Claim, ...]:
    sampled, exact, population, outside, allowances = [], [], [], [], []
    for column, q in enumerate(LAYERS):
        start, limits = start_of(results, column), magnitudes_of(results, column)
        band = bounds_on_gap(settings, results, column)
        flow_band = angle_band(start, settings.rates[q] * results.steps, magnitudes=limits)
        sampled.append(np.min(band.slack(results.sampled.gap[:, column])))
        population.append(np.min(band.slack(results.population.gap[:, column])))
        exact.append(np.min(flow_band.log_slack(results.flow.gap[:, column])))
        allowances.append(descent_tolerance(start, settings.rates[q]))
        magnitude = results.sampled.magnitude[:, column]
        breach = max(limits.smallest - np.min(magnitude), np.max(magnitude) - limits.largest)
        outside.append(breach / start.teacher_magnitude)
    return (
        Claim.above(
            f"the bounds of Theorems A.2 and 4.2 hold in all nine panels, $n$ = {settings.n:,} (smallest slack, "
            f"radians)",
            min(sampled),
            -ANGLE_ALLOWANCE,
            source="Fig. 1; Theorems A.2, 4.2",
        ),
        Claim.above(
            r"they hold along the exact flow from the same starts (smallest slack, relative to $\pi - \varphi$)",
            min(exact),
            -FLOW_ALLOWANCE,
            source=OURS,
        ),
        Claim(
            r"they hold for descent at this step size on infinitely many samples, up to $2 \eta R^{2q}$ radians "
            r"(smallest slack, radians)",
            all(slack >= -allowance for slack, allowance in zip(population, allowances, strict=True)),
            min(population),
            f"at least {-max(allowances):.2g} to {-min(allowances):.2g}, by panel",
            source=OURS,
        ),
        Claim.below(
            "what they assume, $r < |w(T)| < R$ with the paper's $r$ and $R$, holds in all nine panels (largest "
            "breach over $|w^*|$)",
            max(outside),
            magnitude_allowance(settings.n),
            source="App. D.3: the choice of $r$ and $R$",
        ),
    )


def _order(results: NineStarts) -> tuple[Claim, ...]:
    one, two, _ = turning_steps(results.steps, results.sampled)
    flow = turning_steps(results.steps, results.flow)
    end = np.degrees(np.pi - results.sampled.gap[-1])
    return (
        Claim(
            r"one layer: the smaller the start, the sooner $\varphi$ exceeds 175 degrees (step for SN, MN, LN)",
            bool(one[0] < one[1] < one[2] < np.inf),
            tuple(np.round(one)),
            "increasing",
            source="Sec. 5.1, Fig. 1(a): “converges very fast”",
        ),
        Claim.below(
            "two layers: the size of the start makes no difference (latest over earliest of SN, MN, LN at 175 degrees, "
            f"less 1; steps {', '.join(f'{step:,.0f}' for step in two)})",
            spread(two),
            0.2,
            source="Sec. 5.1: for $m = 1$ “independent with magnitude”",
        ),
        Claim.below("and none at all in the exact flow (the same)", spread(flow[1]), FLOW_ALLOWANCE, source=OURS),
        Claim.above(
            r"three layers: the small start is the slowest (how far $\varphi$ is behind MN and LN at the end, "
            r"degrees)",
            np.min(end[-2:]) - end[-3],
            20.0,
            source="Sec. 5.1, Fig. 1(g): “slows down the convergence speed”",
        ),
        Claim.below(
            r"and has not turned to the teacher by the end ($\varphi$ there, degrees)",
            end[-3],
            np.degrees(TURNED),
            source=OURS,
        ),
    )


def _law(results: NineStarts) -> tuple[Claim, ...]:
    times = results.scaling_times
    exponents = np.log(times[:, -1] / times[:, -2]) / np.log(SCALING_STARTS[-1] / SCALING_STARTS[-2])
    judged = [
        Claim.near(
            rf"$q$ = {q}: the time to turn from $\pi/2$ to $0.95 \pi$ goes as $v_0$ to the power {1 - q:d} "
            rf"(exponent between $v_0$ = 1e-3 and 1e-4; times for $v_0$ = 1e-1 to 1e-4, $v^* = 1$: "
            rf"{', '.join(f'{time:.4g}' for time in times[row])})",
            exponents[row] + 0.0,
            1 - q,
            atol=0.01,
            source=OURS,
        )
        for row, q in enumerate(SCALING_LAYERS)
    ]
    teacher = float(np.sqrt(TEACHER_STDS[2] * DIMENSION))
    start = BalancedNeuron(2, np.sqrt(START_FACTORS[0]) * teacher, phi=0.5 * np.pi, teacher_magnitude=teacher)
    reading = Claim.above(
        "with $k$ as a variance, as printed, the small start under three layers is not at 175 degrees by step "
        "100,000 (step at which the flow from 90 degrees is)",
        float(balanced_orbit(start).at_phi(TURNED)[1][0]) / RATES[2],
        STEPS,
        finding=True,
        why="So $k$ is a standard deviation (erratum E12), as elsewhere here: then the small start is slow, as in "
        "the paper's panel, and a large one has twice the teacher's norm, as its text says.",
        source=OURS,
    )
    return (*judged, reading)


def _flow(settings: Settings, results: NineStarts) -> tuple[Claim, ...]:
    sampled, population = (
        np.max(np.abs(curves.gap - results.flow.gap)) for curves in (results.sampled, results.population)
    )
    scale = float(np.sqrt(settings.d / settings.n))
    return (
        Claim.below(
            r"descent at this step size follows the exact flow on infinitely many samples (largest difference of "
            r"$\varphi$, % of $\pi$)",
            100.0 * population / np.pi,
            0.02 * settings.rates[0] / RATES[0],
            source=OURS,
        ),
        Claim.below(
            rf"and on $n$ = {settings.n:,} samples, for which $\sqrt{{d/n}}$ = {scale:.2g} (largest difference of "
            rf"$\varphi$, radians)",
            sampled,
            1.5 * scale,
            source=OURS,
        ),
    )


def draw(settings: Settings, results: NineStarts, folder: Path) -> tuple[Path, ...]:
    """The nine panels, and the scaling law."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    thousands = results.steps / 1000.0
    dots = dotted_rows(results.steps)
    bands = [bounds_on_gap(settings, results, column) for column in range(LAYERS.size)]
    lowest = 10.0 * np.floor(0.1 * np.degrees(np.pi - max(np.max(band.upper) for band in bands)))
    panels = []
    for column, q in enumerate(LAYERS):
        curves = {
            "descent": (results.sampled.gap[:, column], LOOK_DESCENT),
            "lower bound": (bands[column].upper, LOOK_LOWER),
            "upper bound": (bands[column].lower, LOOK_UPPER),
        }
        flow = np.degrees(np.pi - results.flow.gap[dots, column])
        panels.append(
            Panel(
                f"{SHORT_DEPTHS[q]}, {SHORT_SIZES[column % 3]}: $|w_0|/|w^*|$ = "
                f"{results.sampled.magnitude[0, column] / results.teacher_norms[q]:.2g}",
                f"iteration $T$ (thousands), rate {settings.rates[q]:g}",
                r"$\varphi(T)$, degrees",
                [
                    *(
                        Curve(thousands, np.degrees(np.pi - gap), name, look=look)
                        for name, (gap, look) in curves.items()
                    ),
                    Curve(thousands[dots], flow, FLOW_NAME, look=LOOK_FLOW, kind="points"),
                ],
                [Guide(180.0, "180: the teacher")],
                y_limits=(lowest, 184.0),
                legend="below" if column == 7 else "",
            )
        )
    times = results.scaling_times
    law = Panel(
        r"time of the flow from $\varphi = \pi/2$ to $0.95\,\pi$",
        "size of the start, $v_0/v^*$",
        "time $t$ ($v^* = 1$)",
        [
            Curve(SCALING_STARTS, times[row], f"$q$ = {q}: as $v_0^{{{1 - q:d}}}$", look=row, kind="marked")
            for row, q in enumerate(SCALING_LAYERS)
        ],
        x_scale="log",
        y_scale="log",
        legend="upper right",
    )
    title = f"descent on {settings.n:,} samples in dimension {settings.d}; marks: the exact flow on infinitely many"
    return (
        save_figure(plot_panels(panels, columns=3, title=title, panel_size=(3.1, 2.4)), folder / "fig1.png"),
        save_figure(plot_panels([law], columns=1, panel_size=(4.6, 3.4)), folder / "fig1-times.png"),
    )


FIGURE = PaperFigure("lee2022/fig1", __doc__, QUICK, FULL, compute, claims, draw)
