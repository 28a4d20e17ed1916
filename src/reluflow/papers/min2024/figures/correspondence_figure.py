"""What Figures 16 and 17 share: the edges of paths beside the edges of the maximal path that stand for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reluflow.papers.claim import Claim
from reluflow.papers.min2024.figures.paths_run import (
    CountPaths,
    Edge,
    Node,
    Settings,
    all_paths,
    edges,
    maximal_path,
    partner,
    path_of,
    reaching,
    shown_neuron,
)


def chosen_edges(path: list[Node], *, is_gain: bool) -> list[Edge]:
    """The edges of a path that gain a positive sample, or those that lose a negative one."""
    return [edge for edge in edges(path) if (edge[1][0] > edge[0][0]) == is_gain]


def _shortfalls(paths: list[list[Node]], plus: int, minus: int, *, is_gain: bool) -> tuple[int, int, int]:
    """Partners that are no edge of the maximal path, that serve twice in one path, that are quicker."""
    among = set(edges(maximal_path(plus, minus)))
    outside = twice = quicker = 0
    for path in paths:
        found = [(edge, partner(edge)) for edge in chosen_edges(path, is_gain=is_gain)]
        partners = [other for _, other in found]
        outside += sum(other not in among for other in partners)
        twice += len(partners) - len(set(partners))
        quicker += sum(sum(other[0]) > sum(edge[0]) for edge, other in found)
    return outside, twice, quicker


def correspondence_claims(*, is_gain: bool) -> Callable[[Settings, CountPaths], tuple[Claim, ...]]:
    """Judge the correspondence of one kind of edges, on real paths and on all there are."""
    kind = "gain a positive sample" if is_gain else "lose a negative sample"

    def claims(settings: Settings, results: CountPaths) -> tuple[Claim, ...]:
        plus, minus = results.num_positive, results.num_negative
        real = [path_of(results, j) for j in reaching(results)]
        judged = []
        for words, paths in ((f"{len(real)} neurons", real), ("every path of single steps", all_paths(plus, minus))):
            outside, twice, quicker = _shortfalls(paths, plus, minus, is_gain=is_gain)
            count = sum(len(chosen_edges(path, is_gain=is_gain)) for path in paths)
            judged += [
                Claim.equal(
                    f"{words}: the partners of the {count:,} edges that {kind} are edges of the maximal path (others)",
                    outside,
                    0,
                    source="App. C.2: “one-to-one correspondence”",
                ),
                Claim.equal(
                    f"{words}: in a path no two edges have the same partner (repetitions)",
                    twice,
                    0,
                    source="App. C.2: “one-to-one correspondence”",
                ),
                Claim.equal(
                    f"{words}: no edge takes longer than its partner (exceptions)",
                    quicker,
                    0,
                    source="App. C.2: “the travel time … is shorter”",
                ),
            ]
        return tuple(judged)

    return claims


def drawer_of(name: str, *, is_gain: bool) -> Callable[[Settings, CountPaths, Path], tuple[Path, ...]]:
    """Draw the two paths of Figure 15 with an arrow from each edge to its partner."""
    kind = "gain a positive sample" if is_gain else "lose a negative sample"

    def draw(settings: Settings, results: CountPaths, folder: Path) -> tuple[Path, ...]:
        from reluflow.viz.composed_figure import plot_parts
        from reluflow.viz.count_grid import CountGrid, GridPath
        from reluflow.viz.saving import save_figure

        plus, minus = results.num_positive, results.num_negative
        path, longest = path_of(results, shown_neuron(results)), maximal_path(plus, minus)
        links = [(edge, partner(edge)) for edge in chosen_edges(path, is_gain=is_gain) if edge != partner(edge)]
        costs = [f"1/{sum(node)}" for node in path[:-1]]
        slower = [f"1/{sum(node)}" for node in longest[:-1]]
        grid = CountGrid(
            f"edges that {kind} and their partners\n" + r"(at an edge: its time over $4/(\kappa\sqrt{\mu}X_{\min})$)",
            plus,
            minus,
            [
                GridPath(longest, "maximal path", 0, slower, has_words_left=True),
                GridPath(path, "path of a neuron", 1, costs),
            ],
            links,
            link_label="from an edge to its partner",
        )
        return (save_figure(plot_parts([grid], columns=1, part_size=(5.4, 5.0)), folder / name),)

    return draw
