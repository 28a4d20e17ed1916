"""How a run is made: the values of --method, --solver, --device and --ridge."""

from __future__ import annotations

from enum import StrEnum


class Method(StrEnum):
    """--method."""

    FLOW = "flow"
    GD = "gd"
    SGD = "sgd"


class SolverChoice(StrEnum):
    """Values of `--solver`, as in `dynamics.flow.choice`."""

    AUTO = "auto"
    EVENT_DRIVEN = "event-driven"
    COLLOCATION = "collocation"


class RidgeChoice(StrEnum):
    """--ridge."""

    STOP = "stop"
    POSITIVE = "positive"
    NEGATIVE = "negative"
    STAY = "stay"


class DeviceChoice(StrEnum):
    """Values of `--device`, as in `CollocationFlow`."""

    CPU = "cpu"
    GPU = "gpu"
