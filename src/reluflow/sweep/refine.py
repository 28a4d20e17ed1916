"""Adaptive refinement: points where the measured quantity changes, chosen by the `adaptive` package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.sweep.case import Case
from reluflow.sweep.events import CountedEvent, parse_event
from reluflow.sweep.run import sweep
from reluflow.sweep.values import Interval

if TYPE_CHECKING:
    import pandas


def refine(
    case: Case | str,
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
        How many at a time, so that workers have something to share.
    seeds
        Runs at each point; the quantity is the share of these in which the event happens.
    out, options
        As in `sweep`.

    Returns
    -------
    DataFrame
        The settings, `successes`, `trials` and `share`, one row per point in the order they were chosen.
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
    rows: list[dict[str, Any]] = []
    while len(rows) < points:
        asked, _ = learner.ask(min(batch, points - len(rows)))
        for point in asked:
            shares = (float(point),) if len(over) == 1 else tuple(map(float, point))
            values = {name: over[name].at(share) for name, share in zip(names, shares, strict=True)}
            made = sweep(
                case,
                over={**{name: [text] for name, text in values.items()}, "seed": range(seeds)},
                measure=[wanted.measure],
                out=out,
                **options,
            )
            successes = int(wanted.happened(made.frame()[wanted.measure]).sum())
            learner.tell(point, successes / seeds)
            rows.append(
                {**{name: float(text) for name, text in values.items()}, "successes": successes, "trials": seeds}
            )
    frame = pandas.DataFrame(rows)
    frame["share"] = np.asarray(frame["successes"]) / seeds
    return frame
