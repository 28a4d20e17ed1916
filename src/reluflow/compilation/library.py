"""The machine code of a kernel, with the kernels that it calls beside it instead of within it.

Numba copies the code of every callee into its caller, optimises it there once more and emits it once more, all the way
up: two thirds of the machine code of a solver were copies. Only a small callee is worth it, since that may be inlined.
A large one is called where it is, at an address filled in when the caller is loaded; so it must be loaded first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any
from uuid import uuid4

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment
from numba.core.funcdesc import qualifying_prefix

from reluflow.compilation.dependencies import digest_of

# Instructions, and two more for each argument: LLVM inlines what costs less than 250, where most instructions cost 5
# and an argument that need not be handed over saves 5.
_LARGEST_COPIED = 200


@dataclass(frozen=True)
class StoredLibrary:
    """What is written to disk of the machine code of a kernel."""

    name: str
    machine_code: bytes
    bitcode: bytes  # for callers that copy it
    is_large: bool
    defined: frozenset[str]  # symbols


class KernelLibrary(JITCodeLibrary):
    """Machine code that calls large kernels where they are."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.symbol = ""  # of the kernel itself, known when it is compiled
        self._is_large: bool | None = None
        self._bitcode = b""

    @property
    def is_large(self) -> bool:
        """Whether the kernel is too large to be inlined anywhere."""
        if self._is_large is None:
            function = self._final_module.get_function(self.symbol)
            largest = _LARGEST_COPIED + 2 * sum(1 for _ in function.arguments)
            instructions = (instruction for block in function.blocks for instruction in block.instructions)
            self._is_large = next(islice(instructions, largest, None), None) is not None
        return self._is_large

    def finalize(self) -> None:
        """Optimise and emit the kernel, with copies of what it calls except large kernels."""
        apart = [one for one in self._linking_libraries if isinstance(one, KernelLibrary) and one.is_large]
        for library in apart:
            self._reload_init.update(library._reload_init)
        self._linking_libraries = [one for one in self._linking_libraries if one not in apart]
        super().finalize()

    def needed(self) -> list[str]:
        """The functions that are called where they are."""
        return [function.name for function in self._final_module.functions if function.is_declaration]

    def stored(self) -> StoredLibrary:
        """For the disk."""
        module = self._final_module
        values = (value for kind in (module.functions, module.global_variables) for value in kind)
        defined = frozenset(value.name for value in values if not value.is_declaration)
        bitcode = self._get_module_for_linking().as_bitcode()
        return StoredLibrary(self.name, self._get_compiled_object(), bitcode, self.is_large, defined)

    @classmethod
    def restored(cls, codegen: Any, stored: StoredLibrary) -> KernelLibrary:
        """From the disk; what it calls must be loaded."""
        library = cls(codegen, stored.name)
        library._is_large, library._bitcode = stored.is_large, stored.bitcode
        library.enable_object_caching()
        library._set_compiled_object(stored.machine_code)
        library._finalize_final_module()
        codegen._engine._defined_symbols |= stored.defined
        return library

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None and self._bitcode:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
        return super()._get_module_for_linking()


class KernelCompiler(Compiler):
    """Numba's compiler, writing into a library of ours under a symbol that is the same in every process.

    The symbol has a digest of all source that the kernel is made of, so a caller finds the callee that it was compiled
    with, or none.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        self.state.library = KernelLibrary(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        flags = self.state.flags
        self._has_no_wrapper = flags.no_cpython_wrapper, flags.no_cfunc_wrapper
        flags.no_cpython_wrapper, flags.no_cfunc_wrapper = True, False  # as Numba's own: else those are compiled twice
        result = super().compile_extra(func)
        result.library.symbol = result.fndesc.llvm_func_name
        return result

    def define_pipelines(self) -> Any:
        """Numba's steps; called when the flags above have been noted for the functions of Numba that are called."""
        self.state.flags.no_cpython_wrapper, self.state.flags.no_cfunc_wrapper = self._has_no_wrapper
        identity = self.state.func_id
        source = uuid4().hex if identity.func.__closure__ else digest_of(identity.func)
        candidates = chain([source], (f"{source}_{again}" for again in count(2)))
        identity.unique_id = next(candidate for candidate in candidates if not self._is_taken(candidate))
        return super().define_pipelines()

    def _is_taken(self, identifier: str) -> bool:
        """Whether this process has a kernel of this name, types and identifier, or what one of its callers keeps of it.

        That is so where the kernel was defined again, or where a caller was found on disk and the kernel was not.
        """
        state = self.state
        name = qualifying_prefix(state.func_id.modname, state.func_id.func_qualname)
        symbol, environment = (
            state.targetctx.mangler(one, state.args, abi_tags=[state.flags.get_mangle_string()], uid=identifier)
            for one in (name, f".NumbaEnv.{name}")
        )
        is_defined: bool = state.library.codegen._engine.is_symbol_defined(symbol)
        return is_defined or lookup_environment(environment) is not None
