"""The laboratory's link of a case: the part after #, which `reluflow lab` opens."""

from __future__ import annotations

import shlex
from urllib.parse import urlencode

from reluflow.data.registry import REGISTRY
from reluflow.errors import ReluflowError
from reluflow.network.scale import log_of_scale
from reluflow.sweep.case import Case
from reluflow.sweep.training import dataset_and_loss_of

LINK_VERSION = 1
MOST_SAMPLES, LARGEST_DIMENSION, MOST_ENTRIES = 500, 200, 20_000  # what the laboratory takes
MOST_NEURONS, MOST_PRODUCTS, MOST_ITERATIONS = 5_000, 1_000_000, 2_000_000
LOG_SCALES = (-1000 * 2.302585092994046, 2.302585092994046)
_AS_IN_THE_LABORATORY = (
    "standardise",
    "solver",
    "rtol",
    "ridge",
    "until",
    "horizon",
)  # settings that it has no control for


def lab_command(case: Case) -> str | None:
    """The command that opens the laboratory at the run of a case, or None where it cannot show that very run.

    >>> lab_command(Case("three-points", width=20))
    "reluflow lab '#v=1&name=three-points&loss=square&width=20&scale=0.001&init=balanced&seed=0'"
    >>> lab_command(Case("three-points", width=20, rtol=1e-4)) is None
    True
    """
    plain = Case("three-points")
    if (
        case.dataset not in REGISTRY
        or case.digests
        or case.method == "sgd"
        or not isinstance(case.width, int)
        or any(getattr(case, name) != getattr(plain, name) for name in _AS_IN_THE_LABORATORY)
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
    words: dict[str, object] = {"v": LINK_VERSION, "name": case.data_spec, "loss": loss.name}
    for name in ("reduction", "factor", "leak"):
        if getattr(case, name) != getattr(plain, name):
            words[name] = getattr(case, name)
    if case.bias:
        words["bias"] = "true"
    words |= {"width": case.width, "scale": case.scale, "init": case.init, "seed": case.seed}
    if case.method == "gd":
        if case.iterations is None or case.iterations > MOST_ITERATIONS:
            return None
        words |= {"method": "gd", "lr": case.lr, "iterations": case.iterations}
    return shlex.join(["reluflow", "lab", "#" + urlencode(words, safe=":,=+")])
