"""The laboratory's link of a case: the part after #, which `reluflow lab` opens."""

from __future__ import annotations

import shlex
from dataclasses import replace

from reluflow.data.registry import REGISTRY
from reluflow.errors import ReluflowError
from reluflow.experiment import Experiment
from reluflow.network.scale import log_of_scale
from reluflow.sweep.training import dataset_and_loss_of

MOST_SAMPLES, LARGEST_DIMENSION, MOST_ENTRIES = 500, 200, 20_000  # what the laboratory takes
MOST_NEURONS, MOST_PRODUCTS, MOST_ITERATIONS = 5_000, 1_000_000, 2_000_000
LOG_SCALES = (-1000 * 2.302585092994046, 2.302585092994046)
_CONTROLS = (
    "data", "bias", "loss", "reduction", "factor", "leak", "width", "scale", "init", "seed", "method", "lr",
    "iterations", "batch",
)  # fmt: skip  # the fields that it has a control for, and one that neither of its methods reads


def lab_command(case: Experiment) -> str | None:
    """The command that opens the laboratory at the run of a case, or None where it cannot show that very run.

    >>> lab_command(Experiment("three-points", width=20))
    "reluflow lab '#v=1&name=three-points&width=20'"
    >>> lab_command(Experiment("three-points", width=20, rtol=1e-4)) is None
    True
    """
    if (
        case.data.partition(":")[0] not in REGISTRY
        or case.method == "sgd"
        or not isinstance(case.width, int)
        or any(name not in _CONTROLS for name in case.changed_fields())
        or not LOG_SCALES[0] <= log_of_scale(case.scale) <= LOG_SCALES[1]
    ):
        return None
    try:
        data, loss = dataset_and_loss_of(case)
    except ReluflowError:  # a case that fails has nothing to show
        return None
    if (
        data.n > MOST_SAMPLES
        or data.d > LARGEST_DIMENSION
        or data.n * data.d > MOST_ENTRIES
        or case.width > MOST_NEURONS
        or data.n * case.width > MOST_PRODUCTS
    ):
        return None
    usual = Experiment.from_link("#v=1")
    shown = replace(case, loss=loss.name, batch=usual.batch)
    if case.method == "flow":
        shown = replace(shown, lr=usual.lr, iterations=usual.iterations)
    elif case.iterations is None or case.iterations > MOST_ITERATIONS:
        return None
    return shlex.join(["reluflow", "lab", shown.to_link()])
