"""A kernel as Numba sees it: found on disk with all that it calls, and callable from Python where that is asked for."""

from __future__ import annotations

import importlib
from typing import Any

from numba import njit, types
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler import compile_result
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

from reluflow.compilation.library import KernelCompiler, KernelLibrary
from reluflow.compilation.signature import signature_of
from reluflow.compilation.source_cache import SourceCache

_KERNEL_OF: dict[str, tuple[str, str, tuple[Any, ...]]] = {}  # module, name and types of each symbol that is loaded


class KernelDispatcher(CPUDispatcher):
    """A kernel, compiled at its first call for each combination of types, and kept on disk.

    Unpacking the arguments that Python hands over takes long to compile where they are named tuples of arrays. So only
    a kernel declared as an entry is compiled with that; another one is given it when Python does call it.
    """

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None, pipeline_class: Any = None) -> None:  # noqa: A002 - Numba's name
        super().__init__(py_func, locals, targetoptions, pipeline_class or KernelCompiler)
        self._entry: Any = None

    @property
    def is_entry(self) -> bool:
        """Whether Python calls this kernel."""
        return not self.targetoptions.get("no_cpython_wrapper", False)

    def enable_caching(self) -> None:
        """Keep what is compiled on disk."""
        self._cache = _KernelCache(self.py_func)

    def add_overload(self, cres: Any) -> None:
        """Take up a compiled kernel; Numba's table of what Python may call gets entries alone."""
        if self.is_entry:
            super().add_overload(cres)
        else:
            self.overloads[tuple(cres.signature.args)] = cres
        place = (self.py_func.__module__, self.py_func.__name__, tuple(cres.signature.args))
        _KERNEL_OF[cres.library.symbol] = place

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What a call within a kernel is compiled to: a number of another size is converted to the declared type.

        Numba would compile the callee once more for a literal 0, or for an int8 where int64 is declared.
        """
        declared = signature_of(self.py_func) or ()
        if len(declared) == len(args):
            args = tuple(to if _is_same_kind(given, to) else given for given, to in zip(args, declared, strict=True))
        return super().get_call_template(args, kws)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """What Numba does with a call from Python whose types are not in its table."""
        if self.is_entry:
            numba_dispatcher: Any = super()  # whose methods type checkers do not see
            return numba_dispatcher._compile_for_args(*args, **kws)
        if self._entry is None:
            self._entry = njit(lambda *arguments: self(*arguments))
        return self._entry  # which Numba then calls


class _StoredKernels(CompileResultCacheImpl):
    """A kernel for the disk and from it."""

    def reduce(self, cres: Any) -> Any:
        """What is written: the library, the kernels it calls, and what Numba needs to call it."""
        needed = {symbol: _KERNEL_OF[symbol] for symbol in cres.library.needed() if symbol in _KERNEL_OF}
        cres.fndesc.typemap = cres.fndesc.calltypes = None  # large, and of no use to callers
        environments = tuple(cres._find_referenced_environments())
        library = cres.library.stored()
        return needed, library, cres.fndesc, cres.environment, cres.signature, cres.reload_init, environments

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Load a kernel after those it calls; None if one of these is not the one that it was compiled with."""
        needed, stored, description, environment, signature, reload_init, environments = payload
        if description.llvm_func_name in _KERNEL_OF or not all(
            _is_loaded(symbol, *needed[symbol]) for symbol in needed
        ):
            return None
        codegen = target_context.codegen()
        for reload in reload_init:
            reload()
        library = KernelLibrary.restored(codegen, stored)
        library.symbol = description.llvm_func_name
        result = compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=target_context.get_executable(library, description, environment),
            fndesc=description,
            type_annotation="",
            signature=signature,
            objectmode=False,
            lifted=(),
            reload_init=reload_init,
            referenced_envs=environments,
        )
        for one in environments:
            codegen.set_env(one.env_name, one)
        return result


class _KernelCache(SourceCache):
    """What is made of kernels called where they are is kept apart from what Numba makes."""

    _impl_class: Any = _StoredKernels


def _is_same_kind(given: Any, declared: Any) -> bool:
    """Whether a number of one type is one of the other without loss."""
    numba_types: Any = types
    given = numba_types.unliteral(given)
    if isinstance(declared, numba_types.Integer):
        return isinstance(given, numba_types.Integer) and given.signed and given.bitwidth <= declared.bitwidth
    return bool(given == declared)


def _is_loaded(symbol: str, module: str, name: str, signature: tuple[Any, ...]) -> bool:
    """Load a kernel if it is not loaded yet, and say whether that gave the symbol."""
    if symbol not in _KERNEL_OF:
        kernel = getattr(importlib.import_module(module), name, None)
        if isinstance(kernel, Dispatcher):
            kernel.compile(signature)
    return symbol in _KERNEL_OF
