"""RunState: everything a run depends on, read from what a page sent and refused unless every field is in bounds.

The same fields are the command line's flags and the page's address. Nothing here is a path, code or a pickle: words
from closed lists, and numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.losses import LOSSES
from reluflow.network.initialization import INITIALIZATIONS
from reluflow.network.scale import log_of_scale

VERSION = 1
METHODS = ("flow", "gd")
RTOL = 1e-5  # of the flow: outputs to 1e-5 of the largest, below what a screen shows, so that it follows the pointer

MOST_SAMPLES = 500
LARGEST_DIMENSION = 200
MOST_ENTRIES = 20_000  # n d
MOST_NEURONS = 5_000
INFINITE_NODES = 1_000  # directions that stand for infinitely many; the command line takes more, and more time
MOST_PRODUCTS = 1_000_000  # n m
MOST_GIVEN_NEURONS = 500
LARGEST_NUMBER = 1e6  # of a sample, a label or a neuron
LARGEST_SEED = 2**32 - 1
SMALLEST_LOG10_SCALE, LARGEST_LOG10_SCALE = -1000.0, 1.0
MOST_ITERATIONS = 2_000_000
LONGEST_WORD = 200

_SPEC = re.compile(r"[a-z0-9-]+(:[a-z_0-9]+=[A-Za-z0-9.+-]+(,[a-z_0-9]+=[A-Za-z0-9.+-]+)*)?")
_SCALE = re.compile(r"[0-9]*\.?[0-9]+([eE][+-]?[0-9]{1,5})?")


@dataclass(frozen=True, eq=False)
class RunState:
    """One run.

    Parameters
    ----------
    name
        A registered dataset, with parameters if any; the title of the data where they are given.
    X, y
        The data where they are given, else None.
    bias
        Whether the constant coordinate 1 is appended.
    loss, reduction, factor, leak
        The objective.
    width
        Number of neurons, or None for infinitely many (d = 2).
    scale, init, seed
        How the neurons are drawn.
    w, a
        The neurons where they are given, else None: each is scale * (w, a).
    method, lr, iterations
        The exact flow, or gradient descent.
    """

    name: str
    X: FloatArray | None
    y: FloatArray | None
    bias: bool
    loss: str
    reduction: Literal["mean", "sum"]
    factor: float
    leak: float
    width: int | None
    scale: str
    init: str
    seed: int
    w: FloatArray | None
    a: FloatArray | None
    method: Literal["flow", "gd"]
    lr: float
    iterations: int

    @property
    def dimension(self) -> int | None:
        """d where the data are given, the constant coordinate included."""
        return None if self.X is None else int(self.X.shape[1]) + int(self.bias)


FIELDS = (
    "name", "X", "y", "bias", "loss", "reduction", "factor", "leak", "width", "scale", "init", "seed", "neurons",
    "method", "lr", "iterations",
)  # fmt: skip

DEFAULTS: dict[str, Any] = {
    "name": "three-points", "X": None, "y": None, "bias": False, "loss": "square", "reduction": "mean", "factor": 1.0,
    "leak": 0.0, "width": 60, "scale": "1e-3", "init": "balanced", "seed": 0, "neurons": None, "method": "flow",
    "lr": 1e-2, "iterations": 20_000,
}  # fmt: skip


def read_state(message: Any) -> RunState:
    """The run a page asks for, every field checked.

    >>> read_state({"name": "three-points", "width": "inf", "scale": "1e-400"}).width is None
    True
    """
    if not isinstance(message, Mapping):
        raise InvalidInputError(f"`state` must be an object, got {type(message).__name__}.")
    unknown = sorted(str(key)[:40] for key in message if key not in FIELDS)
    if unknown:
        raise InvalidInputError(f"`state` must hold the fields {', '.join(FIELDS)}, got {unknown[0]!r}.")
    given = DEFAULTS | {str(key): value for key, value in message.items()}
    X, y = _samples(given["X"], given["y"])
    width = _width(given["width"])
    neurons = _table(given["neurons"], "neurons", MOST_GIVEN_NEURONS)
    w, a = (None, None) if neurons is None else (neurons[:, :-1], neurons[:, -1])
    if neurons is not None and neurons.shape[1] < 2:
        raise InvalidInputError("`neurons` must hold rows (w, a) of at least two numbers, got one.")
    state = RunState(
        name=_name(given["name"], is_spec=X is None),
        X=X,
        y=y,
        bias=_flag(given["bias"], "bias"),
        loss=_word(given["loss"], "loss", tuple(LOSSES)),
        reduction=_word(given["reduction"], "reduction", ("mean", "sum")),
        factor=_number(given["factor"], "factor", 1e-6, 1e6),
        leak=_number(given["leak"], "leak", 0.0, 1.0),
        width=width,
        scale=_scale(given["scale"]),
        init=_word(given["init"], "init", tuple(INITIALIZATIONS)),
        seed=_count(given["seed"], "seed", 0, LARGEST_SEED),
        w=w,
        a=a,
        method=_word(given["method"], "method", METHODS),
        lr=_number(given["lr"], "lr", 1e-8, 1e3),
        iterations=_count(given["iterations"], "iterations", 1, MOST_ITERATIONS),
    )
    d = state.dimension
    if w is not None and d is not None and w.shape[1] != d:
        raise InvalidInputError(
            f"`neurons` must hold {d} input weights and a in each row, got {w.shape[1] + 1} numbers."
        )
    return state


def check_size(n: int, d: int, num_neurons: int) -> None:
    """Refuse data too large for a page; the command line takes them."""
    sizes = (
        (n, MOST_SAMPLES, "n"),
        (d, LARGEST_DIMENSION, "d"),
        (n * d, MOST_ENTRIES, "n d"),
        (n * num_neurons, MOST_PRODUCTS, "n times the number of neurons"),
    )
    for value, most, what in sizes:
        if value > most:
            raise InvalidInputError(
                f"the laboratory takes {what} up to {most:,}, got {value:,}; `reluflow study` takes more."
            )


def _samples(X: Any, y: Any) -> tuple[FloatArray | None, FloatArray | None]:
    if X is None and y is None:
        return None, None
    samples, labels = _table(X, "X", MOST_SAMPLES), _row(y, "y", MOST_SAMPLES)
    if samples is None or labels is None:
        raise InvalidInputError("`X` and `y` must be given together.")
    if len(samples) != len(labels):
        raise InvalidInputError(f"`y` must hold one label for each of the {len(samples)} samples, got {len(labels)}.")
    return samples, labels


def _table(rows: Any, name: str, most: int) -> FloatArray | None:
    if rows is None:
        return None
    if not isinstance(rows, list) or not 1 <= len(rows) <= most:
        raise InvalidInputError(f"`{name}` must be a list of 1 to {most} rows.")
    parsed = [_row(row, name, LARGEST_DIMENSION + 1) for row in rows]
    if any(row is None or len(row) != len(parsed[0] if parsed[0] is not None else ()) for row in parsed):
        raise InvalidInputError(f"`{name}` must hold rows of the same length.")
    return np.array(parsed, dtype=np.float64)


def _row(values: Any, name: str, most: int) -> FloatArray | None:
    if values is None:
        return None
    if not isinstance(values, list) or not 1 <= len(values) <= most:
        raise InvalidInputError(f"`{name}` must be a list of 1 to {most} numbers.")
    return np.array([_number(value, name, -LARGEST_NUMBER, LARGEST_NUMBER) for value in values])


def _number(value: Any, name: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInputError(f"`{name}` must be a number, got {_shown(value)}.")
    if not (isinstance(value, int) or math.isfinite(value)) or not low <= value <= high:
        raise InvalidInputError(f"`{name}` must lie in [{low:g}, {high:g}], got {_shown(value)}.")
    return float(value)


def _count(value: Any, name: str, low: int, high: int) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or value != value
        or value in (math.inf, -math.inf)
    ):
        raise InvalidInputError(f"`{name}` must be a whole number, got {_shown(value)}.")
    if value != int(value) or not low <= value <= high:
        raise InvalidInputError(f"`{name}` must be a whole number in [{low}, {high}], got {_shown(value)}.")
    return int(value)


def _width(value: Any) -> int | None:
    return None if value == "inf" else _count(value, "width", 1, MOST_NEURONS)


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"`{name}` must be true or false, got {_shown(value)}.")
    return value


def _word(value: Any, name: str, allowed: tuple[str, ...]) -> Any:
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInputError(f"`{name}` must be one of {', '.join(allowed)}, got {_shown(value)}.")
    return value


def _name(value: Any, *, is_spec: bool) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_WORD:
        raise InvalidInputError(f"`name` must be a word of at most {LONGEST_WORD} characters, got {_shown(value)}.")
    if is_spec and not _SPEC.fullmatch(value):
        raise InvalidInputError(f"`name` must be a registered dataset such as three-points, got {_shown(value)}.")
    return value


def _scale(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 40 or not _SCALE.fullmatch(value):
        raise InvalidInputError(f"`scale` must be a positive decimal such as 1e-3 or 1e-400, got {_shown(value)}.")
    exponent = log_of_scale(value) / math.log(10.0)
    if not SMALLEST_LOG10_SCALE - 1e-9 <= exponent <= LARGEST_LOG10_SCALE:
        raise InvalidInputError(f"`scale` must lie between 1e-1000 and 10 in the laboratory, got {_shown(value)}.")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
