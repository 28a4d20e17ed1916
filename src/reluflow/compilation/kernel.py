"""The two decorators that every file of kernels uses.

Both are Numba's `njit` with its cache on disk, as `dispatcher.py` and `library.py` change it. What they leave out
nobody would call: entry points for C, those for Python in kernels that only kernels call, and the counting of who holds
an array in kernels that make none. Numba promises neither these options nor what those two files change. So the
options are used only where this version of Numba has them, and the files only with versions that they were tried with;
without them kernels are right and compile more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numba
from numba.core import config
from numba.core.dispatcher import Dispatcher
from numba.core.options import DefaultOptions

from reluflow.compilation.signature import signature_of
from reluflow.compilation.source_cache import PlainDispatcher

Function = TypeVar("Function", bound=Callable[..., object])

_TRIED_NUMBA = (0, 63), (0, 68)  # the first version and the last

KERNELS: dict[str, Any] = {}  # Numba's dispatcher of every kernel imported so far, by `module:name`


def kernel(*, entry: bool = False, **options: Any) -> Callable[[Function], Function]:
    """Compile a function of numbers, arrays and named tuples of them when it is first called, and keep the result.

    Its annotations say for which types: see `reluflow.compilation.signature`. One that Python calls is an `entry`;
    any other is for kernels, and a call from Python compiles a way in first, in every process anew.
    """
    return _compiler({"no_cfunc_wrapper": True, "no_cpython_wrapper": not entry}, options)


def borrowing_kernel(*, entry: bool = False, **options: Any) -> Callable[[Function], Function]:
    """`kernel` for a function that makes no array, and so need not count who holds one.

    The counting took a third of the time where arrays come in named tuples and as rows of others. Numba refuses to
    compile such a function if it does make an array.
    """
    return _compiler({"no_cfunc_wrapper": True, "no_cpython_wrapper": not entry, "_nrt": False}, options)


@cache
def direct(kernel: Function) -> Function:
    """The machine code of a kernel for the types it declares, called without a look at the types of its arguments.

    Numba looks up the type of every argument and of every field of a named tuple at every call, which takes 8
    microseconds for 56 of them and longer than the kernel. So this is for kernels that are called at every step, with
    arguments that are made beside the call: other types are not refused, they are read as if they were the right ones.
    """
    if not isinstance(kernel, Dispatcher):  # Numba has been told not to compile
        return kernel
    compiled: Any = kernel
    if compiled.targetoptions.get("no_cpython_wrapper"):
        raise TypeError(f"`{compiled.__name__}` is for kernels; declare it with `entry=True` to call it from Python.")
    types = signature_of(compiled.py_func)
    compiled.compile(types)
    machine_code: Function = compiled.overloads[types].entry_point
    return machine_code


def _compiler(left_out: dict[str, bool], options: dict[str, Any]) -> Callable[[Function], Function]:
    is_tried = is_tried_numba(numba.__version__)
    if not is_tried:
        left_out = {name: value for name, value in left_out.items() if name != "no_cpython_wrapper"}
    known = {name: value for name, value in left_out.items() if hasattr(DefaultOptions, name)}
    numba_config: Any = config
    settings: dict[str, Any] = {"nopython": True, "boundscheck": None, **known, **options}

    def compile_later(function: Function) -> Function:
        if numba_config.DISABLE_JIT:
            return function
        dispatcher: Any = _dispatcher_class(is_tried)(function, {}, settings)
        dispatcher.enable_caching()
        KERNELS[f"{function.__module__}:{function.__name__}"] = dispatcher
        kernel: Function = dispatcher
        return kernel

    return compile_later


def is_tried_numba(version: str) -> bool:
    """Whether kernels may be compiled as `dispatcher.py` and `library.py` do it.

    >>> is_tried_numba("0.68.1"), is_tried_numba("0.61.0"), is_tried_numba("1.0.0rc1")
    (True, False, False)
    """
    major, minor, *_ = version.split(".")
    return _TRIED_NUMBA[0] <= (int(major), int(minor)) <= _TRIED_NUMBA[1]


def _dispatcher_class(is_tried: bool) -> Any:
    if not is_tried:
        return PlainDispatcher
    from reluflow.compilation.dispatcher import KernelDispatcher  # which other versions may not even load

    return KernelDispatcher
