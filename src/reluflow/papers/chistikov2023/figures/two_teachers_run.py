"""The runs of Figures 10 and 11: two opposite teachers, each with its own samples; positive and negative neurons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.experiments.store import Results
from reluflow.experiments.workbench import Workbench
from reluflow.papers.chistikov2023.data import NOISE_UNCENTRED, two_teachers
from reluflow.papers.chistikov2023.figures.draws import (
    TIME_PER_ITERATION,
    Draw,
    followed,
    largest_angle,
    trained,
    with_neurons,
)

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


def draw_two(seed: int, *, d: int, width: int, rho: float) -> Draw:
    """2d samples of two teachers, uncentred, and neurons with at least one in either group."""
    rng = np.random.default_rng([seed, d, width, round(1e6 * rho)])
    return with_neurons(two_teachers(rng, d=d, rho=rho), rng, width=width, signs=SIGNS)


def compute_angles(settings: Settings, workbench: Workbench) -> Results:
    """Largest angle at the end within the positive and within the negative group: over sign, spread and draw."""
    shape = (len(SIGNS), len(settings.spreads), len(settings.seeds))
    largest, losses = np.zeros(shape), np.zeros(shape[1:])
    for j, rho in enumerate(settings.spreads):
        for k, seed in enumerate(settings.seeds):
            workbench.progress((j * shape[2] + k) / (shape[1] * shape[2]), f"rho = {rho:.3g}, draw {seed}")

            def one(rho: float = rho, seed: int = seed) -> Results:
                trial = draw_two(seed, d=settings.d, width=settings.width, rho=rho)
                run = trained(trial, -settings.power * float(np.log(4.0)))
                ends = [largest_angle(run.network.w[trial.group_of(sign)]) for sign in SIGNS]
                return {"largest": np.array(ends), "loss": run.loss}

            part = workbench.piece(
                f"{rho:.6g}-{seed}", one, settings=(settings.d, settings.width, settings.power, rho, seed)
            )
            largest[:, j, k], losses[j, k] = part["largest"], part["loss"]
    return {"largest": largest, "losses": losses}


def compute_path(settings: Settings, workbench: Workbench) -> Results:
    """Loss and largest angle of either group along one run."""
    trial = draw_two(settings.seeds[0], d=settings.d, width=settings.width, rho=settings.spreads[0])
    workbench.progress(0.0, "one run, twice: to its end, and to look at it")
    path = followed(trial, -settings.power * float(np.log(4.0)), num_times=settings.num_times)
    largest = [[largest_angle(m.network.w[trial.group_of(sign)]) for m in path] for sign in SIGNS]
    one_sided = [
        trial.problem(0.0).loss.total(np.where(sign * trial.dataset.y > 0, trial.dataset.y, 0.0), trial.dataset.y)
        for sign in SIGNS
    ]
    return {
        "iterations": np.array([moment.time for moment in path]) / TIME_PER_ITERATION,
        "losses": np.array([moment.loss for moment in path]),
        "largest": np.array(largest),
        "one_sided": np.array(one_sided),
    }
