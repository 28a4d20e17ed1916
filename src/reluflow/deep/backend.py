"""JAX, Equinox and Optax, imported here and nowhere else, and the arithmetic they are to use.

JAX computes in single precision unless told otherwise for the whole process. A library must not change that under its
caller's feet, so `arithmetic` sets the precision for one block of code in one thread, and networks outside such a
block hold NumPy arrays, which JAX's setting does not touch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

import numpy as np

from reluflow.errors import InvalidInputError, MissingExtraError

try:
    import equinox
    import jax
    import jax.numpy as jnp
    import optax
except ModuleNotFoundError as error:
    if error.name not in ("jax", "jaxlib", "equinox", "optax"):
        raise
    raise MissingExtraError(
        f"Deep networks need {error.name}, which is not installed: pip install 'reluflow[deep]'."
    ) from error

__all__ = [
    "Precision",
    "arithmetic",
    "checked_precision",
    "device_name",
    "equinox",
    "jax",
    "jnp",
    "on_device",
    "on_host",
    "optax",
]

Precision = Literal["float32", "float64"]


@contextmanager
def arithmetic(precision: Precision) -> Iterator[None]:
    """Compute in `precision` inside the block, whatever the caller's JAX does, and leave that as it was.

    Matrix products keep all their digits: by default some GPUs round single precision to ten bits there, and a run
    would not give the same numbers on another machine.
    """
    with jax.enable_x64(precision == "float64"), jax.default_matmul_precision("highest"):
        yield


def checked_precision(precision: str) -> None:
    """Refuse what is neither single nor double precision."""
    if precision not in get_args(Precision):
        raise InvalidInputError(f"`precision` must be 'float32' or 'float64', got {precision!r}.")


def on_device(tree: Any, precision: Precision) -> Any:
    """The same network or array with its numbers in `precision` on JAX's device; call inside `arithmetic`."""

    def moved(leaf: Any) -> Any:
        return jnp.asarray(leaf, dtype=precision) if equinox.is_inexact_array_like(leaf) else leaf

    return jax.tree.map(moved, tree)


def on_host(tree: Any) -> Any:
    """The same network or dictionary with NumPy arrays."""
    return jax.tree.map(lambda leaf: np.asarray(leaf) if equinox.is_array(leaf) else leaf, tree)


def device_name() -> str:
    """What JAX computes on, in words.

    >>> device_name().split(" ")[0] in ("cpu", "gpu", "tpu")
    True
    """
    device = jax.devices()[0]
    return f"{device.platform} ({device.device_kind})"
