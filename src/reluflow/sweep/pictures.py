"""Pictures of a sweep: curves with bands over one setting, a map over two, small multiples over three."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.sweep.asked_scales import PREFIX, SCALE, asked_scales
from reluflow.sweep.page import write_page
from reluflow.sweep.plan import Plan
from reluflow.sweep.result import SweepResult
from reluflow.sweep.summary import Cell, Summary, summarize
from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
from reluflow.viz.phase_diagram import PhaseMap, Threshold, Zone, plot_phase_maps
from reluflow.viz.saving import save_figure

PICTURE, PAGE = "picture.png", "index.html"
MOST_PANELS = 12


def draw_sweep(
    result: SweepResult,
    *,
    event: str | None = None,
    measure: str | None = None,
    title: str = "",
    zones: Sequence[Zone] = (),
    thresholds: Sequence[Threshold] = (),
) -> list[Path]:
    """Draw a sweep into its folder: a picture, and a page where each point names its command.

    Parameters
    ----------
    result
        A finished sweep.
    event, measure
        What is drawn, as in `summarize`.
    title
        Above the picture; by default the dataset.
    zones, thresholds
        What a theory says, over the first setting and over both.

    Returns
    -------
    list of Path
        The files.
    """
    summary = summarize(result, event=event, measure=measure)
    heading = title or result.plan.base.data
    figure = figure_of(summary, title=heading, zones=zones, thresholds=thresholds, plan=result.plan)
    picture = save_figure(figure, result.folder / PICTURE)
    return [picture, write_page(summary, result, picture, heading)]


def figure_of(
    summary: Summary,
    *,
    title: str = "",
    zones: Sequence[Zone] = (),
    thresholds: Sequence[Threshold] = (),
    plan: Plan | None = None,
) -> Any:
    """The figure of a summary; with its plan also the scales that the theorems among its measures ask for."""
    settings = len(summary.names)
    if settings == 0:
        raise InvalidInputError("`--plot` needs a setting other than the seed to draw over, got none.")
    if settings == 1:
        return _curves(summary, title, plan)
    if settings == 2:
        lines = [*thresholds, *theory_lines(summary, plan)]
        return plot_phase_maps([_map(summary, summary.cells, title, zones, lines)], columns=1, size=(5.6, 4.4))
    if settings == 3 and len(summary.values[2]) <= MOST_PANELS:
        panels = []
        for place, value in enumerate(summary.values[2]):
            cells = [cell for cell in summary.cells if cell.place[2] == place]
            lines = [*thresholds, *theory_lines(summary, plan, third=place)]
            panels.append(_map(summary, cells, f"{summary.names[2]} = {value}", zones, lines))
        return plot_phase_maps(panels, columns=3, title=title)
    raise InvalidInputError(
        f"`--plot` draws over at most three settings, the third with at most {MOST_PANELS} values, got "
        f"{', '.join(f'{name} ({len(v)})' for name, v in zip(summary.names, summary.values, strict=True))}."
    )


def axis_numbers(values: Sequence[Any]) -> tuple[FloatArray, Literal["linear", "log"], bool]:
    """Values as numbers on an axis, how it is scaled, and whether they are only their places (texts)."""
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        return np.arange(len(values), dtype=np.float64), "linear", True
    is_beyond_doubles = any(isinstance(value, str) for value in values) and bool(np.any(numbers == 0))  # 1e-400
    if is_beyond_doubles or not np.all(np.isfinite(numbers)):
        return np.arange(len(values), dtype=np.float64), "linear", True
    if len(numbers) < 3 or not np.all(numbers > 0):
        return numbers, "linear", False
    ratios = np.sort(numbers)[1:] / np.sort(numbers)[:-1]
    is_log = ratios.prod() >= 50 or bool(np.ptp(ratios) < 0.05 * ratios.mean() and ratios.mean() > 1.5)
    return numbers, "log" if is_log else "linear", False


def _label(summary: Summary) -> str:
    return f"share of seeds with {summary.quantity}" if summary.is_probability else f"{summary.quantity} (mean)"


def theory_lines(
    summary: Summary, plan: Plan | None, third: int | None = None, *, keys: Sequence[str] = ()
) -> list[Threshold]:
    """For each theorem, by default those among the measures, the scale below which its hypotheses hold, where swept."""
    if plan is None or SCALE not in summary.names[:2]:
        return []
    raw = {axis.name: axis.values for axis in plan.axes}
    other = next((name for name in summary.names[:2] if name != SCALE), None)
    fixed = {} if third is None else {summary.names[2]: str(raw[summary.names[2]][third])}
    _, _, are_places = axis_numbers(summary.values[summary.names.index(SCALE)])
    along = axis_numbers(summary.values[summary.names.index(other)])[0] if other is not None else np.zeros(1)
    lines = []
    for key in keys or [m.name.removeprefix(PREFIX) for m in plan.measures if m.name.startswith(PREFIX)]:
        found = asked_scales(plan, key, other, fixed)
        inside = [] if are_places else sorted((along[one.place], one.scale) for one in found if 0 < one.scale < np.inf)
        x, y = tuple(float(at) for at, _ in inside), tuple(float(scale) for _, scale in inside)
        words = f"hypotheses of {key} hold below (first seed)"
        if not inside:
            where = "nowhere" if all(one.scale == 0 for one in found) else "in part" if are_places else "everywhere"
            words = f"hypotheses of {key} hold {where} here (first seed)"
        lines.append(Threshold(x, y, words) if summary.names.index(SCALE) == 1 else Threshold(y, x, words))
    return lines


def _curves(summary: Summary, title: str, plan: Plan | None) -> Any:
    x, scale, are_places = axis_numbers(summary.values[0])
    order = np.argsort(x)
    cells = [summary.cells[place] for place in order]
    curve = Curve(
        x[order],
        [cell.value for cell in cells],
        "95 % (Wilson)" if summary.is_probability else "10 % to 90 %",
        kind="marked",
        low=[cell.low for cell in cells],
        high=[cell.high for cell in cells],
    )
    limits = (-0.03, 1.03) if summary.is_probability else None
    lines = theory_lines(summary, plan)
    guides = [Guide(line.x[0], line.label, is_vertical=True, look=1) for line in lines if line.x]
    note = "; ".join(line.label for line in lines if not line.x)
    name = summary.names[0]
    if are_places:
        name += ": " + ", ".join(f"{place} {value}" for place, value in enumerate(summary.values[0]))
    panel = Panel(title, name, _label(summary), [curve], guides, x_scale=scale, y_limits=limits, note=note)
    return plot_panels([panel], columns=1, panel_size=(5.6, 3.8))


def phase_map(summary: Summary, title: str, thresholds: Sequence[Threshold] = ()) -> PhaseMap:
    """A summary over two settings as a map."""
    return _map(summary, summary.cells, title, (), thresholds)


def _map(
    summary: Summary, cells: Sequence[Cell], title: str, zones: Sequence[Zone], thresholds: Sequence[Threshold]
) -> PhaseMap:
    (x, x_scale, names_x), (y, y_scale, names_y) = map(axis_numbers, summary.values[:2])
    values = np.full((len(y), len(x)), np.nan)
    for cell in cells:
        values[cell.place[1], cell.place[0]] = cell.value
    along, up = np.argsort(x), np.argsort(y)
    return PhaseMap(
        title,
        summary.names[0],
        summary.names[1],
        _label(summary),
        x[along].tolist(),
        y[up].tolist(),
        values[np.ix_(up, along)],
        x_scale,
        y_scale,
        limits=(0.0, 1.0) if summary.is_probability else None,
        level=0.5 if summary.is_probability else None,
        zones=zones,
        thresholds=thresholds,
        x_names=[str(summary.values[0][place]) for place in along] if names_x else (),
        y_names=[str(summary.values[1][place]) for place in up] if names_y else (),
    )
