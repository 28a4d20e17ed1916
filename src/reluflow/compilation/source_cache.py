"""Kernels on disk by all the source that they are made of; and kernels as any version of Numba compiles them."""

from __future__ import annotations

from typing import Any

from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher

import reluflow
from reluflow.compilation.dependencies import digest_of


class SourceCache(FunctionCache):
    """Numba's cache on disk, which takes a kernel only if nothing that it is made of has changed.

    Numba's own index knows a kernel by its own file, not by the files of the kernels and constants it uses: after an
    update in place, kernels of the old version would be taken, or fail to load where a type has another name.
    """

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file._version = f"{self._cache_file._version}, reluflow {reluflow.__version__}"
        self._own_stamp = self._cache_file._source_stamp

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        self._look_at_callees()
        return super()._load_overload(sig, target_context)

    def _save_overload(self, sig: Any, data: Any) -> None:
        self._look_at_callees()
        super()._save_overload(sig, data)

    def _look_at_callees(self) -> None:
        """Done late: when a kernel is declared, those below it in its file are not."""
        self._cache_file._source_stamp = (self._own_stamp, digest_of(self._py_func))


class PlainDispatcher(CPUDispatcher):
    """A kernel that Numba compiles as it does any function."""

    def enable_caching(self) -> None:
        """Keep what is compiled on disk."""
        self._cache = SourceCache(self.py_func)
