"""Figure 3: the teacher of Stewart et al., where an unbalanced network stops with five neurons of eight.

The paper trains 200,000 unbalanced neurons on 40 points of an eight-neuron teacher with two little bumps on its slopes
and shows five times: the start, the end of the early phase, the plateaus after the first and the second growth, and
convergence. The function is that of one neuron, then four, then five; the bumps are never learnt, because no neuron is
left in the cones where they could be. The loss falls in stairs. As in Figure 2 the neurons stand twice, on the radial
axis that all times share (right) and each time on its own (middle).

The authors' inputs are not published: these are the 38 that can be read off their animation. Beside descent stands the
exact flow from the same neurons. Neurons that slide along a boundary make descent costly here, in proportion to the
width: with 4,000 neurons it takes minutes of one core, with the paper's 200,000 it would take hours. So at full size it
runs with 4,000 neurons, with 200,000 through the early phase, and the exact flow with 200,000 through the whole run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow import load
from reluflow.arrays import FloatArray
from reluflow.papers.boursier2024.data import stewart_teacher
from reluflow.papers.boursier2024.figures.run_drawing import DrawnRun, draw_run
from reluflow.papers.boursier2024.figures.stewart_run import MOMENTS, Settings, StewartRun, compute
from reluflow.papers.boursier2024.figures.training import GRID, ITERATIONS, LR, WIDTH, least_squares
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure

# The function at the end, read off the authors' animation by eye.
READ_INPUTS, READ_OUTPUTS = (-1.0, -0.375, 0.0, 0.5, 1.0), (0.24, 0.915, 0.09, 0.99, 0.045)
BUMPS = ((-0.8, -0.45), (0.55, 0.85))  # inputs around the teacher's little bumps


def claims(settings: Settings, results: StewartRun) -> tuple[Claim, ...]:
    """The statements of Appendix B.2."""
    return (*_early_claims(settings, results), *_late_claims(settings, results), *_checks(settings, results))


def _early_claims(settings: Settings, results: StewartRun) -> tuple[Claim, ...]:
    data = load("stewart-digitised")
    plateau = results.descent.panels.places[2]
    linear_loss = float(np.mean((data.X @ least_squares(data) - data.y) ** 2))
    return (
        Claim.below(
            "at initialisation the function is nearly 0 (largest $|h|$)",
            np.max(np.abs(results.descent.panels.curves[0])),
            1e-4,
            source="App. B.2, Figs. 3(a), 3(b)",
        ),
        Claim.above(
            f"at the end of the early phase weights still seem omnidirectional (share of the cones that hold a neuron, "
            f"{settings.early_width:,} neurons)",
            results.early.occupied / results.descent.num_cones,
            0.85,
            source="App. B.2: “there still seems to be omnidirectionality”",
        ),
        Claim.below(
            "and so with the sign of the output weight (widest sector without a negative neuron, degrees)",
            results.early.negative_gap,
            20.0,
            finding=True,
            why="Positive neurons still fill the circle, but negative ones have left most of it by then, at any width: "
            "in the sense of Section 5, which counts directions together with the sign, it is lost already.",
            source=OURS,
        ),
        Claim.equal(
            "after the first growth the network is equivalent to one neuron (bundles)",
            results.descent.bundle_counts[2],
            1,
            source="App. B.2, Fig. 3(e)",
        ),
        Claim.below(
            "and constant (range of $h$ on [-1, 1])",
            np.ptp(results.descent.panels.curves[2]),
            0.1,
            source="App. B.2: “a 1 neuron, constant, network”",
        ),
        Claim.near(
            "its mean squared error is that of the least-squares line",
            results.descent.losses[plateau],
            linear_loss,
            rtol=0.01,
            source=OURS,
        ),
        Claim.above(
            f"omnidirectionality is lost by then (cones of {results.descent.num_cones} that hold no neuron)",
            results.descent.num_cones - results.descent.occupied[2],
            1,
            source="App. B.2, Fig. 3(f)",
        ),
        Claim.between(
            "after the second growth the network is nearly equivalent to four neurons, a fifth starting (bundles)",
            results.descent.bundle_counts[3],
            4,
            5,
            source="App. B.2, Fig. 3(g)",
        ),
    )


def _late_claims(settings: Settings, results: StewartRun) -> tuple[Claim, ...]:
    kinks = results.descent.bundles[:, 2]
    in_bumps = sum(int(np.sum((kinks > low) & (kinks < high))) for low, high in BUMPS)
    return (
        Claim.equal(
            "at convergence it is equivalent to five neurons, fewer than the teacher's eight (bundles)",
            len(kinks),
            5,
            source="App. B.2, Fig. 3(i)",
        ),
        Claim.equal(
            "the loss falls in stairs: three plateaus after the early phase",
            len(
                plateaus(np.asarray(settings.lr * results.descent.iterations, dtype=np.float64), results.descent.losses)
            ),
            3,
            source=OURS,
        ),
        Claim.above(
            "the network does not fit the data in the end (mean squared error)",
            results.descent.losses[-1],
            1e-3,
            source="App. B.2: “does not perfectly fit the data”",
        ),
        Claim.equal(
            "the two little bumps are not learnt (kinks of the function around them)",
            in_bumps,
            0,
            source="App. B.2: “the network fails to learn … the 2 little bumps”",
        ),
        Claim.below(
            "because no neuron is left where one could grow (largest growth rate of a neuron, relative to that of the "
            "best direction)",
            results.escape.present / results.escape.possible,
            0.05,
            source="App. B.2: “the cones corresponding to these bumps are empty”",
        ),
        Claim.below(
            "the final function is that of the authors' animation (largest difference at five inputs read by eye)",
            np.max(np.abs(np.interp(READ_INPUTS, GRID, results.descent.panels.curves[-1]) - READ_OUTPUTS)),
            0.02,
            source="the authors’ animation of Fig. 3",
        ),
        Claim.below(
            "it is a good approximation by five neurons (mean squared error, share of the labels' variance)",
            results.descent.losses[-1] / np.var(load("stewart-digitised").y),
            0.05,
            source="App. B.2: “a good 5 neurons approximation”",
        ),
        Claim.below(
            "read strictly: the best one (mean squared error, relative to the best five-neuron fit found)",
            results.descent.losses[-1] / results.fit_loss,
            1.05,
            finding=True,
            why=f"A continuous fit with four kinks, at {_in_words(results.fit_kinks)}, does better: one kink takes "
            "in the left bump where training spends two around 0.",
            source=OURS,
        ),
    )


def _checks(settings: Settings, results: StewartRun) -> tuple[Claim, ...]:
    difference = np.max(np.abs(results.descent.outputs - results.flow.outputs))
    return (
        Claim.near(
            f"the end does not depend on the width (mean squared error, flow with {settings.wide_width:,} neurons "
            f"against descent with {settings.width:,})",
            results.wide.losses[-1],
            results.descent.losses[-1],
            rtol=0.02,
            source=OURS,
        ),
        Claim.equal(
            "and neither does the number of bundles",
            len(results.wide.bundles),
            len(results.descent.bundles),
            source=OURS,
        ),
        Claim.below(
            f"descent at step {settings.lr:g} follows the exact flow from the same neurons (largest difference of an "
            "output, % of the largest label)",
            100 * difference / np.max(np.abs(load("stewart-digitised").y)),
            200 * settings.lr,
            source=OURS,
        ),
        Claim.above(
            f"with fresh inputs training fails as well (smallest mean squared error of {len(settings.seeds)} draws)",
            min(run.loss for run in results.fresh),
            1e-3,
            source=OURS,
        ),
        Claim.below(
            "and never finds more than five neurons (most bundles of a draw)",
            float(max(run.num_bundles for run in results.fresh)),
            5,
            source=OURS,
        ),
    )


def _in_words(values: FloatArray) -> str:
    return ", ".join(f"{value + 0.0:.2f}".replace("-0.00", "0.00") for value in values)


def plateaus(times: FloatArray, losses: FloatArray) -> list[tuple[float, float]]:
    """Stretches (start, end) after the first fall in which the loss falls by less than 15 % per e-fold of time.

    A stretch counts if it lasts for a factor 1.3 of time; the last one lasts to the end of the run.
    """
    after = times > times[np.argmax(losses < 0.5 * losses[0])]
    clock, level = np.log(times[after]), np.log(losses[after])
    is_flat = np.diff(level) / np.diff(clock) > -0.15
    found, start = [], None
    for index, flat in enumerate([*is_flat, False]):
        if flat and start is None:
            start = index
        elif not flat and start is not None:
            if clock[index] - clock[start] >= np.log(1.3):
                found.append((float(np.exp(clock[start])), float(np.exp(clock[index]))))
            start = None
    return found


def draw(settings: Settings, results: StewartRun, folder: Path) -> tuple[Path, ...]:
    """Ten panels, the stairs of the loss, a GIF and a page with a slider."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure
    from reluflow.viz.training_moments import Backdrop

    data, descent = load("stewart-digitised"), results.descent
    times = np.asarray(settings.lr * descent.iterations, dtype=np.float64)
    backdrop = Backdrop(
        data,
        GRID,
        stewart_teacher(GRID),
        output_label=f"descent, step {settings.lr:g}",
        prediction_label="exact flow",
        reference_label="teacher",
        y_limits=(-0.1, 1.1),
        shows_cones=False,
    )
    after = slice(1, None)
    flow_losses = np.mean((results.flow.outputs - data.y) ** 2, axis=1)
    stairs = Panel(
        "the loss falls in stairs",
        "time (step size times iteration)",
        "mean squared error",
        [
            Curve(times[after], results.descent.losses[after], f"descent, {settings.width:,} neurons", look=0),
            Curve(times[after], flow_losses[after], "exact flow, same neurons", look=4),
            Curve(results.wide.times, results.wide.losses, f"exact flow, {settings.wide_width:,} neurons", look=3),
        ],
        levels=[Guide(float(times[index]), "moments above", is_vertical=True) for index in descent.panels.places[1:4]],
        x_scale="log",
        y_scale="log",
        legend="lower left",
    )
    title = f"teacher of Stewart et al., {settings.width:,} unbalanced neurons, scale {settings.scale:g}"
    drawn = DrawnRun("Figure 3", title, descent.iterations, MOMENTS, descent.panels, descent.film, results.flow)
    loss = save_figure(plot_panels([stairs], columns=1, panel_size=(5.2, 3.4)), folder / "fig3-loss.png")
    return draw_run(drawn, backdrop, folder / "fig3", loss)


FIGURE = PaperFigure(
    "boursier2024/fig3",
    __doc__,
    Settings(
        width=300,
        iterations=200_000,
        lr=10 * LR,
        early_width=20_000,
        wide_width=200,
        seeds=(0, 1),
        frames=40,
        fit_starts=40,
    ),
    Settings(
        width=4_000, iterations=ITERATIONS, lr=LR, early_width=WIDTH, wide_width=WIDTH, seeds=(0, 1, 2, 3, 4), frames=60
    ),
    compute,
    claims,
    draw,
    reduced="descent with 4,000 neurons, and with 200,000 through the early phase; the exact flow with 200,000; 38 "
    "inputs read off the authors' animation, of the paper's 40",
)
