"""Figure 3: what the flow does at an activation boundary: ridge, valley, refraction edge.

The paper sketches in red how a gradient flow may go on from a point where the loss is not differentiable: atop a ridge
it may leave to either side, or stay for a while, so that it is not unique; in a valley it slides along the bottom; at a
refraction edge it passes and bends. Only a ridge makes it branch.

Here each is an exact solution for one balanced neuron on two samples, at the boundary of the first: above, the loss as
a function of $w$ with $a = |w|$ or $a = -|w|$, which the flow keeps; below, the plane of $w$. The claims add two data
models of the paper: hinted data, where neurons slide, and orthogonally separable data, where they are only refracted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.certificates.one_class import leaky_margins
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.event import EventKind
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Trajectory
from reluflow.geometry.boundary.decision import Ridge
from reluflow.network.initialization import lyu_balanced_initialization
from reluflow.network.network import Network, leaky_relu
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.lyu2021.figures.panels import LEAK, LOSS
from reluflow.papers.lyu2021.theorems.boundaries import boundary_at
from reluflow.papers.workbench import Workbench

KINDS = ("ridge", "valley", "refraction")
SIGNS = {"ridge": 1.0, "valley": -1.0, "refraction": 1.0}  # of the output weight
WINDOW = (-0.5, 0.5, 0.0, 0.9)  # of w; beyond, the ridge and the valley come to an end
NUM_TIMES = 60
HINTED_SEED = 1  # of four balanced neurons, two of either sign
SIDES: tuple[Ridge, ...] = ("positive", "negative", "stay")


def problem_of(kind: str, w: tuple[float, float]) -> TrainingProblem:
    """One balanced neuron with these input weights on the two samples of a kind; the first sample is (1, 0)."""
    dataset = {
        "ridge": load("lyu-ridge"),
        "valley": Dataset([[1.0, 0.0], [0.85, 0.6]], [1.0, -1.0], name="valley"),
        "refraction": Dataset([[1.0, 0.0], [0.7, 0.7]], [1.0, 1.0], name="refraction edge"),
    }[kind]
    return TrainingProblem(dataset, LOSS, Network([w], [SIGNS[kind] * np.hypot(*w)], leak=LEAK))


@dataclass(frozen=True)
class Settings:
    """Where the drawn paths start, how long they last, and the two wider runs."""

    ridge_starts: tuple[tuple[float, float], ...] = ((0.0, 0.3), (0.12, 0.12), (-0.12, 0.2))
    valley_starts: tuple[tuple[float, float], ...] = ((0.13, 0.3), (-0.1, 0.2), (0.08, 0.1), (-0.25, 0.3))
    refraction_starts: tuple[tuple[float, float], ...] = ((-0.35, 0.05), (-0.42, 0.3), (-0.2, 0.15))
    horizon: float = 10.0
    perturbation: float = 1e-9
    small: float = 1e-2  # |w| at the start of the two perturbed runs
    hinted_scale: float = 1e-4
    orthogonal_width: int = 50
    rtol: float = 1e-10

    def starts(self, kind: str) -> tuple[tuple[float, float], ...]:
        """Where the paths of a picture start."""
        return {"ridge": self.ridge_starts, "valley": self.valley_starts, "refraction": self.refraction_starts}[kind]


@dataclass(frozen=True, eq=False)
class BoundaryPaths:
    """One picture.

    Parameters
    ----------
    kind, above, below, slope
        Of the boundary: what it is, the normal speeds over |a| on its two sides, and the slope between them.
    paths, losses
        Input weights and losses of each run at the times, shapes (runs, times, 2) and (runs, times).
    slides, refractions
        Of each run: how often it slid, and how often it passed the boundary of the first sample.
    entries
        When each run first began to slide; infinite where it did not.
    """

    kind: str
    above: float
    below: float
    slope: float
    paths: FloatArray
    losses: FloatArray
    slides: IntArray
    refractions: IntArray
    entries: FloatArray


@dataclass(frozen=True, eq=False)
class TwoSides:
    """Unit directions from either side of the ridge, early and in the limit, shape (2, 2), and the best neuron w^+."""

    early: FloatArray
    late: FloatArray
    best: FloatArray


@dataclass(frozen=True, eq=False)
class HintedSlides:
    """Slides on hinted data: along which samples, how many, and |theta|^2 where the first begins and the last ends."""

    samples: IntArray
    slides: int
    positive_slides: int
    entry_norm: float
    exit_norm: float
    outcome: str


@dataclass(frozen=True)
class OrthogonalEvents:
    """Refractions on orthogonally separable data, and slides, ridges and deaths."""

    refractions: int
    others: int


@dataclass(frozen=True, eq=False)
class BoundaryRuns:
    """What Figure 3 shows: the pictures by kind, how the solver ends atop the ridge, and the other runs."""

    pictures: Mapping[str, BoundaryPaths]
    ridge_outcome: str
    times: FloatArray
    sides: TwoSides
    hinted: HintedSlides
    orthogonal: OrthogonalEvents


def compute(settings: Settings, workbench: Workbench) -> BoundaryRuns:
    """Paths and normal speeds of the three pictures, the two branches of the ridge, and the two wider runs."""
    pictures = {}
    times = np.linspace(0.0, settings.horizon, NUM_TIMES)
    for kind in KINDS:
        workbench.progress(0.2 * KINDS.index(kind), kind)
        tiny = problem_of(kind, (0.0, 1e-6))
        boundary = boundary_at(tiny, tiny.network, 0, 0)
        size = abs(float(tiny.network.a[0]))
        starts = settings.starts(kind)
        runs = [_flow(problem_of(kind, start), times, settings.rtol, "positive") for start in starts]
        if kind == "ridge":
            atop = problem_of(kind, starts[0])
            runs[:1] = [_flow(atop, times, settings.rtol, side) for side in SIDES]
        passes = [run.events.of_kind(EventKind.REFRACTION).samples for run in runs]
        entries = [run.events.of_kind(EventKind.SLIDE_ENTRY).times for run in runs]
        pictures[kind] = BoundaryPaths(
            kind=str(boundary.kind),
            above=boundary.above / size,
            below=boundary.below / size,
            slope=boundary.slope,
            paths=np.array([[s.network.materialized().w[0] for s in run.snapshots] for run in runs]),
            losses=np.array([[s.loss for s in run.snapshots] for run in runs]),
            slides=np.array([run.slides for run in runs]),
            refractions=np.array([np.sum(samples == 0) for samples in passes]),
            entries=np.array([np.min(at, initial=np.inf) for at in entries]),
        )
    unnamed = train(problem_of("ridge", settings.ridge_starts[0]), EventDrivenFlow(rtol=settings.rtol))
    workbench.progress(0.6, "two sides of the ridge")
    sides = _two_sides(settings)
    workbench.progress(0.8, "hinted and orthogonally separable data")
    return BoundaryRuns(pictures, str(unnamed.outcome), times, sides, _hinted(settings), _orthogonal(settings))


def _flow(problem: TrainingProblem, times: FloatArray, rtol: float, ridge: Ridge) -> Trajectory:
    solver = EventDrivenFlow(rtol=rtol, ridge=ridge)
    return train(problem, solver, until=Exhausted(), times=times, horizon=float(times[-1]))


def _two_sides(settings: Settings) -> TwoSides:
    """Directions where |w|^2 + a^2 passes 0.01, and in the limit, from either side of the ridge."""
    early, late = [], []
    for side in (1.0, -1.0):
        problem = problem_of("ridge", (side * settings.perturbation * settings.small, settings.small))
        run = train(
            problem,
            EventDrivenFlow(rtol=settings.rtol),
            until=LimitIdentified(),
            log_horizon=500.0,
            keep=Keep(thinned=np.inf),
        )
        limit = certified_limit(run).network.w[0]
        w = next(frame.network.w[0] for frame in run.frames[1:] if frame.network.squared_norm() >= 1e-2)
        early.append(w / np.linalg.norm(w))
        late.append(limit / np.linalg.norm(limit))
    return TwoSides(np.array(early), np.array(late), leaky_margins(load("lyu-ridge"), LEAK).positive.w)


def _hinted(settings: Settings) -> HintedSlides:
    """How long negative neurons slide on the boundary of the third hint, in terms of |theta|^2."""
    dataset = load("lyu-hinted")
    rng = np.random.default_rng(HINTED_SEED)
    network = lyu_balanced_initialization(dataset, width=4, scale=settings.hinted_scale, rng=rng, leak=LEAK)
    run = train(
        TrainingProblem(dataset, LOSS, network),
        EventDrivenFlow(rtol=settings.rtol),
        until=LimitIdentified(),
        log_horizon=200.0,
        keep=Keep(thinned=np.inf),
    )
    times = np.array([frame.time for frame in run.frames[1:]])
    squares = np.array([frame.network.squared_norm() for frame in run.frames[1:]])
    entries, exits = (run.events.of_kind(kind) for kind in (EventKind.SLIDE_ENTRY, EventKind.SLIDE_EXIT))
    return HintedSlides(
        samples=np.unique(entries.samples),
        slides=len(entries),
        positive_slides=int(np.sum(network.a[entries.neurons] > 0.0)),
        entry_norm=float(np.interp(entries.times.min(), times, squares)),
        exit_norm=float(np.interp(exits.times.max(), times, squares)),
        outcome=str(run.outcome),
    )


def _orthogonal(settings: Settings) -> OrthogonalEvents:
    dataset = load("lyu-orthogonal")
    rng = np.random.default_rng(0)
    network = lyu_balanced_initialization(dataset, width=settings.orthogonal_width, scale=1e-3, rng=rng, leak=LEAK)
    run = train(
        TrainingProblem(dataset, LOSS, network),
        EventDrivenFlow(rtol=settings.rtol),
        until=LimitIdentified(),
        log_horizon=200.0,
    )
    others = (EventKind.SLIDE_ENTRY, EventKind.RIDGE, EventKind.DEATH)
    return OrthogonalEvents(
        refractions=run.events.count(EventKind.REFRACTION),
        others=sum(run.events.count(kind) for kind in others),
    )


def claims(settings: Settings, results: BoundaryRuns) -> tuple[Claim, ...]:
    """The three kinds with their exact speeds, what the solutions do, and the two data models."""
    early, late, best = results.sides.early, results.sides.late, results.sides.best
    ridge, valley, refraction = (results.pictures[kind] for kind in KINDS)
    entered = results.times[None, :] > valley.entries[:, None]
    offset = float(np.max(np.abs(valley.paths[..., 0])[entered], initial=0.0))
    return (
        Claim(
            "ridge: both sides push a positive neuron away from the boundary of a positive sample (normal speeds over "
            "a, on the positive and the negative side)",
            ridge.kind == "ridge" and bool(np.allclose([ridge.above, ridge.below], [0.075, -0.05], atol=1e-9)),
            (ridge.above, ridge.below),
            (0.075, -0.05),
            source="App. I.2.1, Fig. 3(a)",
        ),
        Claim(
            "ridge: the flow is not unique there (how the solver ends if no side is named)",
            results.ridge_outcome == "ridge",
            results.ridge_outcome,
            "ridge",
            source=OURS,
        ),
        Claim.above(
            f"ridge: perturbed by {settings.perturbation:g} to either side, neurons separate (degrees between them "
            f"at $|w|^2 = 0.01$, from $|w|$ = {settings.small:g})",
            np.degrees(np.arccos(early[0] @ early[1])),
            30.0,
            source="App. I.2.1: “may go down different slopes next”",
        ),
        Claim.below(
            "ridge: yet both tend to $w^+$ here: branches may end in one limit (distance of the certified directions)",
            np.max(np.linalg.norm(late - best, axis=1)),
            1e-9,
            source=OURS,
        ),
        Claim(
            "valley: both sides push a negative neuron back to the boundary of a positive sample (normal speeds "
            "over $|a|$)",
            valley.kind == "valley" and bool(np.allclose([valley.above, valley.below], [-0.0375, 0.0875], atol=1e-9)),
            (valley.above, valley.below),
            (-0.0375, 0.0875),
            source="App. I.2.1, Fig. 3(b)",
        ),
        Claim(
            "valley: every path reaches the boundary and slides along it (slides of each path)",
            bool(np.all(valley.slides == 1)),
            tuple(valley.slides.tolist()),
            (1,) * len(valley.slides),
            source="App. I.2.1, Fig. 3(b)",
        ),
        Claim.below(
            r"valley: sliding means $\langle w, x_1\rangle = 0$ as long as it is drawn (largest "
            r"$|\langle w, x_1\rangle|$)",
            offset,
            1e-12,
            source=OURS,
        ),
        Claim(
            "refraction edge: both sides move a neuron across (normal speeds over a)",
            refraction.kind == "refraction"
            and bool(np.allclose([refraction.above, refraction.below], [0.425, 0.3], atol=1e-9)),
            (refraction.above, refraction.below),
            (0.425, 0.3),
            source="App. I.2.1, Fig. 3(c)",
        ),
        Claim(
            "refraction edge: every path passes once and none slides (passages of each path)",
            bool(np.all(refraction.refractions == 1)) and not np.any(refraction.slides),
            tuple(refraction.refractions.tolist()),
            (1,) * len(refraction.refractions),
            source="App. I.2.1, Fig. 3(c)",
        ),
        Claim(
            rf"hinted data: negative neurons, and only they, slide along the boundary of the third hint (slides, of "
            rf"them positive neurons; from $|\theta|^2$ = {results.hinted.entry_norm:.2g} to "
            rf"{results.hinted.exit_norm:.2g})",
            results.hinted.samples.tolist() == [2]
            and results.hinted.slides > 0
            and results.hinted.positive_slides == 0,
            (results.hinted.slides, results.hinted.positive_slides),
            "(at least 1, 0)",
            source=OURS,
        ),
        Claim(
            "orthogonally separable data: neurons are only refracted (refractions; slides, ridges and deaths)",
            results.orthogonal.refractions > 0 and results.orthogonal.others == 0,
            (results.orthogonal.refractions, results.orthogonal.others),
            "(at least 1, 0)",
            source="App. I.2.1: “resemble the refraction edges”",
        ),
    )


def losses_over_plane(kind: str, x: FloatArray, y: FloatArray) -> FloatArray:
    """L of the balanced neuron at every w of a grid, shape (len(y), len(x))."""
    problem = problem_of(kind, (0.0, 1.0))
    across, upwards = np.meshgrid(x, y)
    w = np.column_stack([across.ravel(), upwards.ravel()])
    outputs = SIGNS[kind] * np.linalg.norm(w, axis=1)[:, None] * leaky_relu(w @ problem.dataset.X.T, LEAK)
    losses = [problem.loss.total(row, problem.dataset.y) for row in outputs]
    return np.array(losses).reshape(across.shape)


def draw(settings: Settings, results: BoundaryRuns, folder: Path) -> tuple[Path, ...]:
    """Three surfaces and three maps."""
    from reluflow.viz.landscapes import FlowPath, Landscape, plot_landscapes
    from reluflow.viz.saving import save_figure

    titles = {"ridge": "(a) Ridge", "valley": "(b) Valley", "refraction": "(c) Refraction edge"}
    notes = {
        "ridge": r"$a > 0$, $x_1 = (1, 0)$, $x_2 = (-0.7, 0.7)$, $y = (+, +)$",
        "valley": r"$a < 0$, $x_1 = (1, 0)$, $x_2 = (0.85, 0.6)$, $y = (+, -)$",
        "refraction": r"$a > 0$, $x_1 = (1, 0)$, $x_2 = (0.7, 0.7)$, $y = (+, +)$",
    }
    x, y = np.linspace(WINDOW[0], WINDOW[1], 121), np.linspace(WINDOW[2], WINDOW[3], 121)
    landscapes = []
    for kind in KINDS:
        paths = []
        for number, (points, losses) in enumerate(
            zip(results.pictures[kind].paths, results.pictures[kind].losses, strict=True)
        ):
            inside = (np.abs(points[:, 0]) <= WINDOW[1]) & (points[:, 1] <= WINDOW[3]) & (points[:, 1] >= WINDOW[2])
            last = len(points) if np.all(inside) else int(np.argmin(inside))
            look, label = "plain", "flow"
            if kind == "ridge" and number < len(SIDES):
                look = "stay" if SIDES[number] == "stay" else "branch"
                label = "stays on the ridge while it is one" if look == "stay" else "leaves the ridge"
            paths.append(FlowPath(points[:last], losses[:last], look, label))
        landscapes.append(Landscape(titles[kind], x, y, losses_over_plane(kind, x, y), paths, note=notes[kind]))
    return (save_figure(plot_landscapes(landscapes), folder / "fig3.png"),)


FIGURE = PaperFigure("lyu2021/fig3", __doc__, Settings(), Settings(orthogonal_width=1000), compute, claims, draw)
