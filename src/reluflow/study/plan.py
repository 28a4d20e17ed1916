"""How a study is made: which task when, where its result goes, and what is left open where time runs out."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from reluflow.after_run import Stage
from reluflow.budget import SLOWEST
from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.limits.levelling import may_be_stiff
from reluflow.dynamics.flow_choice import choose_flow
from reluflow.dynamics.stopping import LONGEST_WAIT
from reluflow.geometry.alignment import alignment_of
from reluflow.geometry.extremal import extremal_vectors
from reluflow.interruption import interrupt_between_steps
from reluflow.network.network import Network
from reluflow.study.allowed import FLOW_SHARE, GEOMETRY_SHARE, Allowed
from reluflow.study.cut_parts import CutPart, parts_cut_in
from reluflow.study.descent_rates import compare_with_descent, is_comparable
from reluflow.study.flow_summary import FlowInterrupted, follow_flow
from reluflow.study.neuron_groups import neuron_groups
from reluflow.study.ordered_results import OrderedResults
from reluflow.study.pieces import Pieces
from reluflow.study.repetitions import RepeatedRun, Repetitions
from reluflow.study.scale_advice import scale_advice_of
from reluflow.study.studied_problem import one_output_only, problem_of
from reluflow.study.task import Finished, StudyTask
from reluflow.study.task_words import TASK_WORDS, listed, parts_of
from reluflow.study.verdicts import TheoremAnswer, answer_of, ask, ask_theorem
from reluflow.study.whole_study import Study
from reluflow.study.workers import AbstractWorkers, SerialWorkers
from reluflow.theory.diagnosis import diagnose
from reluflow.theory.registry import theorems
from reluflow.theory.theorem import Theorem
from reluflow.vanishing_scale.forecast import forecast
from reluflow.warm_up import Work, warm_up, work_of

LARGEST_SEPARATOR = 50_000_000  # n d beyond which the separator is left out
# neurons followed in closed form, fewer for large data: each meets some share of the n boundaries, at n d each
ALIGNED_NEURONS, ALIGNMENT_WORK = 10_000, 5e8
LARGEST_FOR_THEOREMS = 100_000  # n d beyond which the theorems' own runs would take minutes
LARGEST_GEOMETRY = 200_000  # n d beyond which extremal vectors and alignments would take minutes
LARGEST_FORECAST = 5_000  # n d m beyond which the path at vanishing scale may take minutes
THEOREM_SHARE = 0.25  # of them, for the runs of one theorem, whose steps are bounded anyway
FEWEST_SECONDS = 1.0  # for a theorem
WORK_SHARE = 1.5  # of them, where work is counted, for the first run and all that follows it: two cores do both at once
STOP_SECONDS = 4.0  # what a run may take to hand in what it has, after Ctrl-C
LATE_SECONDS = 30.0  # what certifying its end may take beyond the time allowed

_COSTS = {"flow": 5.0}  # of a task, in units of the others, until it is known


class RunningStudy:
    """One study under way.

    Parameters
    ----------
    study
        The study with nothing found yet.
    draw
        From seed, scale and width to a network; None where the network is given.
    network
        The network of the first run.
    seeds, scales
        What the run is repeated with.
    allowed
        What it may cost.
    workers
        Who does the tasks.
    pieces
        Where what is finished is kept, and taken from; None keeps nothing.
    """

    def __init__(
        self,
        study: Study,
        draw: Callable[[int, str, int], Network] | None,
        network: Network,
        *,
        seeds: int,
        scales: Sequence[str],
        allowed: Allowed,
        workers: AbstractWorkers,
        pieces: Pieces | None = None,
    ) -> None:
        self._study = study
        self._draw = draw
        self._problem = problem_of(study, network)
        self._repetitions = Repetitions(draw, study, seeds, scales, allowed.seconds)
        self._theorems: dict[str, Theorem] = {}
        self._allowed = allowed
        self._workers = workers
        self._pieces = pieces
        self._tasks: dict[str, StudyTask] = {}
        self._taken: deque[Finished] = deque()  # what an earlier call finished, to be put in its place
        self._later = OrderedResults(WORK_SHARE * allowed.seconds if allowed.counts_work else np.inf)
        self._open: list[str] = []
        self._cuts: list[CutPart] = []
        self._answers: dict[str, TheoremAnswer] = {}
        self._done_cost = 0.0
        self._end = np.inf

    # -- the tasks ----------------------------------------------------------------------------------------------

    def compile(self, on_stage: Callable[[str], None]) -> None:
        """Compile what the study needs and this machine has not compiled before; the clock does not run yet."""
        problem = self._problem

        def show(done: int, total: int) -> None:
            on_stage(f"compiling numerical kernels, once per machine: {done} of {total}")

        # in one go, since the flow of a classifier to its end is mostly that by collocation, whose kernels take longest
        first = [Work.COLLOCATION_FLOW, Work.CERTIFICATES] if problem.loss.is_classification else []
        if problem.is_plain and problem.dataset.X.size <= LARGEST_GEOMETRY:  # else neither geometry nor theorems
            first += [Work.EVENT_DRIVEN_FLOW, Work.ALIGNMENT, Work.EXTREMAL_VECTORS]
        if first:
            warm_up(*first, on_progress=show)
        chosen = choose_flow(problem, to_the_end=may_be_stiff(problem))  # may ask a certificate
        warm_up(*work_of(chosen.solver, problem.loss), on_progress=show)

    def begin(self, asked: Sequence[Theorem]) -> None:
        """Start the clock and queue what comes first."""
        self._theorems = {theorem.key: theorem for theorem in asked}
        self._end = time.monotonic() + self._allowed.longest
        self._add_first()

    def _add_first(self) -> None:
        """The first run, which is the answer, and beside it what is quick: diagnosis and geometry."""
        allowed = self._allowed
        seconds = FLOW_SHARE * allowed.seconds
        follow = partial(follow_flow, self._problem, max_steps=allowed.max_steps, max_seconds=seconds)
        self._submit(StudyTask("flow", follow, has_progress=True, counts_work=allowed.counts_work))
        study, most = self._study, self._geometry_seconds
        self._add("diagnosis", partial(diagnose, study.dataset, study.loss, leak=study.leak, max_seconds=most))
        self._add_geometry()

    @property
    def _geometry_seconds(self) -> float:
        return GEOMETRY_SHARE * self._allowed.seconds

    def _add_later(self) -> None:
        """What gets its share of the time only after the first run has its end and its certificate."""
        dataset, leak, allowed = self._study.dataset, self._study.leak, self._allowed
        if not self._problem.is_plain:  # the path at vanishing scale and the theorems speak of plain problems only
            return
        if dataset.X.size * self._problem.network.num_neurons <= LARGEST_FORECAST:
            self._add_in_order("process", partial(forecast, self._problem, max_seconds=self._geometry_seconds))
        if not self._theorems:
            return
        if self._study.flow is not None and is_comparable(self._problem, self._study.flow):
            compare = partial(compare_with_descent, self._problem, max_seconds=self._geometry_seconds)
            self._add_in_order("descent", compare)
        if dataset.X.size > LARGEST_FOR_THEOREMS:
            self._open.append(
                f"The theorems were not checked: n d = {dataset.X.size:,} is above {LARGEST_FOR_THEOREMS:,}; "
                "`reluflow check` checks one."
            )
            self._cuts.append(CutPart("theorems", f"n d at most {LARGEST_FOR_THEOREMS:,}", "all verdicts"))
            return
        keys, known = list(self._theorems), theorems()
        self._add_in_order("advice", partial(scale_advice_of, self._problem, keys))
        seconds = max(FEWEST_SECONDS, THEOREM_SHARE * allowed.seconds)
        for key in keys:
            # functions of a theorem do not travel, so that another process, and another call, finds it by its key
            is_known = self._theorems[key] in known or not isinstance(self._workers, SerialWorkers)
            asker = partial(ask_theorem, key) if is_known else partial(ask, self._theorems[key])
            question = partial(asker, dataset, leak, self._study.seed, max_seconds=seconds)
            self._add_in_order(key, question, is_stored=is_known)

    def _add_geometry(self) -> None:
        dataset, loss, leak = self._study.dataset, self._study.loss, self._study.leak
        if dataset.is_binary and dataset.X.size <= LARGEST_SEPARATOR:
            self._add("separator", partial(linear_separator, dataset))
        if not self._problem.is_plain:
            self._open.append(one_output_only(self._problem))
            return
        if dataset.X.size > LARGEST_GEOMETRY:
            for name in ("extremal", "alignment"):
                self._open.append(
                    f"{TASK_WORDS[name][1]} was not computed: n d = {dataset.X.size:,} is above {LARGEST_GEOMETRY:,}."
                )
                self._cuts.append(CutPart(TASK_WORDS[name][0], f"n d at most {LARGEST_GEOMETRY:,}", "all of it"))
            return
        network = self._problem.network
        if self._draw is not None:
            followed = int(np.clip(ALIGNMENT_WORK / (dataset.n * dataset.X.size), 100, ALIGNED_NEURONS))
            network = self._draw(self._study.seed, "1", followed)
        most = self._geometry_seconds
        self._add("extremal", partial(extremal_vectors, dataset, loss, leak=leak, max_seconds=most))
        self._add("alignment", partial(alignment_of, dataset, loss, network.w, network.a, leak=leak, max_seconds=most))

    def _add(self, name: str, function: Callable[..., Any], *, is_stored: bool = True) -> None:
        self._submit(StudyTask(name, function, is_stored=is_stored, counts_work=self._allowed.counts_work))

    def _add_in_order(self, name: str, function: Callable[..., Any], *, is_stored: bool = True) -> None:
        """Queue what follows the first run."""
        self._later.expect(name)
        self._add(name, function, is_stored=is_stored)

    def _repeat(self, runs: Sequence[RepeatedRun]) -> None:
        for run in runs:
            self._add_in_order(run.name, run.run)

    def _submit(self, task: StudyTask) -> None:
        finished = None if self._pieces is None else self._pieces.find(task)
        if finished is not None:
            self._taken.append(finished)
            return
        self._tasks[task.name] = task
        self._workers.submit(task)

    @property
    def _unfinished(self) -> list[str]:
        return [*(finished.name for finished in self._taken), *self._later.early, *self._workers.unfinished]

    def _seconds_left(self) -> float:
        """For a repetition, on the clock; work is counted where it is done."""
        return np.inf if self._allowed.counts_work else max(self._end - time.monotonic(), 0.5)

    # -- the results --------------------------------------------------------------------------------------------

    def run(
        self,
        on_stage: Callable[[str], None],
        on_share: Callable[[float], None],
        on_found: Callable[[Study], None] | None,
    ) -> Study:
        """Do the tasks as long as there is time, and tell who asked after each; Ctrl-C comes through.

        Where other processes compute, it comes through between two answers, so that none is lost half-read.
        """
        if isinstance(self._workers, SerialWorkers):
            return self._run(on_stage, on_share, on_found, lambda: None)
        with interrupt_between_steps() as let_through:
            return self._run(on_stage, on_share, on_found, let_through)

    def _run(
        self,
        on_stage: Callable[[str], None],
        on_share: Callable[[float], None],
        on_found: Callable[[Study], None] | None,
        let_through: Callable[[], None],
    ) -> Study:
        workers = self._workers
        workers.on_start = lambda name: on_stage(self._stage(name))
        workers.on_progress = lambda name, words: on_stage(f"{self._stage(name)}: {words}")
        found = self.study()
        while self._unfinished:
            let_through()
            left = self._end - time.monotonic()
            if left <= 0:
                self._give_up(f"within {self._allowed.longest_in_words}", self._allowed.longest_in_words, hurry=False)
                return self.study()
            finished = self._taken.popleft() if self._taken else self._next_finished(min(left, 0.5))
            if finished is None:
                continue
            self._arrive(finished)
            on_share(self.share)
            found = self.study()
            if on_found is not None:
                on_found(found)
        return found

    def _next_finished(self, timeout: float) -> Finished | None:
        """The next task that finishes, kept before anything else is done with it."""
        finished = self._workers.next_finished(timeout)
        if finished is not None and finished.refusal is None and self._pieces is not None:
            self._pieces.keep(self._tasks[finished.name], finished)
        return finished

    def _arrive(self, finished: Finished) -> None:
        """Put a result in its place, or keep it until those before it are there; drop what finds no work left."""
        if finished.name not in self._later:
            self._later.seconds_left -= finished.seconds if finished.name == "flow" else 0.0
            self.take(finished)
            return
        for due in self._later.due(finished):
            self.take(due)
        names = self._later.left_out()
        for name in names:
            self._workers.drop(name)
        self._taken = deque(one for one in self._taken if one.name not in names)
        if names:
            words = self._allowed.in_words(WORK_SHARE)
            self._say_not_finished([*names, *self._repetitions.waiting], f"with {words}", words)
            self._repetitions.forget_waiting()

    def interrupt(self, interrupt: KeyboardInterrupt) -> Study:
        """After Ctrl-C: take what a run hands in, and say what is missing."""
        if isinstance(interrupt, FlowInterrupted):
            self._workers.drop("flow")
            self.take(Finished("flow", interrupt.summary))
        self._give_up("before the interruption", "the interruption", hurry=True)
        return self.study()

    def _give_up(self, when: str, limit: str, *, hurry: bool) -> None:
        """Leave out what is not done; the first run, which a study cannot do without, ends in its own time."""
        while self._taken:  # which may lead to more
            self._arrive(self._taken.popleft())
        for finished in self._later.give_up():
            self.take(finished)
        names = self._workers.unfinished
        longest = LATE_SECONDS
        if not self._allowed.counts_work:  # seconds of processor time, of which a busy machine gives a part
            longest += LONGEST_WAIT * FLOW_SHARE * self._allowed.seconds
        for finished in self._workers.stop(STOP_SECONDS if hurry else longest, hurry=hurry):
            self.take(finished)
            names.remove(finished.name)
            if not finished.is_whole:
                self._open.append(f"Not finished {when}: certifying the end of the first run.")
                self._cuts.append(CutPart("certifying the end of the first run", limit, "what it ends at"))
        names += [*self._workers.unfinished, *self._repetitions.waiting]  # also what a run that came in has led to
        self._workers.stop(0.0, hurry=True)
        self._say_not_finished(names, when, limit)

    def _say_not_finished(self, names: Sequence[str], when: str, limit: str) -> None:
        if names:
            self._open.append(f"Not finished {when}: {listed(names, self._theorems)}.")
            self._cuts += [CutPart(part, limit, "not finished") for part in parts_of(names, self._theorems)]

    @property
    def share(self) -> float:
        """Share of the work that is done, about."""
        left = sum(_COSTS.get(name, 1.0) for name in (*self._unfinished, *self._repetitions.waiting))
        return self._done_cost / (self._done_cost + left) if self._done_cost else 0.0

    def take(self, finished: Finished) -> None:
        """Put a result in its place."""
        name, value = finished.name, finished.value
        if finished.is_late:
            limit = f"{SLOWEST:g} times the seconds of work, for this machine is slow"
            self._cuts += [CutPart(part, limit, "the rest") for part in parts_of([name], self._theorems)]
        self._done_cost += _COSTS.get(name, 1.0)
        if finished.refusal is not None:
            what = TASK_WORDS[name][1] if name in TASK_WORDS else name
            self._open.append(f"{what} could not be computed: {finished.refusal}")
            if name == "flow":
                self._add_later()
            elif name not in TASK_WORDS and name not in self._theorems:
                self._repeat(self._repetitions.after(name, None))
        elif name in self._theorems:
            answer = value if isinstance(value, TheoremAnswer) else answer_of(self._theorems[name], value)
            self._answers[name] = answer
        elif name == "flow":
            self._study = replace(self._study, flow=value)
            with self._stage_of("Grouping the neurons of the run"):
                groups = neuron_groups(value.limit.network, self._study.dataset)
                self._study = replace(self._study, groups=groups)
            self._add_later()
            with self._stage_of("Planning the repetitions of the run"):
                left = self._seconds_left()
                self._repeat(self._repetitions.begin(value, max_steps=self._allowed.max_steps, seconds_left=left))
        elif name in TASK_WORDS:
            self._study = replace(self._study, **{name: value})
        else:
            with self._stage_of(f"Comparing the run {name} with the first"):
                self._repeat(self._repetitions.after(name, value))
        self._study = replace(self._study, variations=self._repetitions.variations)

    @contextmanager
    def _stage_of(self, name: str) -> Iterator[None]:
        """A stage after a run, whose failure is one more open question."""
        with Stage(name) as stage:
            yield
        if stage.failure:
            self._open.append(stage.failure)

    def study(self) -> Study:
        """What is found so far."""
        answers = tuple(self._answers[key] for key in self._theorems if key in self._answers)
        left = self._unfinished
        pending = [] if not left else [listed([*left, *self._repetitions.waiting], self._theorems)]
        cuts = [*parts_cut_in(self._study, self._allowed), *self._cuts, *self._repetitions.cuts]
        return replace(
            self._study,
            answers=answers,
            open_questions=(*self._open, *self._repetitions.open),
            pending=tuple(pending),
            cuts=tuple(dict.fromkeys(cuts)),
        )

    def _stage(self, name: str) -> str:
        if name in TASK_WORDS:
            return TASK_WORDS[name][0]
        if name in self._theorems:
            return f"checking {name}"
        done = len(self._study.variations) + 1
        return f"run {min(done, len(self._repetitions))} of {len(self._repetitions)} ({name})"
