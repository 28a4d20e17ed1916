"""The runs that Figures 1, 7 and 8 share: one draw of samples and neurons, trained to the end from one scale.

A run is kept for as long as this file is the same, whatever settings of figures ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.papers.chistikov2023.figures.draws import angles, draw, largest_angle, nuclear_norm, squared_norm, trained
from reluflow.papers.workbench import Workbench

KINDS = ("centred", "uncentred")
RUNS = "chistikov2023/scales"  # where the three figures keep the runs they share
LAZY = 2  # up to the scale 4^-2 neurons keep many patterns and turn by tens of degrees
RTOL = 1e-8
RTOL_LAZY = 1e-5  # moves those angles by less than 1e-4 of themselves, as much as where exactly a run stops


@dataclass(frozen=True)
class EndOfRun:
    """Measures at the end of one run.

    Parameters
    ----------
    largest, average
        Of the angles between two neurons of J_+, in degrees.
    nuclear, squared
        Nuclear norm of W, squared norm of all weights.
    """

    largest: float
    average: float
    nuclear: float
    squared: float


def run_of(workbench: Workbench, kind: str, d: int, width: int, seed: int, power: int) -> EndOfRun:
    """One draw trained from one scale, or what is kept of it."""
    given = (kind, d, width, seed, power)
    name = "-".join(str(word) for word in given)
    return workbench.piece(name, EndOfRun, partial(_end, *given), settings=given, of=RUNS, module=__name__)


def _end(kind: str, d: int, width: int, seed: int, power: int) -> EndOfRun:
    trial = draw(seed, d=d, width=width, centred=kind == "centred")
    end = trained(trial, -power * float(np.log(4.0)), rtol=RTOL_LAZY if power <= LAZY else RTOL).network
    group = end.w[trial.group]
    return EndOfRun(
        largest=largest_angle(group),
        average=float(np.mean(angles(group))) if len(group) > 1 else 0.0,
        nuclear=nuclear_norm(end),
        squared=squared_norm(end),
    )
