r"""Figure 4: in deep wide networks, too, weights grow from a small start and shrink from a large one.

The paper trains fully connected ReLU networks of depth 5 and width 50 without biases on Gaussian inputs, by full-batch
gradient descent, from weights of standard deviation 0.04 (SN, rate 8e-4, 100,000 steps) and 0.44 (LN, rate 1e-4,
30,000 steps), and plots loss and magnitude: the small one grows, the large one shrinks, and the small one's loss stays
on a plateau first. "$N(0, k)$" has $k$ as a standard deviation (erratum E12); the teacher is not given, here it has
the same shape and standard deviation $0.2 = \sqrt{2/50}$; the magnitude is the norm of all weights, drawn beside each
layer's. With teachers of standard deviation 0.22, half of the large start's as in Figure 1, or of one neuron
the same is seen: it is the draw, not the teacher, that decides whether the magnitude is monotone.

From the large start the printed rate overshoots in the first steps for some draws. A third run, at a tenth of that
rate, shows what the flow does. The quick size takes the small start at 25 times the rate, which gives the same curves
over rate times steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.keep import Keep
from reluflow.losses import SquareLoss
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.lee2022.data import deep_teacher
from reluflow.papers.workbench import Workbench

STARTS = ("small", "large", "slow")  # slow: the large start at a tenth of the rate
SIZES = (100, 50, 50, 50, 50, 1)
MOMENTS = 200
ROUNDING = 5e-7  # of a norm: some units in the last place of single precision, in which the runs are


@dataclass(frozen=True)
class Settings:
    """Samples, seeds, and standard deviation, rate and steps of each of `STARTS`."""

    n: int
    seeds: tuple[int, ...]
    rates: tuple[float, float, float]
    steps: tuple[int, int, int]
    stds: tuple[float, float, float] = (0.04, 0.44, 0.44)
    teacher_std: float = 0.2


@dataclass(frozen=True)
class RunSettings:
    """What one run depends on."""

    n: int
    seed: int
    rate: float
    steps: int
    std: float
    teacher_std: float


@dataclass(frozen=True, eq=False)
class DeepRun:
    """One run at its kept iterations.

    Parameters
    ----------
    seed
        Of samples, teacher and start.
    iterations, losses
        Step numbers, and the loss there.
    norms
        Norm of each layer, one row per kept iteration.
    outcome, device
        The code of how the run ended, and where it was computed.
    """

    seed: int
    iterations: IntArray
    losses: FloatArray
    norms: FloatArray
    outcome: str
    device: str

    def magnitudes(self) -> FloatArray:
        """Norm of all weights at the kept iterations."""
        return np.asarray(np.linalg.norm(self.norms, axis=1))

    def relative_changes(self) -> FloatArray:
        """Change of the magnitude from one kept iteration to the next, over its first value."""
        values = self.magnitudes()
        return np.asarray(np.diff(values) / values[0])

    def end_over_largest(self) -> float:
        """The magnitude at the end over the largest one at the records before."""
        values = self.magnitudes()
        return float(values[-1] / values[:-1].max())


@dataclass(frozen=True, eq=False)
class DeepRuns:
    """The runs from each of `STARTS`, one per seed."""

    small: tuple[DeepRun, ...]
    large: tuple[DeepRun, ...]
    slow: tuple[DeepRun, ...]


def compute(settings: Settings, workbench: Workbench) -> DeepRuns:
    """Every seed from every start; what diverges is kept as far as it was finite."""
    runs = [(number, start, seed) for seed in settings.seeds for number, start in enumerate(STARTS)]
    found: tuple[list[DeepRun], ...] = ([], [], [])
    for count, (number, start, seed) in enumerate(runs):
        run = RunSettings(
            n=settings.n,
            seed=seed,
            rate=settings.rates[number],
            steps=settings.steps[number],
            std=settings.stds[number],
            teacher_std=settings.teacher_std,
        )

        def show(step: int, loss: float, count: int = count, run: RunSettings = run) -> None:
            words = f"std {run.std:g}, rate {run.rate:g}, seed {run.seed}, loss {loss:.3g}"
            workbench.progress((count + step / run.steps) / len(runs), words)

        found[number].append(workbench.piece(f"{start}-{seed}", DeepRun, partial(one_run, run, show), settings=run))
    small, large, slow = (tuple(of_start) for of_start in found)
    return DeepRuns(small, large, slow)


def one_run(settings: RunSettings, show: Callable[[int, float], None] | None = None) -> DeepRun:
    """Train one network and keep its loss and the norms of its layers."""
    from reluflow.deep import DeepDescent, gaussian_layers, parameter_norms, train_deep

    data = deep_teacher(
        np.random.default_rng(settings.seed),
        n=settings.n,
        d=SIZES[0],
        width=SIZES[1],
        depth=len(SIZES) - 1,
        std=settings.teacher_std,
    )
    start = gaussian_layers(SIZES, std=settings.std, rng=np.random.default_rng([settings.seed, 3]))
    steps = settings.steps
    moments = np.concatenate([np.linspace(0, steps, MOMENTS + 1), np.geomspace(1, steps, MOMENTS)])
    run = train_deep(
        start,
        data,
        SquareLoss(),
        DeepDescent(lr=settings.rate, iterations=steps, precision="float32"),
        keep=Keep(iterations=moments.astype(int), measure=lambda run: {"norms": parameter_norms(run.network())}),
        progress=show,
    )
    return DeepRun(settings.seed, run.iterations, run.losses, run.records["norms"], run.outcome.code, run.device)


def finished(runs: tuple[DeepRun, ...]) -> list[DeepRun]:
    """Those that stayed finite to the end."""
    return [run for run in runs if run.outcome == "finished"]


def plateau(run: DeepRun, rate: float) -> float:
    """Time, rate x step, at which the loss first falls below half of its first value; infinite if never."""
    below = np.flatnonzero(run.losses < 0.5 * run.losses[0])
    return float(rate * run.iterations[below[0]]) if below.size else np.inf


def claims(settings: Settings, results: DeepRuns) -> tuple[Claim, ...]:
    """Growth from a small start, decrease from a large one, and the plateau."""
    small, large, slow = (finished(runs) for runs in (results.small, results.large, results.slow))
    lost = len(STARTS) * len(settings.seeds) - len(small) - len(large) - len(slow)
    growth = [float(np.min(run.relative_changes())) for run in small]
    rise, slow_rise = ([float(np.max(run.relative_changes())) for run in runs] for runs in (large, slow))
    small_rate, _, slow_rate = settings.rates
    late = [plateau(run, small_rate) for run in small]
    early = [plateau(run, slow_rate) for run in slow]
    return (
        Claim.above(
            "from a small start the magnitude never decreases, in one draw as the paper shows it (smallest relative "
            f"change, best of {len(small)} draws)",
            max(growth, default=np.nan),
            -ROUNDING,
            finding=True,
            why="Draws that dip do so by up to 0.04 % between two records as they begin to fit.",
            source="Fig. 4(a), caption: “strictly increases until it converges”",
        ),
        Claim.above(
            f"and in every draw (smallest relative change, {len(small)} seeds)",
            np.min(growth) if growth else np.nan,
            -ROUNDING,
            finding=True,
            why="At the paper's size two of three draws dip by up to 0.02 % between two records as they begin to fit, "
            "and four of six with the teacher of standard deviation 0.22 that App. D.3 also allows.",
            source=OURS,
        ),
        Claim.above(
            "and is larger at the end than it ever was (last over the largest before, smallest of the seeds)",
            min((run.end_over_largest() for run in small), default=np.nan),
            1.0,
            source=OURS,
        ),
        Claim.below(
            "from a large start the magnitude never increases, at a tenth of the printed rate (largest relative "
            f"change, {len(slow)} seeds)",
            np.max(slow_rise) if slow_rise else np.nan,
            ROUNDING,
            source=OURS,
        ),
        Claim.below(
            "from a large start the magnitude never increases, at the printed rate, in one draw as the paper shows it "
            f"(largest relative change, best of {len(large)} draws)",
            min(rise, default=np.nan),
            ROUNDING,
            source="Fig. 4(b), caption: “strictly decreases until it converges”",
        ),
        Claim.below(
            f"and in every draw (largest relative change, {len(large)} seeds)",
            np.max(rise) if rise else np.nan,
            ROUNDING,
            finding=True,
            why="The rate 1e-4 overshoots in the first steps of some draws, whatever the teacher, and decreases "
            "afterwards.",
            source=OURS,
        ),
        Claim.above(
            "the small start leaves its plateau later (time to half the loss, earliest small over latest large)",
            min(late, default=np.nan) / max(early, default=np.nan),
            1.0,
            source="App. D.2: “slows down convergence speed”",
        ),
        Claim.equal(
            f"no run diverges (of {len(STARTS) * len(settings.seeds)} runs)",
            lost,
            0,
            finding=True,
            why="From the large start the rate 1e-4 is at the edge of stability: some draws overflow in a few steps.",
            source=OURS,
        ),
    )


def whole_decades(values: list[FloatArray]) -> tuple[float, float] | None:
    """The powers of ten around positive values: with one power in sight an axis crowds itself with what lies between.

    >>> whole_decades([np.array([0.12, 3.0]), np.array([4.0])])
    (0.1, 10.0)
    """
    if not values:
        return None
    logs = np.log10(np.concatenate(values))
    return 10.0 ** float(np.floor(np.min(logs))), 10.0 ** float(np.ceil(np.max(logs)))


def draw(settings: Settings, results: DeepRuns, folder: Path) -> tuple[Path, ...]:
    """Loss and magnitude of every start, and the layers of its first seed."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    panels = []
    of_starts = (results.small, results.large, results.slow)
    for start, of_start, rate, std in zip(STARTS, of_starts, settings.rates, settings.stds, strict=True):
        runs = finished(of_start)
        first = 0 if start == "small" else 1  # on a logarithmic axis step 0 has a place as step + 1
        losses, sizes = [], []
        for look, run in enumerate(runs):
            time = rate * (run.iterations + first)
            losses.append(Curve(time, run.losses, f"seed {run.seed}", look=look))
            sizes.append(Curve(time, run.magnitudes(), f"seed {run.seed}", look=look))
        layers = [
            Curve(rate * (run.iterations + first), norms / norms[0], f"$W_{layer + 1}$", look=layer)
            for run in runs[:1]
            for layer, norms in enumerate(run.norms.T)
        ]
        steps = "(step + 1)" if first else "step"
        axis, name = f"time = {steps} × rate {rate:g}", f"std {std:g}, rate {rate:g}"
        scale: Literal["linear", "log"] = "linear" if start == "small" else "log"  # its first steps decide
        panels += [
            Panel(
                f"loss, {name}",
                axis,
                "loss $L$",
                losses,
                x_scale=scale,
                y_scale="log",
                y_limits=whole_decades([run.losses for run in runs]),
                legend="below",
            ),
            Panel(f"magnitude, {name}", axis, "norm of all weights", sizes, x_scale=scale, legend="below"),
            Panel(
                f"each layer, seed {runs[0].seed if runs else '-'}",
                axis,
                "norm / norm at the start",
                layers,
                [Guide(1.0, "as at the start")],
                x_scale=scale,
                legend="below",
            ),
        ]
    return (save_figure(plot_panels(panels, columns=3, panel_size=(3.3, 2.5)), folder / "fig4.png"),)


FIGURE = PaperFigure(
    "lee2022/fig4",
    __doc__,
    Settings(n=600, seeds=(0, 1), rates=(2e-2, 1e-4, 1e-5), steps=(1_200, 300, 400)),
    Settings(n=10_000, seeds=(0, 1, 2), rates=(8e-4, 1e-4, 1e-5), steps=(100_000, 30_000, 30_000)),
    compute,
    claims,
    draw,
)
