"""How a kernel is compiled: the two decorators that every file of machine code uses.

Both are Numba's `njit` with its cache on disk. What they leave out is compiled for nobody: entry points for C callers,
and the counting of who holds an array in kernels that make none. Of the options left out Numba promises none, so each
is used only where this version of Numba has it; without them kernels are right and compile more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core.options import DefaultOptions

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def kernel(**options: Any) -> Callable[[Kernel], Kernel]:
    """Compile a function of numbers, arrays and named tuples of them when it is first called, and keep the result."""
    return _compiler({"no_cfunc_wrapper": True}, options)


def borrowing_kernel(**options: Any) -> Callable[[Kernel], Kernel]:
    """`kernel` for a function that makes no array, and so need not count who holds one.

    The counting took a third of the time where arrays come in named tuples and as rows of others. Numba refuses to
    compile such a function if it does make an array.
    """
    return _compiler({"no_cfunc_wrapper": True, "_nrt": False}, options)


def _compiler(left_out: dict[str, bool], options: dict[str, Any]) -> Callable[[Kernel], Kernel]:
    known = {name: value for name, value in left_out.items() if hasattr(DefaultOptions, name)}
    settings: dict[str, Any] = {"cache": True, **known, **options}
    compiler: Callable[[Kernel], Kernel] = njit(**settings)
    return compiler
