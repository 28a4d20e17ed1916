"""Case: what version 0.2 called an `Experiment`."""

from __future__ import annotations

import warnings
from typing import Any

from reluflow.experiment import Experiment
from reluflow.sweep.swept import described_case


def Case(dataset: str, parameters: Any = (), **settings: Any) -> Experiment:  # noqa: N802, RUF100
    """Make an `Experiment`; this name goes with version 0.4."""
    warnings.warn(
        "`Case(dataset, ...)` is now `reluflow.Experiment(data, ...)`; the old name goes with version 0.4.",
        DeprecationWarning,
        stacklevel=2,
    )
    return described_case({"dataset": dataset, "parameters": dict(parameters), **settings})
