"""On how many cores matrix products run while a network is trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_SMALL = 2**20  # numbers in the samples up to which products stay on one core


@contextmanager
def matrix_threads(num_samples: int, dimension: int) -> Iterator[None]:
    """Keep small matrix products on one core.

    A step of a run makes dozens of them, of 0.01 to 10 ms each. Handing parts to other threads and waiting for those
    gains little where cores are free, and costs up to twenty times the product where they are not. Large ones are
    shared as the library under NumPy sees fit.
    """
    if num_samples * dimension > _SMALL:
        yield
        return
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
