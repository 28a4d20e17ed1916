"""Which runs repeat the first one, and when: the first draw at a scale shows whether the others there can end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from reluflow.dynamics.trajectory import Outcome
from reluflow.network.network import Network
from reluflow.network.scale import log_of_scale
from reluflow.study.cut_parts import CutPart
from reluflow.study.flow_summary import FlowSummary
from reluflow.study.sensitivity import Repetition, Variation, compare, repeat_flow, repetition_of
from reluflow.study.studied_problem import problem_of
from reluflow.study.whole_study import Study

FEWEST_SECONDS = 1.0  # of a repetition
REPETITION_SHARE = 1.25  # of the seconds of the first run, for each repetition
SMALLEST_SHARE = 0.05  # of the seconds of the study, for each of them at least
_PART = "other draws and scales"
_SPENT = {outcome.code: outcome for outcome in Outcome if outcome.is_spent}


class RepeatedRun(NamedTuple):
    """A run to be made, and its name."""

    name: str
    run: Callable[[], Repetition]


class Repetitions:
    """The repetitions of the first run of a study.

    Parameters
    ----------
    draw
        From seed, scale and width to a network; None where the network was given, and is not repeated.
    study
        Dataset, loss, width, and seed and scale of the first run.
    num_draws
        How many draws there are, the seed of the first run and those after it.
    scales
        At which each of them is made.
    seconds
        Of the whole study.

    Attributes
    ----------
    open
        A sentence for whatever is not run.
    cuts
        The same as parts that a limit cut short.
    """

    def __init__(
        self,
        draw: Callable[[int, str, int], Network] | None,
        study: Study,
        num_draws: int,
        scales: Sequence[str],
        seconds: float,
    ) -> None:
        self._draw = draw
        self._study = study
        self._seeds = [study.seed + k for k in range(num_draws)]
        self._scales = list(dict.fromkeys(scales))
        self._seconds = seconds
        self._first: FlowSummary | None = None
        self._waiting: dict[str, list[RepeatedRun]] = {}  # what is run only if the task of this name ends in time
        self._found: dict[str, Variation] = {}
        self.open: list[str] = []
        self.cuts: list[CutPart] = []

    def __len__(self) -> int:
        return len(self._seeds) * len(self._scales)

    @property
    def variations(self) -> tuple[Variation, ...]:
        """What is found so far, by scale and then by seed."""
        names = [repetition_name(seed, scale) for scale in self._scales for seed in self._seeds]
        return tuple(self._found[name] for name in names if name in self._found)

    @property
    def waiting(self) -> list[str]:
        """Names of those that depend on how the first at their scale ends."""
        return [run.name for runs in self._waiting.values() for run in runs]

    def forget_waiting(self) -> None:
        """Give up what has not begun."""
        self._waiting.clear()

    def begin(self, flow: FlowSummary, *, max_steps: float | None, seconds_left: float) -> list[RepeatedRun]:
        """What to run now that the first run is known: the first draw at each scale, and all where it is that run."""
        self._first = flow
        if not self._is_worth_trying(flow):
            return []
        share = max(FEWEST_SECONDS, REPETITION_SHARE * flow.seconds, SMALLEST_SHARE * self._seconds)
        seconds = min(seconds_left, share)
        leading: list[RepeatedRun] = []
        known: list[RepeatedRun] = []
        for scale in self._scales:
            first, *others = [self._run(seed, scale, max_steps, seconds) for seed in self._seeds]
            if log_of_scale(scale) == log_of_scale(self._study.scale):  # the first run itself
                self._found[first.name] = compare(flow, repetition_of(flow, self._seeds[0], scale))
                known += others
            else:
                leading.append(first)
                self._waiting[first.name] = others
        return leading + known

    def _is_worth_trying(self, flow: FlowSummary) -> bool:
        """Whether there is anything to compare; where not, a sentence says why."""
        if not len(self):
            return False
        if self._draw is None:
            self.open.append("Other draws and scales were not run: the network was given.")
            return False
        if not flow.has_ended:
            self.open.append("Other draws and scales were not run, because the first run did not reach its end.")
            self.cuts.append(CutPart(_PART, "the end of the first run", "whether the end depends on the draw or scale"))
            return False
        return True

    def _run(self, seed: int, scale: str, max_steps: float | None, seconds: float) -> RepeatedRun:
        assert self._draw is not None
        network = self._draw(seed, scale, self._study.width)
        problem = problem_of(self._study, network)
        return RepeatedRun(
            repetition_name(seed, scale), partial(repeat_flow, problem, seed, scale, max_steps, max_seconds=seconds)
        )

    def after(self, name: str, repetition: Repetition | None) -> list[RepeatedRun]:
        """Put a repetition in its place, and give those that waited for it; None where it could not be made."""
        assert self._first is not None
        if repetition is not None:
            self._found[name] = compare(self._first, repetition)
        waiting = self._waiting.pop(name, [])
        if repetition is None or repetition.outcome not in _SPENT or not waiting:
            return waiting
        others = "other draw was" if len(waiting) == 1 else f"other {len(waiting)} draws were"
        why = _SPENT[repetition.outcome].sentence
        self.open.append(
            f"At scale {repetition.scale} the {others} not run, because the first there did not reach its end: {why}"
        )
        limit = f"the end of the first run at scale {repetition.scale}"
        self.cuts.append(CutPart(_PART, limit, f"{len(waiting)} runs at scale {repetition.scale}"))
        return []


def repetition_name(seed: int, scale: str) -> str:
    """The name of the task that runs from this draw at this scale."""
    return f"seed {seed}, scale {scale}"
