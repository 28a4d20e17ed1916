r"""Figure 2: three points, training dynamics of a balanced network that ends at the least-squares line.

The paper trains 200,000 balanced neurons on three points by gradient descent (step 1e-3, 2,000,000 iterations) and
shows, at four times, the function with the least-squares line dashed and every neuron in polar coordinates: at
initialisation, at the end of phase 2a, when positive neurons are aligned with the one extremal vector or dead and start
to grow, at the end of phase 2, close to least squares, and at convergence. The neurons stand here twice: on the radial
axis that all times share, as in the paper, which shows their growth (right), and each time on its own (middle).

The text trains on Eq. (10), with its factor 1/2; the authors' code and the iterations of their animation are those of
the mean of the squared errors without it (erratum E15), and so here: with the factor everything comes at twice the
iterations. Beside the descent stands the exact gradient flow from the same neurons at the same times. The times of the
inner panels are not printed in the paper; here they are the first of the authors' snapshots (0, 1, then 1.1 times the
last) that end the phases of Lemmas 5 and 6 with $\varepsilon_2 = 0.01$ and $\varepsilon_3 = 0.1$.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow import load
from reluflow.papers.boursier2024.figures.run_drawing import DrawnRun, draw_run
from reluflow.papers.boursier2024.figures.three_points_run import MOMENTS, Settings, ThreePointsRun, compute
from reluflow.papers.boursier2024.figures.training import GRID, ITERATIONS, WIDTH, angle_of, least_squares, rows_of
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure

ALIGNED = 5.0  # degrees: "aligned with the extremal vector"


def claims(settings: Settings, results: ThreePointsRun) -> tuple[Claim, ...]:
    """The seven statements of Section 6, what the step size changes, and two statements around them."""
    data = load("three-points")
    beta = least_squares(data)
    line = data.X @ beta
    descent = results.descent
    _, aligned, _, last = descent.panels.places
    weights = descent.panels.a[2]
    quiet = descent.iterations <= descent.iterations[aligned]
    mean_square = float(np.mean((line - data.y) ** 2))
    difference = np.max(np.abs(descent.outputs - results.flow.outputs)) / np.max(np.abs(data.y))
    return (
        Claim.below(
            "after early alignment every positive neuron is aligned with the one extremal vector or dead "
            "(largest angle of one that is not dead, degrees)",
            np.max(descent.angle_to_extremal),
            ALIGNED,
            source="Sec. 6, Figs. 2(c), 2(d)",
        ),
        Claim(
            "dead positive neurons never move (largest change of a weight)",
            descent.dead_movement == 0.0,
            descent.dead_movement,
            0,
            source="Sec. 6: “the latter then never move”",
        ),
        Claim.below(
            "the function is still nearly 0 at the end of phase 2a (largest $|h|$ on the samples)",
            np.max(np.abs(descent.outputs[quiet])),
            0.03,
            source="Sec. 6: “still nearly 0”",
        ),
        Claim.below(
            "at the end of phase 2, close to least squares, negative neurons are still tiny (share of the sum of "
            "$a^2$)",
            np.sum(weights[weights < 0] ** 2) / np.sum(weights**2),
            1e-4,
            source="Sec. 6: “the negative neurons remained small in norm”",
        ),
        Claim.equal(
            "at convergence neurons of both signs fill two cones only, active on all samples or on none (others)",
            descent.num_mixed,
            0,
            source="Sec. 6, Fig. 2(h)",
        ),
        Claim.below(
            "the network converges to the least-squares line on the samples (largest distance)",
            np.max(np.abs(descent.outputs[last] - line)),
            1e-4,
            source="Sec. 6, Fig. 2(g)",
        ),
        Claim.near(
            "the mean squared error tends to that of least squares, above 0",
            descent.losses[last],
            mean_square,
            rtol=1e-6,
            source="Theorem 2",
        ),
        Claim.near(
            "positive neurons point along the extremal vector after alignment (degrees)",
            descent.angles[aligned],
            angle_of(data.X.T @ data.y),
            atol=0.5,
            source="Sec. 6, Fig. 2(d)",
        ),
        Claim.near(
            "and have turned to the least-squares direction at convergence (degrees)",
            descent.angles[last],
            angle_of(beta),
            atol=0.05,
            source="Sec. 6: “the final direction of the positive neurons changed”",
        ),
        Claim.below(
            "negative neurons never outgrow their start (largest sum of $a^2$, relative)",
            descent.negative_growth,
            1.0 + 1e-9,
            source=OURS,
        ),
        Claim.equal(
            "no output weight changes sign (changes at all snapshots)",
            descent.num_flips,
            0,
            source="Sec. 2, after Eq. (4)",
        ),
        Claim.below(
            f"descent at step {settings.lr:g} follows the exact flow from the same neurons (largest difference of an "
            "output, % of the largest label)",
            100 * difference,
            0.3,
            source=OURS,
        ),
        Claim.below(
            "Theorem 2: the limit equals the least-squares line at every $x$ (distance at $x = (0, -1)$)",
            abs(descent.output_below + beta[1]),
            1e-3,
            finding=True,
            why="ReLU is not odd: the equality holds on the cone of the data, where all limit neurons are active (E7).",
            source="Theorem 2, Eq. (11)",
        ),
        Claim.below(
            "Section 5: from an unbalanced start output weights change sign and the network reaches a global minimum "
            f"({results.unbalanced.flips:,} of {settings.unbalanced_width:,} changed; mean squared error)",
            results.unbalanced.loss,
            1e-8,
            source="Sec. 5",
        ),
    )


def draw(settings: Settings, results: ThreePointsRun, folder: Path) -> tuple[Path, ...]:
    """Eight panels, the growth over time, a GIF and a page with a slider."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure
    from reluflow.viz.training_moments import Backdrop

    data, descent = load("three-points"), results.descent
    iterations = descent.iterations
    backdrop = Backdrop(
        data,
        GRID,
        rows_of(GRID) @ least_squares(data),
        output_label=f"descent, step {settings.lr:g}",
        prediction_label="exact flow",
        reference_label="least squares",
    )
    after = slice(1, None)
    marks = [
        Guide(float(iterations[index]), name, is_vertical=True, look=look)
        for name, index, look in zip(MOMENTS[1:3], descent.panels.places[1:3], (7, 6), strict=True)
    ]
    dots = np.unique(np.linspace(1, len(iterations) - 1, 28).astype(np.int64))
    panels = [
        Panel(
            "outputs at the samples",
            "iteration",
            "$h(x_k)$",
            [
                *(
                    Curve(iterations[after], descent.outputs[after, k], f"$h(x_{k + 1})$, descent", look=k)
                    for k in range(3)
                ),
                *(
                    Curve(iterations[dots], results.flow.outputs[dots, k], "exact flow", look=100, kind="points")
                    for k in range(3)
                ),
            ],
            levels=marks,
            x_scale="log",
            legend="below",
        ),
        Panel(
            r"positive active neurons: sum of $a_j^2$",
            "iteration",
            "",
            [Curve(iterations[after], descent.growth[after], "descent")],
            levels=marks,
            x_scale="log",
            y_scale="log",
            legend="below",
        ),
    ]
    title = f"three points, {settings.width:,} balanced neurons, scale {settings.scale:g}"
    drawn = DrawnRun("Figure 2", title, iterations, MOMENTS, descent.panels, descent.film, results.flow)
    growth = save_figure(plot_panels(panels, panel_size=(4.4, 3.8)), folder / "fig2-time.png")
    return draw_run(drawn, backdrop, folder / "fig2", growth)


FIGURE = PaperFigure(
    "boursier2024/fig2",
    __doc__,
    Settings(width=2_000, iterations=60_000, unbalanced_width=1_000),
    Settings(width=WIDTH, iterations=ITERATIONS),
    compute,
    claims,
    draw,
)
