"""Whether there is an accelerator to measure."""

from __future__ import annotations

from importlib.util import find_spec

from reluflow.errors import InvalidInputError


def has_accelerator() -> bool:
    """Whether JAX is installed and sees an accelerator."""
    if find_spec("jax") is None:
        return False
    from reluflow.dynamics.collocation.device_products import accelerator  # JAX is an extra

    try:
        accelerator()
    except InvalidInputError:
        return False
    return True
