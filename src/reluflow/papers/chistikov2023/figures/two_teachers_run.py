"""The runs of Figures 10 and 11: two opposite teachers, each with its own samples; positive and negative neurons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.chistikov2023.data import NOISE_UNCENTRED, two_teachers
from reluflow.papers.chistikov2023.figures.draws import (
    TIME_PER_ITERATION,
    Draw,
    followed,
    largest_angle,
    trained,
    with_neurons,
)
from reluflow.papers.workbench import Workbench

SIGNS = (1, -1)


@dataclass(frozen=True)
class Settings:
    """Dimension, width, power k of the scale 4^-k, draws and the spreads rho."""

    d: int
    width: int
    seeds: tuple[int, ...]
    spreads: tuple[float, ...] = (NOISE_UNCENTRED,)
    power: int = 7
    num_times: int = 300


@dataclass(frozen=True, eq=False)
class GroupAngles:
    """One draw: the largest angle within either group at the end, in the order of `SIGNS`, and the loss there."""

    largest: FloatArray
    loss: float


@dataclass(frozen=True, eq=False)
class SpreadAngles:
    """Largest angles at the end, over sign, spread and draw, and losses there, over spread and draw."""

    largest: FloatArray
    losses: FloatArray


@dataclass(frozen=True, eq=False)
class TwoTeachersPath:
    """One run over the authors' iterations.

    Parameters
    ----------
    iterations, losses
        The moments, and the training loss.
    largest
        Largest angle within either group, shape (2, moments).
    one_sided
        The loss of a network that knows only the teacher of either sign.
    """

    iterations: FloatArray
    losses: FloatArray
    largest: FloatArray
    one_sided: FloatArray


def draw_two(seed: int, *, d: int, width: int, rho: float) -> Draw:
    """2d samples of two teachers, uncentred, and neurons with at least one in either group."""
    rng = np.random.default_rng([seed, d, width, round(1e6 * rho)])
    return with_neurons(two_teachers(rng, d=d, rho=rho), rng, width=width, signs=SIGNS)


def compute_angles(settings: Settings, workbench: Workbench) -> SpreadAngles:
    """Largest angle at the end within the positive and within the negative group: over sign, spread and draw."""
    shape = (len(SIGNS), len(settings.spreads), len(settings.seeds))
    largest, losses = np.zeros(shape), np.zeros(shape[1:])
    for j, rho in enumerate(settings.spreads):
        for k, seed in enumerate(settings.seeds):
            workbench.progress((j * shape[2] + k) / (shape[1] * shape[2]), f"rho = {rho:.3g}, draw {seed}")

            def one(rho: float = rho, seed: int = seed) -> GroupAngles:
                trial = draw_two(seed, d=settings.d, width=settings.width, rho=rho)
                run = trained(trial, -settings.power * float(np.log(4.0)))
                ends = [largest_angle(run.network.w[trial.group_of(sign)]) for sign in SIGNS]
                return GroupAngles(np.array(ends), run.loss)

            part = workbench.piece(
                f"{rho:.6g}-{seed}",
                GroupAngles,
                one,
                settings=(settings.d, settings.width, settings.power, rho, seed),
            )
            largest[:, j, k], losses[j, k] = part.largest, part.loss
    return SpreadAngles(largest, losses)


def compute_path(settings: Settings, workbench: Workbench) -> TwoTeachersPath:
    """Loss and largest angle of either group along one run."""
    trial = draw_two(settings.seeds[0], d=settings.d, width=settings.width, rho=settings.spreads[0])
    workbench.progress(0.0, "one run, twice: to its end, and to look at it")
    path = followed(trial, -settings.power * float(np.log(4.0)), num_times=settings.num_times)
    largest = [[largest_angle(m.network.w[trial.group_of(sign)]) for m in path] for sign in SIGNS]
    one_sided = [
        trial.problem(0.0).loss.total(np.where(sign * trial.dataset.y > 0, trial.dataset.y, 0.0), trial.dataset.y)
        for sign in SIGNS
    ]
    return TwoTeachersPath(
        iterations=np.array([moment.time for moment in path]) / TIME_PER_ITERATION,
        losses=np.array([moment.loss for moment in path]),
        largest=np.array(largest),
        one_sided=np.array(one_sided),
    )
