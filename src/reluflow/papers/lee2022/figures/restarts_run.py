"""The runs of Figure 3: one medium start per depth, by descent on samples, on the population, and by the exact flow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import IntArray
from reluflow.errors import BackendError
from reluflow.papers.lee2022.figures.neuron_curves import NeuronCurves
from reluflow.papers.lee2022.figures.published_settings import (
    DEPTHS,
    DIMENSION,
    NUM_SAMPLES,
    QUICK_DIMENSION,
    QUICK_SAMPLES,
    RESTART_RATES,
    RESTART_STD,
    RESTART_STEPS,
    RESTARTS,
    recorded_steps,
    samples,
    start_direction,
)
from reluflow.papers.lee2022.single_neuron import (
    BalancedNeuron,
    balanced_columns,
    balanced_flow,
    planar_columns,
    population_descent,
    sample_descent,
)
from reluflow.papers.workbench import Workbench


@dataclass(frozen=True)
class Settings:
    """Appendix D.3; one entry per depth, one layer first."""

    n: int = NUM_SAMPLES
    d: int = DIMENSION
    rates: tuple[float, float] = RESTART_RATES
    steps: tuple[int, int] = RESTART_STEPS
    restarts: tuple[tuple[int, ...], tuple[int, ...]] = RESTARTS
    teacher_std: float = RESTART_STD
    seed: int = 0


# Two layers are quick enough as they are, and ten times their rate would be coarse: rate x |w*|^2 = 0.14.
QUICK = Settings(
    n=QUICK_SAMPLES,
    d=QUICK_DIMENSION,
    rates=(10 * RESTART_RATES[0], RESTART_RATES[1]),
    steps=(RESTART_STEPS[0] // 10, RESTART_STEPS[1]),
    restarts=((0, 250, 500, 750), RESTARTS[1]),
    teacher_std=RESTART_STD * float(np.sqrt(DIMENSION / QUICK_DIMENSION)),  # keeps |w*|
    seed=2,
)
FULL = Settings()


@dataclass(frozen=True)
class RestartSettings:
    """What the run of one depth depends on."""

    n: int
    d: int
    layers: int
    rate: float
    steps: int
    restarts: tuple[int, ...]
    teacher_std: float
    seed: int


@dataclass(frozen=True, eq=False)
class OneDepth:
    """The run of one depth, three ways from one start of the teacher's own scale.

    Parameters
    ----------
    layers
        q, the number of scalar layers above the neuron.
    steps
        Recorded step numbers.
    teacher_norm
        |w*|.
    sampled, population, flow
        Descent on samples, descent at the same rate on infinitely many, and the exact flow on those.
    """

    layers: int
    steps: IntArray
    teacher_norm: float
    sampled: NeuronCurves
    population: NeuronCurves
    flow: NeuronCurves


@dataclass(frozen=True, eq=False)
class Restarts:
    """One entry per depth, one layer first."""

    depths: tuple[OneDepth, OneDepth]


def compute(settings: Settings, workbench: Workbench) -> Restarts:
    """Both depths."""
    depths = []
    for q, (rate, steps, restarts) in enumerate(zip(settings.rates, settings.steps, settings.restarts, strict=True)):
        run = RestartSettings(settings.n, settings.d, q, rate, steps, restarts, settings.teacher_std, settings.seed)
        workbench.progress(0.8 * q, f"{DEPTHS[q]}, {steps:,} steps on {settings.n:,} samples")
        depths.append(workbench.piece(f"layers-{q}", OneDepth, partial(one_depth, run), settings=run))
    one_layer, two_layers = depths
    return Restarts((one_layer, two_layers))


def one_depth(run: RestartSettings) -> OneDepth:
    """|w| and the angle to the teacher at the recorded steps, three ways from one start of the teacher's own scale."""
    data = samples(n=run.n, d=run.d, layers=run.layers, std=run.teacher_std, seed=run.seed)
    w = run.teacher_std * start_direction(run.d, run.seed)
    steps = recorded_steps(run.steps, kept=run.restarts)
    sampled = sample_descent(
        balanced_columns(w[:, None], q=run.layers), data.dataset, data.teacher, steps, step_size=run.rate
    )
    if np.any(sampled.has_diverged):
        raise BackendError(
            f"descent with {run.layers} scalar layers diverged at rate {run.rate:g}; a smaller one may not."
        )
    start = BalancedNeuron(
        run.layers,
        float(np.linalg.norm(w)),
        gap=float(sampled.gap[0, 0]),
        teacher_magnitude=float(np.linalg.norm(data.teacher)),
    )
    population = population_descent(*planar_columns([start]), steps, step_size=run.rate)
    flow = balanced_flow(start, run.rate * steps)
    return OneDepth(
        run.layers,
        steps,
        start.teacher_magnitude,
        NeuronCurves(sampled.magnitude, sampled.gap).column(0),
        NeuronCurves(population.magnitude, population.gap).column(0),
        NeuronCurves(flow.magnitude, flow.gap),
    )
