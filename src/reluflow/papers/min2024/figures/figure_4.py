r"""Figure 4: the activation pattern of a neuron changes one sample at a time, and always in the same sense.

The paper's sketch: a positive neuron starts with activation on all negative samples and on no positive one; every
$O(1/n_a)$ time it loses a negative sample or gains a positive one, until it is dead or has reached $S_+$, after at
most $n$ changes. (The caption swaps the signs of its two markers.)

Here ten random samples in $\mathbb{R}^5$ satisfy Assumption 1, hundreds of positive neurons start in $S_-$ near $x_-$,
and the timelines of two of them are drawn: one that goes through all $n$ changes into $S_+$, and one that dies. Their
changes come from the closed form of Eq. (4), and are held against the exact flow of a network of scale 1e-6.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics import AtTime, EventDrivenFlow, TrainingProblem
from reluflow.dynamics.train import train
from reluflow.geometry.alignment import align_until
from reluflow.network import Network
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.paths_run import Settings
from reluflow.papers.min2024.figures.section_4 import (
    SUMMED,
    class_sums,
    cosines,
    separable_samples,
    smallest_correlation,
)
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, MINUS, PLUS, cones_of
from reluflow.papers.workbench import Workbench


@dataclass(frozen=True, eq=False)
class NeuronTimeline:
    """One neuron that is drawn.

    `start` is its activation pattern at the start and `end` the cone it ends in; `samples` change at `times` by Eq. (4)
    and at `flow_times` by the exact flow.
    """

    start: BoolArray
    end: int
    times: FloatArray
    samples: IntArray
    flow_times: FloatArray


@dataclass(frozen=True, eq=False)
class PatternChanges:
    """All neurons, and the timelines of two of them: one that ends in S_+ and one that dies.

    `num_changes`, `ends` and `saw_positive` have an entry for each neuron; `wrong` counts changes in the wrong sense,
    `dwell` is the longest stay times the samples active in it.
    """

    y: FloatArray
    shown: tuple[NeuronTimeline, NeuronTimeline]
    num_changes: IntArray
    ends: IntArray
    wrong: int
    dwell: float
    dwell_bound: float
    saw_positive: BoolArray
    mu: float


def compute(settings: Settings, workbench: Workbench) -> PatternChanges:
    """All neurons by Eq. (4); the two that are drawn also by the exact flow."""
    data = separable_samples(settings.seed, n=settings.n, d=settings.d, spread=settings.spread)
    w = _neurons(settings, data)
    a = np.ones(len(w))
    state = align_until(data.X, SUMMED.label_forces(data.y), w, a, settings.horizon)
    start = w @ data.X.T > 0.0
    events = state.events
    rows = [(np.flatnonzero(events.neurons == j)) for j in range(len(w))]
    histories = [_history(start[j], events.times[row], events.samples[row], data) for j, row in enumerate(rows)]
    ends = np.array([history[0] for history in histories])
    chosen = [_longest(ends, rows, PLUS), _longest(ends, rows, DEAD)]
    flow_times = _flow_times(settings, data, w[chosen])
    reaches, dies = (
        NeuronTimeline(start[j], int(ends[j]), events.times[rows[j]], events.samples[rows[j]], flow)
        for j, flow in zip(chosen, flow_times, strict=True)
    )
    mu = smallest_correlation(data)
    largest = float(np.max(cosines(w, class_sums(data)[1])))
    kappa = min(mu**2, 1.0 - largest**2)
    smallest = float(np.min(np.linalg.norm(data.X, axis=1)))
    return PatternChanges(
        y=data.y,
        shown=(reaches, dies),
        num_changes=np.array([len(row) for row in rows]),
        ends=ends,
        wrong=sum(history[1] for history in histories),
        dwell=float(max(history[2] for history in histories)),
        dwell_bound=float(4.0 / (kappa * np.sqrt(mu) * smallest)),
        saw_positive=np.array([history[3] for history in histories]),
        mu=mu,
    )


def _neurons(settings: Settings, data: Dataset) -> FloatArray:
    """Unit vectors in S_-, of norm 1, at random around x_-."""
    rng = np.random.default_rng([settings.seed, 1])
    middle = class_sums(data)[1]
    draws = middle / np.linalg.norm(middle) + settings.distance * rng.standard_normal(
        (60 * settings.num_neurons, data.d)
    )
    inside = draws[cones_of(draws @ data.X.T > 0.0, data.y) == MINUS][: settings.num_neurons]
    return np.asarray(inside / np.linalg.norm(inside, axis=1, keepdims=True))


def _history(start: BoolArray, times: FloatArray, samples: IntArray, data: Dataset) -> tuple[int, int, float, bool]:
    """Cone at the end, changes in the wrong sense, longest stay times samples active in it, any positive one seen."""
    active, wrong, longest, saw_positive, before = start.copy(), 0, 0.0, False, 0.0
    for time, sample in zip(times, samples, strict=True):
        longest = max(longest, (time - before) * float(np.sum(active)))
        active[sample] = ~active[sample]
        wrong += int(active[sample] != (data.y[sample] > 0))
        saw_positive |= bool(active[sample] and data.y[sample] > 0)
        before = float(time)
    return int(cones_of(active[None], data.y)[0]), wrong, longest, saw_positive


def _longest(ends: IntArray, rows: list[IndexArray], end: int) -> int:
    """Of the neurons that end in this cone, the first with the most changes."""
    chosen = np.flatnonzero(ends == end)
    return int(chosen[np.argmax([len(rows[j]) for j in chosen])])


def _flow_times(settings: Settings, data: Dataset, w: FloatArray) -> list[FloatArray]:
    """When the exact flow of these neurons alone changes their patterns."""
    problem = TrainingProblem(data, SUMMED, Network(w, np.ones(len(w)), log_scale=float(np.log(settings.scale))))
    run = train(problem, EventDrivenFlow(rtol=1e-10), until=AtTime(settings.horizon))
    events = run.events
    return [np.sort(events.times[events.neurons == j]) for j in range(len(w))]


def claims(settings: Settings, results: PatternChanges) -> tuple[Claim, ...]:
    """The statements of Sec. 3.3 about changes of the pattern, for all neurons."""
    ends, saw = results.ends, results.saw_positive
    count = len(ends)
    late = max(
        float(np.max(np.abs(shown.flow_times / shown.times - 1.0)))
        if len(shown.flow_times) == len(shown.times)
        else np.inf
        for shown in results.shown
    )
    return (
        Claim.equal(
            f"positive neurons only lose negative samples and gain positive ones ({count} neurons; other changes)",
            results.wrong,
            0,
            source="Sec. 3.3",
        ),
        Claim.below(
            "a pattern changes at most $n$ times (most changes)",
            int(np.max(results.num_changes)),
            settings.n,
            source="Sec. 3.3: “at most n changes”",
        ),
        Claim.equal(
            "a neuron that starts in $S_-$ and ends in $S_+$ has gone through all $n$ of them (exceptions)",
            int(np.sum(results.num_changes[ends == PLUS] != settings.n)),
            0,
            source="Sec. 3.3",
        ),
        Claim.equal(
            r"every neuron ends in $S_+$ or in $S_{\mathrm{dead}}$ (elsewhere)",
            int(np.sum((ends != PLUS) & (ends != DEAD))),
            0,
            source="Fig. 4, caption",
        ),
        Claim.equal(
            "it ends in $S_+$ if it activates some positive sample on the way, and dead if not (exceptions)",
            int(np.sum(saw != (ends == PLUS))),
            0,
            source="Fig. 4, caption",
        ),
        Claim.below(
            r"outside the traps a pattern lasts $O(1/n_a)$, at most $4/(\kappa \sqrt{\mu} X_{\min} n_a)$ (longest "
            r"stay times $n_a$)",
            results.dwell,
            results.dwell_bound,
            why=r"The bound is far off, as $\kappa \le \mu^2$ is hidden in it (erratum E3).",
            source="Fig. 4, caption",
        ),
        Claim.below(
            f"the exact flow at scale {settings.scale:g} changes patterns when Eq. (4) says (largest difference, % of "
            "the time)",
            100.0 * late,
            0.1,
            source=OURS,
        ),
    )


def draw(settings: Settings, results: PatternChanges, folder: Path) -> tuple[Path, ...]:
    """Two timelines, on one scale of time."""
    from reluflow.viz.composed_figure import Part, plot_parts
    from reluflow.viz.pattern_timeline import PatternTimeline
    from reluflow.viz.saving import save_figure

    end = 1.15 * max(float(shown.times[-1]) for shown in results.shown)
    words = {PLUS: r"reaches $S_+$", DEAD: r"reaches $S_{\mathrm{dead}}$"}
    parts: list[Part] = [
        PatternTimeline(
            f"a positive neuron from $S_-$ that {words[shown.end]}",
            results.y,
            shown.start,
            list(zip(shown.times.tolist(), shown.samples.tolist(), strict=True)),
            end,
            x_label=r"time $t$ of Eq. (4); a ring marks the sample that changes, a thick line an active sample",
        )
        for shown in results.shown
    ]
    return (save_figure(plot_parts(parts, columns=1, part_size=(7.2, 2.9)), folder / "fig4.png"),)


FIGURE = PaperFigure(
    "min2024/fig4",
    __doc__,
    Settings(num_neurons=100, horizon=10.0),
    Settings(num_neurons=2_000, horizon=10.0),
    compute,
    claims,
    draw,
)
