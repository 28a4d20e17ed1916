"""The history of the benchmarks drawn: a panel per group, a line per benchmark and machine, versions along the axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reluflow.bench.history import HistoryLine, Machine
from reluflow.errors import InvalidInputError
from reluflow.viz.style import figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*"


def plot_history(history: Sequence[HistoryLine]) -> Figure:
    """Seconds of every benchmark from version to version, on a logarithmic axis; one marker per machine.

    Parameters
    ----------
    history
        As `read_history` gives it; at least one line.
    """
    if not history:
        raise InvalidInputError("`history` must have at least one line, got none; `reluflow bench --history` adds one.")
    from matplotlib.figure import Figure

    versions = list(dict.fromkeys(_version_of(line) for line in history))
    machines = list(dict.fromkeys(line.machine for line in history))
    groups = sorted({name.partition("/")[0] for line in history for name in line.seconds})
    with figure_style():
        figure = Figure(figsize=(8.0, 2.6 * len(groups) + 0.4 * len(machines)), layout="constrained")
        panels = figure.subplots(len(groups), 1, squeeze=False, sharex=True)[:, 0]
        for panel, group in zip(panels, groups, strict=True):
            names = sorted({name for line in history for name in line.seconds if name.partition("/")[0] == group})
            for colour, name in enumerate(names):
                for place, machine in enumerate(machines):
                    points = _points(history, machine, name, versions)
                    if points:
                        label = name.partition("/")[2] if place == 0 or len(machines) == 1 else None
                        panel.plot(*zip(*points, strict=True), _MARKERS[place % len(_MARKERS)] + "-", label=label,
                                   color=f"C{colour % 10}")  # fmt: skip
            panel.set(yscale="log", ylabel="seconds", title=group, xlim=(-0.5, len(versions) - 0.5))
            panel.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        panels[-1].set_xticks(range(len(versions)), versions)
        words = [f"{_MARKERS[place % len(_MARKERS)]}: {machine}" for place, machine in enumerate(machines)]
        figure.supxlabel("\n".join(["version (numerics)", *words]), fontsize="x-small")
    return figure


def _version_of(line: HistoryLine) -> str:
    return f"{line.version} ({line.numerics})"


def _points(
    history: Sequence[HistoryLine], machine: Machine, name: str, versions: list[str]
) -> list[tuple[int, float]]:
    return [
        (versions.index(_version_of(line)), line.seconds[name])
        for line in history
        if line.machine == machine and name in line.seconds
    ]
