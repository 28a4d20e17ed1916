"""The run a page asks for, as an `Experiment`: refused unless every field is one of the page and in bounds.

The same fields are the command line's flags and the page's address. Nothing here is a path, code or a pickle: words
from closed lists, and numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.experiment.settings import Row
from reluflow.network import Initialization, found_initializations
from reluflow.network.scale import log_of_scale

VERSION = 1
METHODS = ("flow", "gd")
LOSSES = ("square", "logistic", "exponential", "softmax")
MOST_CLASSES = 4
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


FIELDS = (
    "name", "X", "y", "bias", "loss", "reduction", "factor", "leak", "width", "scale", "init", "seed", "neurons",
    "method", "lr", "iterations",
)  # fmt: skip


def state_of(experiment: Experiment) -> dict[str, Any]:
    """The state that a page shows for an experiment; what the page has no control for is left out."""
    shown = {name: getattr(experiment, "data" if name == "name" else name) for name in FIELDS}
    return {name: _as_list(value) for name, value in shown.items()}


def _as_list(value: Any) -> Any:
    return [_as_list(item) for item in value] if isinstance(value, tuple) else value


# what a link leaves out; "1e-3" is how the page writes the scale
DEFAULTS: dict[str, Any] = state_of(Experiment.from_link("#v=1")) | {"scale": "1e-3"}


def read_state(message: Any) -> Experiment:
    """The run a page asks for, every field checked, at the tolerance and the number of directions of a page.

    >>> read_state({"name": "three-points", "width": "inf", "scale": "1e-400"}).width
    'inf'
    """
    if not isinstance(message, Mapping):
        raise InvalidInputError(f"`state` must be an object, got {type(message).__name__}.")
    unknown = sorted(str(key)[:40] for key in message if key not in FIELDS)
    if unknown:
        raise InvalidInputError(f"`state` must hold the fields {', '.join(FIELDS)}, got {unknown[0]!r}.")
    given = DEFAULTS | {str(key): value for key, value in message.items()}
    X, y = _samples(given["X"], given["y"])
    bias, neurons = _flag(given["bias"], "bias"), _table(given["neurons"], "neurons", MOST_GIVEN_NEURONS)
    method = _word(given["method"], "method", METHODS)
    lr = _number(given["lr"], "lr", 1e-8, 1e3)
    iterations = _count(given["iterations"], "iterations", 1, MOST_ITERATIONS)
    how: dict[str, Any] = {"lr": lr, "iterations": iterations} if method == "gd" else {"rtol": RTOL}
    state = Experiment(
        _name(given["name"], is_spec=X is None),
        X=X,
        y=y,
        bias=bias,
        loss=_word(given["loss"], "loss", LOSSES),
        reduction=_word(given["reduction"], "reduction", ("mean", "sum")),
        factor=_number(given["factor"], "factor", 1e-6, 1e6),
        leak=_number(given["leak"], "leak", 0.0, 1.0),
        width=_width(given["width"]),
        scale=_scale(given["scale"]),
        init=_word(given["init"], "init", tuple(initializations())),
        seed=_count(given["seed"], "seed", 0, LARGEST_SEED),
        neurons=neurons,
        nodes=INFINITE_NODES,
        method=method,
        **how,
    )
    if X is not None and neurons is not None and len(neurons[0]) != len(X[0]) + bias + 1:
        raise InvalidInputError(
            f"`neurons` must hold {len(X[0]) + bias} input weights and a in each row, got {len(neurons[0])} numbers."
        )
    return state


def initializations() -> dict[str, Initialization]:
    """Every initialisation of the page by name: those that start on any data."""
    return {name: scheme for name, scheme in found_initializations().items() if not scheme.dataset}


def check_size(n: int, d: int, num_neurons: int, num_outputs: int = 1) -> None:
    """Refuse data too large for a page; the command line takes them."""
    sizes = (
        (n, MOST_SAMPLES, "n"),
        (d, LARGEST_DIMENSION, "d"),
        (n * d, MOST_ENTRIES, "n d"),
        (n * num_neurons, MOST_PRODUCTS, "n times the number of neurons"),
        (num_outputs, MOST_CLASSES, "classes"),
    )
    for value, most, what in sizes:
        if value > most:
            raise InvalidInputError(
                f"the laboratory takes {what} up to {most:,}, got {value:,}; `reluflow study` takes more."
            )


def _samples(X: Any, y: Any) -> tuple[tuple[Row, ...] | None, Row | None]:
    if X is None and y is None:
        return None, None
    samples, labels = _table(X, "X", MOST_SAMPLES), _row(y, "y", MOST_SAMPLES)
    if samples is None or labels is None:
        raise InvalidInputError("`X` and `y` must be given together.")
    if len(samples) != len(labels):
        raise InvalidInputError(f"`y` must hold one label for each of the {len(samples)} samples, got {len(labels)}.")
    return samples, labels


def _table(rows: Any, name: str, most: int) -> tuple[Row, ...] | None:
    if rows is None:
        return None
    if not isinstance(rows, list) or not 1 <= len(rows) <= most:
        raise InvalidInputError(f"`{name}` must be a list of 1 to {most} rows.")
    parsed = tuple(_row(row, name, LARGEST_DIMENSION + 1) or () for row in rows)
    if any(not row or len(row) != len(parsed[0]) for row in parsed):
        raise InvalidInputError(f"`{name}` must hold rows of the same length.")
    return parsed


def _row(values: Any, name: str, most: int) -> Row | None:
    if values is None:
        return None
    if not isinstance(values, list) or not 1 <= len(values) <= most:
        raise InvalidInputError(f"`{name}` must be a list of 1 to {most} numbers.")
    return tuple(_number(value, name, -LARGEST_NUMBER, LARGEST_NUMBER) for value in values)


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


def _width(value: Any) -> int | str:
    return "inf" if value == "inf" else _count(value, "width", 1, MOST_NEURONS)


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
