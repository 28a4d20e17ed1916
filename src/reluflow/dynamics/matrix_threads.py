"""On how many cores matrix products run while a network is trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_SMALL = 2**20  # numbers in the samples up to which products stay on one core


@contextmanager
def matrix_threads(num_samples: int, dimension: int, *, has_own_threads: bool) -> Iterator[None]:
    """Keep matrix products on one core where they are small or the solver has threads of its own.

    A step of a run makes dozens of them, of 0.01 to 10 ms each. Handing parts to other threads and waiting for those
    gains little where cores are free, and costs up to twenty times the product where they are not. Large ones are
    shared as the library under NumPy sees fit, unless that takes the cores from a solver's own threads: its threads
    wait by spinning, and 12,665 images took 345 s with two of them and 245 s with one until all were right.
    """
    if num_samples * dimension > _SMALL and not has_own_threads:
        yield
        return
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
