r"""Figure 14: the path of a neuron in the grid of activation counts.

The paper draws by hand a path of length 10: every dot is a pair (positive samples, negative samples) that activate a
neuron, and a positive neuron goes right or down until it is in $S_+$.

Here the paths are those of hundreds of positive neurons of an exact flow at scale 1e-6, on ten random samples in
$\mathbb{R}^5$ that satisfy Assumption 1. The longest that reaches $S_+$ is drawn with the times of its steps, the
others behind it.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.paths_run import CountPaths, Settings, compute, path_of, reaching, shown_neuron


def claims(settings: Settings, results: CountPaths) -> tuple[Claim, ...]:
    """The four conditions on a path (the second is printed with both inequalities reversed, erratum E6)."""
    neurons = range(len(results.nodes))
    paths = [path_of(results, j) for j in neurons]
    goal = (results.num_positive, 0)
    backwards = sum(
        not (p_1 >= p_0 and m_1 <= m_0 and (p_1, m_1) != (p_0, m_0))
        for path in paths
        for (p_0, m_0), (p_1, m_1) in pairwise(path)
    )
    double = sum(p_1 - p_0 + m_0 - m_1 != 1 for path in paths for (p_0, m_0), (p_1, m_1) in pairwise(path))
    return (
        Claim.equal(
            f"2. a step gains positive or loses negative samples ({len(paths)} neurons; other steps)",
            backwards,
            0,
            source="App. C.2",
        ),
        Claim.equal("and one sample at a time (steps that change more)", double, 0, source="App. C.2"),
        Claim.equal(
            "3. a path ends with all positive samples and no negative one, or dead (other ends)",
            sum(path[-1] not in (goal, (0, 0)) for path in paths),
            0,
            source="App. C.2",
        ),
        Claim.equal(
            "4. a path that reaches $S_+$ never visits (0, 0) (visits)",
            sum((0, 0) in path_of(results, j) for j in reaching(results)),
            0,
            source="App. C.2",
        ),
        Claim.equal(
            "a path of length 10, the largest for ten samples, occurs (steps of the longest)",
            len(path_of(results, shown_neuron(results))) - 1,
            settings.n,
            source="Fig. 14, caption",
        ),
    )


def draw(settings: Settings, results: CountPaths, folder: Path) -> tuple[Path, ...]:
    """The grid, the longest path with its times, and the other paths behind."""
    from reluflow.viz.composed_figure import plot_parts
    from reluflow.viz.count_grid import CountGrid, GridPath
    from reluflow.viz.saving import save_figure

    shown = shown_neuron(results)
    path, times = path_of(results, shown), results.times[shown]
    words = [f"{time:.2f}" for time in times[1 : len(path)]]
    behind = [j for j in reaching(results) if j != shown]
    others = [
        GridPath(path_of(results, j), "the others that reach $S_+$" if place == 0 else "", is_faint=True)
        for place, j in enumerate(behind)
    ]
    grid = CountGrid(
        f"a path of length {len(path) - 1}, with the time of every step",
        results.num_positive,
        results.num_negative,
        [*others, GridPath(path, f"one of {len(results.nodes)} neurons", 1, words)],
    )
    return (save_figure(plot_parts([grid], columns=1, part_size=(5.2, 4.6)), folder / "fig14.png"),)


FIGURE = PaperFigure(
    "min2024/fig14", __doc__, Settings(num_neurons=60), Settings(num_neurons=600), compute, claims, draw
)
