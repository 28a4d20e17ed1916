r"""Figure 4: neurons align, classes separate, and the metrics of collapse tend to limits that are not all 0.

The paper trains residual networks with a ReLU classifier on MNIST and finds that normalising the features lowers NC1
clearly; those networks are outside its theory. Here is the theory's own case: the exact flow on the nine points of
`min2025-a` from small scale. The alignment $B_c$ of every neuron with its class, the cosine of features of different
classes, and NC1, NC2, NC3 against $\log t$, with their limits in closed form dashed: NC1 of the features as they are
tends to 0.0214 and that of normalised features to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.registry import load
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.network.initialization import sphere_initialization
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2025.alignments import DEAD, Alignments
from reluflow.papers.min2025.class_geometry import ClassGeometry
from reluflow.papers.min2025.collapse import CollapseMetrics, collapse_metrics, limit_metrics
from reluflow.papers.min2025.starts import problem_of
from reluflow.papers.workbench import Workbench

_BY_ROOT, _BY_LOG = (0.5, 1.0), (1.0, 2.0)  # powers of 1/log t by which a metric tends to its limit


@dataclass(frozen=True)
class Settings:
    """The dataset, the draw, and the last log t."""

    dataset: str = "min2025-a"
    width: int = 12
    scale: float = 1e-3
    seed: int = 0
    log_time: float = 600.0
    num_times: int = 40


@dataclass(frozen=True, eq=False)
class CollapseRun:
    """Times, alignments of the neurons that live, cosines across classes, and the metrics at each time.

    `limits` are NC1, NC1 normalised, NC2 and NC3 in closed form, `metrics` their columns.
    """

    times: FloatArray
    alignments: FloatArray
    classes: FloatArray
    crossing: FloatArray
    num_dead: int
    late_logs: FloatArray
    late: FloatArray
    limits: FloatArray
    class_losses: FloatArray
    first_times: FloatArray


def _row(metrics: CollapseMetrics) -> list[float]:
    return [metrics.within, metrics.within_normalised, metrics.between, metrics.self_dual]


def compute(settings: Settings, workbench: Workbench) -> CollapseRun:
    """One run, first to t = 6 and then to the last log t."""
    data = load(settings.dataset)
    geometry = ClassGeometry.of(data)
    network = sphere_initialization(data, width=settings.width, scale=settings.scale, rng=settings.seed)
    problem = problem_of(data, network)
    early = np.linspace(0.0, 6.0, settings.num_times)
    logs = np.geomspace(np.log(10.0), settings.log_time, 24)
    run = train(
        problem,
        CollocationFlow(rtol=1e-9),
        until=Exhausted(),
        times=[*early, *np.exp(logs)],
        horizon=float(np.exp(settings.log_time)),
    )
    first, last = run.snapshots[: early.size], run.snapshots[early.size :]
    groups = Alignments.of(last[-1].network, geometry).traps
    alive = groups >= 0
    B, crossing = [], []
    other = geometry.labels[:, None] != geometry.labels[None, :]
    for snapshot in first:
        B.append(Alignments.of(snapshot.network, geometry).own_B(groups)[alive])
        features = np.maximum(snapshot.network.pre_activations(data.X).T, 0.0)
        lengths = np.linalg.norm(features, axis=1, keepdims=True)
        unit = features / np.where(lengths > 0.0, lengths, 1.0)
        crossing.append(float(np.max((unit @ unit.T)[other])))
    losses = np.array([problem.loss.value(s.outputs, data.y) for s in first])
    return CollapseRun(
        early,
        np.array(B),
        groups[alive].astype(float),
        np.array(crossing),
        int(np.sum(groups == DEAD)),
        logs,
        np.array([_row(collapse_metrics(s.network, geometry)) for s in last]),
        np.array(_row(limit_metrics(geometry))),
        np.column_stack([losses[:, members].mean(axis=1) for members in geometry.members]),
        np.asarray(-np.log(settings.scale) / geometry.learning_rates),
    )


def extrapolated(results: CollapseRun, column: int, powers: tuple[float, ...]) -> float:
    """The constant of a fit a + sum b_p (log t)^-p over log t above 50."""
    late = results.late_logs > 50.0
    logs = results.late_logs[late]
    fit = np.column_stack([np.ones(logs.size), *(logs**-p for p in powers)])
    return float(np.linalg.lstsq(fit, results.late[late, column], rcond=None)[0][0])


def claims(settings: Settings, results: CollapseRun) -> tuple[Claim, ...]:
    """Alignment, separation, and the limits by extrapolation."""
    theorem = "Theorem 1"
    return (
        Claim.above("every live neuron aligns with the centred label of one class: least $B_c$ at $t$ = 6",
                    float(results.alignments[-1].min()), 0.97, source="Sec. 4.2"),
        Claim.below("features of different classes become exactly orthogonal: largest cosine at $t$ = 6",
                    float(results.crossing[-1]), 1e-12, source=theorem),
        Claim.below("so that NC2 is 0 from there on", float(results.late[:, 2].max()), 1e-12, source=theorem),
        Claim.below("NC1 of normalised features tends to 0 (extrapolated)",
                    abs(extrapolated(results, 1, (1.0, 1.5))), 1e-4, source=theorem),
        Claim.near("NC1 of the features as they are tends to its closed form, which is not 0 (extrapolated)",
                   extrapolated(results, 0, _BY_ROOT), float(results.limits[0]), atol=1e-3, source=OURS),
        Claim.near("NC3 with directions tends to its closed form (extrapolated)",
                   extrapolated(results, 3, _BY_LOG), float(results.limits[3]), atol=1e-3, source=OURS),
    )  # fmt: skip


def draw(settings: Settings, results: CollapseRun, folder: Path) -> tuple[Path, ...]:
    """Six panels."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    t, logs = results.times, results.late_logs
    neurons = [
        Curve(t, row, f"class {int(c) + 1}", look=int(c), is_faint=False)
        for c, row in zip(results.classes, results.alignments.T, strict=True)
    ]
    learnt = [Curve(t, row, f"class {c + 1}", look=c) for c, row in enumerate(results.class_losses.T)]
    marks = [Guide(float(time), is_vertical=True, look=c) for c, time in enumerate(results.first_times)]
    both = [
        Curve(logs, results.late[:, 0], "features", look=0),
        Curve(logs, np.maximum(results.late[:, 1], 1e-16), "normalised", look=1),
    ]
    panels = [
        Panel("(a) alignment of live neurons", "$t$", "$B_c$", neurons, x_limits=(0.0, 3.0)),
        Panel("(b) separation", "$t$", "largest cosine across classes", [Curve(t, results.crossing)], x_limits=(0, 3)),
        Panel("(c) a class is learnt", "$t$", "mean loss", learnt, levels=marks, x_limits=(0.0, 3.0)),
        Panel("(d) NC1", r"$\log t$", "NC1", both, levels=[Guide(float(results.limits[0]), "limit")], x_scale="log",
              y_scale="log", y_limits=(1e-12, 1.0)),
        Panel("(e) NC2", r"$\log t$", "NC2", [Curve(logs, results.late[:, 2])], x_scale="log", y_limits=(-0.01, 0.1)),
        Panel("(f) NC3, directions", r"$\log t$", "NC3", [Curve(logs, results.late[:, 3])],
              levels=[Guide(float(results.limits[3]), "limit")], x_scale="log"),
    ]  # fmt: skip
    return (save_figure(plot_panels(panels, columns=3), folder / "fig4.png"),)


FIGURE = PaperFigure(
    "min2025/fig4",
    __doc__,
    Settings(),
    Settings(width=16, num_times=60),
    compute,
    claims,
    draw,
    reduced="nine points and the exact flow, where the paper trains residual networks on images",
)
