"""The run that Figures 1 and 2 share: nine starts, three depths by three sizes, by descent and by the exact flow.

All nine use the same inputs, so that one step of all is one pass over them. A balanced start stays balanced among its
scalar layers (each gets the same gradient), so a column is w and one number v, its gain is v^q.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.errors import BackendError
from reluflow.papers.lee2022.figures.neuron_curves import NeuronCurves
from reluflow.papers.lee2022.figures.published_settings import (
    DEPTHS,
    DIMENSION,
    NUM_SAMPLES,
    QUICK_DIMENSION,
    QUICK_SAMPLES,
    RATES,
    REBUILT_AT,
    SIZES,
    START_FACTORS,
    STEPS,
    TEACHER_STDS,
    recorded_steps,
    samples,
    start_direction,
)
from reluflow.papers.lee2022.single_neuron import (
    BalancedNeuron,
    balanced_flow,
    balanced_orbit,
    planar_columns,
    population_descent,
)
from reluflow.papers.lee2022.single_neuron.angle import gap_between
from reluflow.papers.workbench import Workbench

RUN = "lee2022/nine-starts"  # the name both figures keep it under
LAYERS = np.repeat(np.arange(len(DEPTHS)), len(SIZES))  # q of each column: depth by depth, small to large
SCALING_LAYERS = (0, 1, 2, 3)
SCALING_STARTS = (1e-1, 1e-2, 1e-3, 1e-4)  # v_0 over v*
SCALING_ANGLES = (0.5 * np.pi, 0.95 * np.pi)


@dataclass(frozen=True)
class Settings:
    """Appendix D.3; the quick size has fewer samples and dimensions, ten times the rate and a tenth of the steps."""

    n: int = NUM_SAMPLES
    d: int = DIMENSION
    steps: int = STEPS
    rates: tuple[float, float, float] = RATES
    rebuilt_at: int = REBUILT_AT
    chunk: int = 5_000  # steps between which a run can be broken off
    teacher_stds: tuple[float, float, float] = TEACHER_STDS
    start_factors: tuple[float, float, float] = START_FACTORS
    seed: int = 0


_WIDER = float(np.sqrt(DIMENSION / QUICK_DIMENSION))  # keeps |w*|, on which the time scale depends
QUICK = Settings(
    n=QUICK_SAMPLES,
    d=QUICK_DIMENSION,
    steps=STEPS // 10,
    rates=(10 * RATES[0], 10 * RATES[1], 10 * RATES[2]),
    rebuilt_at=REBUILT_AT // 10,
    teacher_stds=(_WIDER * TEACHER_STDS[0], _WIDER * TEACHER_STDS[1], _WIDER * TEACHER_STDS[2]),
    seed=2,
)
FULL = Settings()


@dataclass(frozen=True, eq=False)
class NineStarts:
    """The run at its recorded steps; the columns of all curves are those of `LAYERS`.

    Parameters
    ----------
    steps
        Step numbers, one per row.
    teacher_norms
        |w*| of each depth.
    sampled, scalar
        Descent on samples, and the common value v of its scalar layers.
    population, flow
        Descent at the same rates on infinitely many samples, and the exact flow on them, from the same starts.
    scaling_times
        As `scaling_times()` gives them.
    """

    steps: IntArray
    teacher_norms: FloatArray
    sampled: NeuronCurves
    scalar: FloatArray
    population: NeuronCurves
    flow: NeuronCurves
    scaling_times: FloatArray


@dataclass(frozen=True, eq=False)
class Chunk:
    """A part of descent on samples: what is recorded of it, one row per recorded step, and the weights at its end."""

    sampled: NeuronCurves
    scalar: FloatArray
    w: FloatArray
    v: FloatArray


@dataclass(eq=False)
class Columns:
    """Nine neurons in training: w (9, d), v (9,), the common value of their scalar layers, and what does not change."""

    w: FloatArray
    v: FloatArray
    inputs: FloatArray  # (d, n): samples along rows, which is the faster way round
    labels: FloatArray  # (9, n)
    rates: FloatArray  # (9,)

    def advance(self, steps: int) -> None:
        """Full-batch descent on sum_k (v^q s(<w, x_k>) - y_k)^2 / (2n), every column at its own rate."""
        n = self.inputs.shape[1]
        has_layers = LAYERS > 0
        with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges is refused when it is recorded
            for _ in range(steps):
                gain = self.v**LAYERS
                active = self.w @ self.inputs
                np.maximum(active, 0.0, out=active)
                residual = active * gain[:, None]
                residual -= self.labels
                residual *= active > 0
                pull = (self.inputs @ residual.T).T / n
                slope = np.einsum("jd,jd->j", self.w, pull)  # the mean of residual * s(<w, x>)
                self.w -= (self.rates * gain)[:, None] * pull
                self.v -= np.where(has_layers, self.rates * gain / self.v * slope, 0.0)


def compute(settings: Settings, workbench: Workbench) -> NineStarts:
    """Descent on samples, chunk by chunk; descent on the population and the exact flow from the same starts."""
    shared = copy.copy(workbench)
    shared.name = RUN
    columns, teacher = _start(settings)
    ends = [*range(settings.chunk, settings.steps, settings.chunk), settings.steps]
    steps = recorded_steps(settings.steps, kept=(settings.rebuilt_at, *ends))
    chunks = [_record(columns, teacher)]
    done = 0
    for end in ends:
        workbench.progress(done / settings.steps, f"descent on {settings.n:,} samples, step {done:,}")
        stops = steps[(steps > done) & (steps <= end)]
        train = partial(_chunk, columns, teacher, done, stops)
        kept = shared.piece(f"to-{end}", Chunk, train, settings=[settings, end])
        columns.w, columns.v = np.array(kept.w), np.array(kept.v)
        chunks.append(kept)
        done = end
    whole = _joined(chunks)
    norms = np.linalg.norm(teacher, axis=1)
    population, flow = _theory(settings, whole.sampled, norms, steps)
    return NineStarts(steps, norms, whole.sampled, whole.scalar, population, flow, scaling_times())


def _start(settings: Settings) -> tuple[Columns, FloatArray]:
    """The nine columns before training, and the teacher's w* of each depth, shape (3, d)."""
    labelled = [
        samples(n=settings.n, d=settings.d, layers=q, std=std, seed=settings.seed)
        for q, std in enumerate(settings.teacher_stds)
    ]
    direction = start_direction(settings.d, settings.seed)
    scales = np.outer(settings.teacher_stds, settings.start_factors).ravel()
    w = scales[:, None] * direction
    columns = Columns(
        w,
        np.linalg.norm(w, axis=1),
        np.ascontiguousarray(labelled[0].dataset.X.T),
        np.array([labelled[q].dataset.y for q in LAYERS]),
        np.asarray(settings.rates)[LAYERS],
    )
    return columns, np.array([item.teacher for item in labelled])


def _chunk(columns: Columns, teacher: FloatArray, begun: int, stops: IntArray) -> Chunk:
    """Train from step `begun` through all `stops`; what is recorded there, and the weights at the last."""
    rows = []
    for stop in stops:
        columns.advance(int(stop) - begun)
        begun = int(stop)
        if not (np.all(np.isfinite(columns.w)) and np.all(columns.v > 0)):
            raise BackendError(f"descent diverged before step {begun:,}; a smaller rate may not.")
        rows.append(_record(columns, teacher))
    return _joined(rows)


def _joined(chunks: list[Chunk]) -> Chunk:
    """One chunk of several that follow each other."""
    magnitude = np.concatenate([chunk.sampled.magnitude for chunk in chunks])
    gap = np.concatenate([chunk.sampled.gap for chunk in chunks])
    scalar = np.concatenate([chunk.scalar for chunk in chunks])
    return Chunk(NeuronCurves(magnitude, gap), scalar, chunks[-1].w, chunks[-1].v)


def _record(columns: Columns, teacher: FloatArray) -> Chunk:
    """The columns as they are: a chunk of one row."""
    gaps = [gap_between(w[:, None], teacher[q])[0] for w, q in zip(columns.w, LAYERS, strict=True)]
    curves = NeuronCurves(np.linalg.norm(columns.w, axis=1)[None], np.array([gaps]))
    return Chunk(curves, columns.v.copy()[None], columns.w.copy(), columns.v.copy())


def _theory(
    settings: Settings, sampled: NeuronCurves, norms: FloatArray, steps: IntArray
) -> tuple[NeuronCurves, NeuronCurves]:
    """What the theory says from the same starts: descent at the same rates on the population, and the exact flow."""
    flow_magnitude, flow_gap, magnitude, gap = [], [], [], []
    for column, q in enumerate(LAYERS):
        start = sampled.column(column).neuron(0, q=int(q), teacher_norm=float(norms[q]))
        flow = balanced_flow(start, settings.rates[q] * steps)
        descent = population_descent(*planar_columns([start]), steps, step_size=settings.rates[q])
        flow_magnitude.append(flow.magnitude)
        flow_gap.append(flow.gap)
        magnitude.append(descent.magnitude[:, 0])
        gap.append(descent.gap[:, 0])
    return (
        NeuronCurves(np.array(magnitude).T, np.array(gap).T),
        NeuronCurves(np.array(flow_magnitude).T, np.array(flow_gap).T),
    )


def scaling_times() -> FloatArray:
    """Time of the exact flow from phi = pi/2 to 0.95 pi with v* = 1, by quadrature: rows q = 0..3, columns v_0."""
    begin, end = SCALING_ANGLES
    return np.array(
        [
            [float(balanced_orbit(BalancedNeuron(q, v, phi=begin)).at_phi(end)[1][0]) for v in SCALING_STARTS]
            for q in SCALING_LAYERS
        ]
    )
