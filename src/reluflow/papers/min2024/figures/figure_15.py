"""Figure 15: the path of a neuron and the maximal path, with their travel times.

The paper draws the path of Figure 14 beside the maximal one, $(0, n_-)$, ..., (0, 1), (1, 1), (1, 0), ..., $(n_+, 0)$.
It has the largest length $n$ and, so the proof says, the largest travel time of all.

Here the path is that of a real neuron of the exact flow. Beside the grid stand the times its pattern really took, the
travel time the proof allows its path, and that of the maximal path.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.paths_run import (
    CountPaths,
    Settings,
    all_paths,
    compute,
    maximal_path,
    path_of,
    reaching,
    shown_neuron,
    travel,
)
from reluflow.papers.min2024.theorems.constants import path_length


def claims(settings: Settings, results: CountPaths) -> tuple[Claim, ...]:
    """The chain of inequalities at the end of App. C.2."""
    plus, minus, unit = results.num_positive, results.num_negative, results.unit
    chosen = reaching(results)
    own = np.array([unit * travel(path_of(results, j)) for j in chosen])
    settled = np.array([float(np.nanmax(results.times[j])) for j in chosen])
    longest = unit * travel(maximal_path(plus, minus))
    every = all_paths(plus, minus)
    return (
        Claim.equal(
            "the maximal path has length $n = n_+ + n_-$ (steps)",
            len(maximal_path(plus, minus)) - 1,
            plus + minus,
            source="App. C.2",
        ),
        Claim.near(
            r"its travel time is $H_{n_-} + 1/2 + H_{n_+-1}$ (in units of $4/(\kappa \sqrt{\mu} X_{\min})$)",
            travel(maximal_path(plus, minus)),
            path_length(plus, minus),
            atol=1e-12,
            source="App. C.2",
        ),
        Claim.below(
            f"a neuron reaches $S_+$ within the travel time of its path ({len(chosen)} neurons; largest time over it)",
            float(np.max(settled / own)),
            1.0,
            why=r"The bound is far off, as $\kappa \le \mu^2$ is hidden in it (erratum E3).",
            source="App. C.2",
        ),
        Claim.below(
            "no neuron's path has a longer travel time than the maximal one (largest share)",
            np.max(own) / longest,
            1.0,
            source="App. C.2",
        ),
        Claim.below(
            f"and no path at all has: all {len(every):,} of single steps (largest share)",
            max(travel(path) for path in every) * unit / longest,
            1.0 + 1e-12,
            source=OURS,
        ),
        Claim.below(
            r"it is at most $t_1 = 16\,\log n/(\kappa \sqrt{\mu} X_{\min})$ (share)",
            longest / (4.0 * unit * np.log(settings.n)),
            1.0,
            source="App. C.2",
        ),
    )


def draw(settings: Settings, results: CountPaths, folder: Path) -> tuple[Path, ...]:
    """The two paths, and how their travel times add up beside the real times."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.count_grid import CountGrid, GridPath
    from reluflow.viz.panels import Curve, Panel
    from reluflow.viz.saving import save_figure

    plus, minus, unit = results.num_positive, results.num_negative, results.unit
    shown = shown_neuron(results)
    path, longest = path_of(results, shown), maximal_path(plus, minus)
    sums = [unit * np.cumsum([0.0, *(1.0 / sum(node) for node in nodes[:-1])]) for nodes in (path, longest)]
    times = results.times[shown][: len(path)]
    parts: list[Part] = [
        CountGrid(
            "a path and the maximal path",
            plus,
            minus,
            [GridPath(longest, "maximal path", 0), GridPath(path, "path of a neuron", 1)],
        ),
        Curves(
            Panel(
                "time at which each step is made",
                "step",
                "time $t$",
                [
                    Curve(np.arange(1, len(longest)), sums[1][1:], "maximal path, allowed", look=0, kind="marked"),
                    Curve(np.arange(1, len(path)), sums[0][1:], "the neuron's path, allowed", look=1, kind="marked"),
                    Curve(np.arange(1, len(path)), times[1:], "the neuron, exact flow", look=2, kind="marked"),
                ],
                y_scale="log",
                legend="below",
            )
        ),
    ]
    return (save_figure(plot_parts(parts, columns=2, part_size=(4.6, 4.2)), folder / "fig15.png"),)


FIGURE = PaperFigure(
    "min2024/fig15", __doc__, Settings(num_neurons=60), Settings(num_neurons=600), compute, claims, draw
)
