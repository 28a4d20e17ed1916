"""How many noisy samples of a linear teacher it takes until training no longer fits the noise, over the dimension."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.sweep.boundary import Bracket, find_boundary
from reluflow.sweep.diagrams.diagram import AbstractDiagram, Made
from reluflow.sweep.executors.executor import AbstractExecutor
from reluflow.sweep.pictures import PICTURE
from reluflow.sweep.run import ShowProgress
from reluflow.sweep.values import Interval
from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
from reluflow.viz.saving import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIMENSIONS = (2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20)
WIDTH, NOISE, LEARNING_RATE, ITERATIONS = 60, 0.5, 0.1, 1000


class OptimisationThreshold(AbstractDiagram):
    """For each dimension the number of samples at which half of the draws no longer fit half of the noise.

    Gaussian inputs, labels <v, x> + 0.5 g, 60 neurons from scale 0.01. With few samples the network fits the labels,
    noise and all; with many it ends near the least-squares line. The share of the least-squares residual it has fitted
    by time T = 100 distinguishes the two. The flow is followed by gradient descent of step 0.1, which at these sizes
    costs a hundredth; the time is finite and the width fixed, so this is a threshold of training to time T and not a
    statement on limits.
    """

    name = "optimisation-threshold"
    title = "Noise fitted or not: samples against dimension, linear teacher"

    def make(
        self, out: Path, executor: AbstractExecutor, *, is_quick: bool = False, progress: ShowProgress | None = None
    ) -> Made:
        brackets: dict[int, Bracket] = {}
        findings = []
        for d in (2, 4) if is_quick else DIMENSIONS:
            try:
                found = find_boundary(
                    base_case(d),
                    "n",
                    Interval(str(max(d + 1, d * d // 4)), str(max(4 * d * d, 40)), is_log=True),
                    event="fits_noise",
                    seeds=8 if is_quick else 32,
                    first_seeds=8,
                    rtol=0.2 if is_quick else 0.06,
                    out=out,
                    executor=executor,
                    progress=progress,
                )
            except InvalidInputError as error:
                findings.append(f"d = {d}: {error}")
                continue
            brackets[d] = found
            seen = "; ".join(
                f"n = {c.value}: {c.successes} of {c.trials}" for c in sorted(found.counts, key=lambda c: int(c.value))
            )
            end = "open between" if found.undecided else "between"
            findings.append(f"d = {d}: {end} n = {found.low.value} and {found.high.value} (fitted: {seen}).")
        files = [save_figure(_figure(brackets), out / PICTURE)] if brackets else []
        if len(brackets) > 2:
            log_d, log_n = np.log(list(brackets)), np.log([middle(b) for b in brackets.values()])
            slope = float(np.polyfit(log_d, log_n, 1)[0])
            findings.append(f"Over these dimensions the threshold grows like d^{slope:.2f} (a fit, not a theorem).")
        return Made(tuple(findings), tuple(files))


def base_case(d: int) -> Experiment:
    """The runs of one dimension; `n` is swept."""
    return Experiment(
        f"linear-teacher:d={d},noise={NOISE},task=regression",
        loss="square",
        width=WIDTH,
        scale="0.01",
        method="gd",
        lr=LEARNING_RATE,
        iterations=ITERATIONS,
    )


def middle(bracket: Bracket) -> float:
    """The value nearest to one half of those left open; where all were decided, half-way in the logarithm."""
    if bracket.nearest is not None:
        return float(bracket.nearest.value)
    return math.sqrt(float(bracket.low.value) * float(bracket.high.value))


def _figure(brackets: dict[int, Bracket]) -> Figure:
    d = np.array(list(brackets), dtype=np.float64)
    curve = Curve(
        d,
        [middle(b) for b in brackets.values()],
        "half of the seeds fit (band: decided at 95 %)",
        kind="marked",
        low=[float(b.low.value) for b in brackets.values()],
        high=[float(b.high.value) for b in brackets.values()],
    )
    line = Curve(d, d, "n = d, where least squares stops fitting", look=1)
    panel = Panel(
        "Fits the noise below, least squares above",
        "dimension d",
        "samples n",
        [curve, line],
        levels=(Guide(WIDTH * 1.0, f"n = width = {WIDTH}", look=7),),
        y_scale="log",
        y_limits=(1.5, 6000.0),
        legend="upper left",
    )
    return plot_panels([panel], columns=1, panel_size=(5.8, 5.0))
