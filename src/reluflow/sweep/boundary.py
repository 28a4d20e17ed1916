"""Where a probability passes one half, without a grid: bisection, with as many seeds as each decision needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.sweep.events import CountedEvent, parse_event
from reluflow.sweep.measures import Function, Measure
from reluflow.sweep.run import ShowProgress, sweep
from reluflow.sweep.swept import spaced_value
from reluflow.sweep.values import Interval
from reluflow.wilson import wilson_interval


@dataclass(frozen=True)
class Count:
    """How often the event happened at one value."""

    value: str
    successes: int
    trials: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the probability."""
        return wilson_interval(self.successes, self.trials)

    def side(self, probability: float) -> int:
        """-1 where the interval lies below the probability, 1 where above, 0 where it holds it."""
        low, high = self.interval
        return 1 if low > probability else -1 if high < probability else 0


@dataclass(frozen=True)
class Bracket:
    """Where the probability of an event passes a level.

    Parameters
    ----------
    name
        The setting that was moved.
    low, high
        The last value on each side at which Wilson's interval excludes the level. Each of these decisions is right with
        95 % on its own; that the probability is monotone between them is assumed, not shown.
    probability
        The level.
    undecided
        Whether values were met at which the seeds could not decide; both sides were then narrowed on their own.
    counts
        What was seen, in the order it was asked.
    """

    name: str
    low: Count
    high: Count
    probability: float
    undecided: bool
    counts: tuple[Count, ...]

    @property
    def nearest(self) -> Count | None:
        """Of the values at which the seeds could not decide, the one whose frequency is closest to the level."""
        open_counts = [count for count in self.counts if count.side(self.probability) == 0]
        return min(open_counts, key=lambda c: abs(c.successes / c.trials - self.probability), default=None)


def find_boundary(
    case: Experiment | str,
    name: str,
    interval: Interval,
    *,
    event: str | CountedEvent,
    measure: str | Function | Measure | None = None,
    probability: float = 0.5,
    seeds: int = 64,
    first_seeds: int = 8,
    rtol: float = 0.05,
    out: str | os.PathLike[str] | None = None,
    progress: ShowProgress | None = None,
    **options: Any,
) -> Bracket:
    """Bisect for the value of a setting at which an event has a given probability over seeds.

    At each point seeds are added, 8, 16, 32, ..., until Wilson's 95 % interval excludes the level or `seeds` are used
    up; so points far from the boundary cost little. Where they do not decide, the last value that is decided is looked
    for on each side, so that the bracket is as narrow as these seeds allow. All runs are kept like those of any sweep.

    Parameters
    ----------
    case
        The base case.
    name
        The setting to move, such as "scale" or a parameter of the dataset.
    interval
        Where to look; its `is_log` says whether halves are taken in the logarithm.
    event
        `MEASURE=VALUE`, or a measure that is true or false.
    measure
        A function of your own that the event's measure stands for.
    probability
        The level.
    seeds, first_seeds
        Most and fewest seeds at a point.
    rtol
        Stop when the bracket, or each side of it, is shorter than this share of the interval.
    out, progress, options
        As in `sweep`.

    Returns
    -------
    Bracket
        The two values between which the probability passes, and the counts at every value tried.

    Examples
    --------
    >>> from reluflow.sweep.values import parse_interval
    >>> found = find_boundary(
    ...     Experiment("three-point-angle", width=30, scale="1e-4"), "angle", parse_interval("70..110", name="angle"),
    ...     event="end=interpolates", first_seeds=4, seeds=4, rtol=0.3, executor="serial")
    >>> found.low.value, found.high.value
    ('90', '100')
    """
    wanted = parse_event(event) if isinstance(event, str) else event
    if not 0.0 < probability < 1.0 or not 1 <= first_seeds <= seeds:
        raise InvalidInputError(
            "`probability` must lie in (0, 1) and `first_seeds` between 1 and `seeds`, got "
            f"{probability}, {first_seeds} and {seeds}."
        )
    counts: list[Count] = []
    base = Experiment(case) if isinstance(case, str) else case

    def count_at(share: Decimal) -> Count:
        text = spaced_value(base, name, interval.at(share))
        trials = first_seeds
        while True:
            over = {name: [text], "seed": range(trials)}
            made = sweep(base, over=over, measure=[measure or wanted.measure], out=out, progress=progress, **options)
            if made.failed:
                why = made.frame().query("status == 'failed'")["error"].iloc[0]
                raise InvalidInputError(f"`{name}` = {text} must run for every seed; {made.failed} failed: {why}")
            successes = int(wanted.happened(made.frame()[wanted.measure]).sum())
            found = Count(text, successes, trials)
            if found.side(probability) or trials >= seeds:
                counts.append(found)
                return found
            trials = min(2 * trials, seeds)

    def narrowed(decided: Decimal, other: Decimal) -> Decimal:
        """The last share on the way from a decided one to another at which the seeds still decide, to the tolerance."""
        while abs(other - decided) > Decimal(rtol):
            middle = (decided + other) / 2
            found = count_at(middle)
            if found.value in (ends[decided].value, ends[other].value):
                break  # neighbouring whole numbers
            ends[middle] = found
            if found.side(probability) == ends[decided].side(probability):
                decided = middle
            else:
                other = middle
        return decided

    ends = {share: count_at(share) for share in (Decimal(0), Decimal(1))}
    first, last = ends[Decimal(0)], ends[Decimal(1)]
    if first.side(probability) * last.side(probability) != -1:
        raise InvalidInputError(
            f"`interval` must have the event on one side and not on the other; at {name} = {first.value} it happened "
            f"{first.successes} times in {first.trials}, at {last.value} {last.successes} in {last.trials}."
        )
    low, high = Decimal(0), Decimal(1)
    while high - low > Decimal(rtol):
        middle = (low + high) / 2
        found = count_at(middle)
        if found.value in (ends[low].value, ends[high].value):
            break  # neighbouring whole numbers
        ends[middle] = found
        if found.side(probability) == 0:
            low, high = narrowed(low, middle), narrowed(high, middle)
            return Bracket(name, ends[low], ends[high], probability, True, tuple(counts))
        low, high = (middle, high) if found.side(probability) == first.side(probability) else (low, middle)
    return Bracket(name, ends[low], ends[high], probability, False, tuple(counts))
