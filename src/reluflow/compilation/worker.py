"""A process that compiles the kernels named on its standard input, and answers each name on its standard output."""

from __future__ import annotations

import gc
import importlib
import sys

from reluflow.compilation.kernel import KERNELS
from reluflow.compilation.signature import signature_of

_KERNELS_PER_COLLECTION = 50


def compile_kernel(name: str) -> None:
    """Compile one kernel, `module:name`, for the types it is declared for; Numba writes it into its cache."""
    importlib.import_module(name.partition(":")[0])
    dispatcher = KERNELS[name]
    types = signature_of(dispatcher.py_func)
    if types is not None:
        dispatcher.compile(types)


def main() -> None:
    """Compile until standard input ends.

    Compiling makes many objects that live on, and Python's search for cycles among them took a fifth of the time; it
    is made now and then, for the memory.
    """
    gc.disable()
    for number, line in enumerate(sys.stdin, start=1):
        name = line.strip()
        compile_kernel(name)
        if number % _KERNELS_PER_COLLECTION == 0:
            gc.collect()
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
