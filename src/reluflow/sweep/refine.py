"""Adaptive refinement: points where the measured quantity changes, chosen by the `adaptive` package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.experiment import Experiment
from reluflow.sweep.events import CountedEvent, parse_event
from reluflow.sweep.run import sweep
from reluflow.sweep.swept import spaced_value
from reluflow.sweep.values import Interval

if TYPE_CHECKING:
    import pandas


def refine(
    case: Experiment | str,
    over: Mapping[str, Interval],
    *,
    event: str | CountedEvent,
    points: int = 100,
    batch: int = 8,
    seeds: int = 4,
    out: str | os.PathLike[str] | None = None,
    **options: Any,
) -> pandas.DataFrame:
    """Sample one or two settings where the frequency of an event changes.

    Parameters
    ----------
    case
        The base case.
    over
        One or two settings with the stretches to look at.
    event
        `MEASURE=VALUE`, or a measure that is true or false.
    points
        How many points in all.
    batch
        How many are chosen at a time; over one setting their runs are one sweep, over two each point is its own.
    seeds
        Runs at each point; the quantity is the share of these in which the event happens.
    out, options
        As in `sweep`.

    Returns
    -------
    DataFrame
        The settings, `successes`, `trials` and `share`, one row per point in the order they were chosen.

    Examples
    --------
    >>> from reluflow.experiment import Experiment
    >>> from reluflow.sweep.values import parse_interval
    >>> frame = refine(
    ...     Experiment("three-point-angle", width=10, scale="1e-3"), {"angle": parse_interval("80..100", name="angle")},
    ...     event="end=interpolates", points=3, seeds=1, executor="serial")
    >>> len(frame), float(frame["share"].min()), float(frame["share"].max())
    (3, 0.0, 1.0)
    """
    try:
        import adaptive
        import pandas
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "Adaptive refinement needs the package adaptive, which is not installed: pip install 'reluflow[adaptive]'."
        ) from error
    if len(over) not in (1, 2):
        raise InvalidInputError(f"`over` must name one or two settings, got {len(over)}.")
    wanted = parse_event(event) if isinstance(event, str) else event
    names = list(over)
    learner: Any = (
        adaptive.Learner1D(None, (0.0, 1.0)) if len(over) == 1 else adaptive.Learner2D(None, [(0.0, 1.0), (0.0, 1.0)])
    )
    base = Experiment(case) if isinstance(case, str) else case
    rows: list[dict[str, Any]] = []
    while len(rows) < points:
        asked, _ = learner.ask(min(batch, points - len(rows)))
        texts = [_texts(base, over, point) for point in asked]
        if len(names) == 1:  # the points of a batch are one sweep, whose workers share them
            first = {text[0]: text for text in texts}
            counted = _counted(base, {names[0]: list(first)}, wanted, seeds, out, options)
            found = [counted[text] for text in texts]
        else:
            singles = ({name: [text] for name, text in zip(names, point, strict=True)} for point in texts)
            found = [next(iter(_counted(base, one, wanted, seeds, out, options).values())) for one in singles]
        for point, text, successes in zip(asked, texts, found, strict=True):
            learner.tell(point, successes / seeds)
            rows.append({**dict(zip(names, map(float, text), strict=True)), "successes": successes, "trials": seeds})
    frame = pandas.DataFrame(rows)
    frame["share"] = np.asarray(frame["successes"]) / seeds
    return frame


def _texts(base: Experiment, over: Mapping[str, Interval], point: Any) -> tuple[str, ...]:
    """The values of the settings at a point of the unit interval or square."""
    shares = (float(point),) if len(over) == 1 else tuple(map(float, point))
    return tuple(spaced_value(base, name, over[name].at(share)) for name, share in zip(over, shares, strict=True))


def _counted(
    base: Experiment,
    over: Mapping[str, list[str]],
    event: CountedEvent,
    seeds: int,
    out: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
) -> dict[tuple[str, ...], int]:
    """How often the event happened at each combination of values, in their order."""
    made = sweep(base, over={**over, "seed": range(seeds)}, measure=[event.measure], out=out, **options)
    if made.failed:
        why = made.frame().query("status == 'failed'")["error"].iloc[0]
        raise InvalidInputError(f"`over` must run for every value and seed; {made.failed} cases failed: {why}")
    happened = event.happened(made.frame()[event.measure]).reshape(-1, seeds).sum(axis=1)
    return dict(zip(product(*over.values()), map(int, happened), strict=True))
