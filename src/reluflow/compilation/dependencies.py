"""What a kernel depends on: the kernels that it names, and a digest of the files that they all stand in."""

from __future__ import annotations

import dis
import hashlib
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher


@cache
def called_by(function: FunctionType) -> tuple[Any, ...]:
    """The dispatchers that a function names, or that functions inlined into it name."""
    found: dict[int, Any] = {}
    for named in _named_by(function):
        inner = called_by(named.py_func) if named.targetoptions.get("inline") == "always" else [named]
        found.update({id(dispatcher): dispatcher for dispatcher in inner})
    return tuple(found.values())


@cache
def digest_of(function: FunctionType) -> str:
    """A digest of the files of a kernel and of all kernels below it, and of the constants that they name.

    Constants may stand in other files: they are part of the machine code by the values that they had.
    """
    seen, waiting = set(), [function]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += [named.py_func for named in _named_by(one)]
    files = {one.__module__: one.__code__.co_filename for one in seen}
    parts = [f"{module} {_digest_of_file(files[module])}" for module in files]
    parts += [f"{one.__module__} {name} {value}" for one in seen for name, value in _constants_of(one).items()]
    return hashlib.sha256("\n".join(sorted(set(parts))).encode()).hexdigest()[:16]


@cache
def _named_by(function: FunctionType) -> tuple[Any, ...]:
    """The dispatchers that a function names."""
    named = _globals_of(function).values()
    return tuple({id(value): value for value in named if isinstance(value, Dispatcher)}.values())


def _constants_of(function: FunctionType) -> dict[str, str]:
    """The numbers, texts, tuples and arrays that a function names, as text that tells different ones apart."""
    named = _globals_of(function)
    constants = {name: value for name, value in named.items() if isinstance(value, int | float | str | tuple)}
    arrays = {name: value.tolist() for name, value in named.items() if isinstance(value, np.ndarray)}
    return {name: repr(value) for name, value in (constants | arrays).items()}


@cache
def _globals_of(function: FunctionType) -> dict[str, Any]:
    """What the global names in a function stand for, by name; of a module, the one of its names that is used."""
    found: dict[str, Any] = {}
    instructions = list(dis.get_instructions(function))
    for place, instruction in enumerate(instructions):
        if instruction.opname == "LOAD_GLOBAL":
            name, value = str(instruction.argval), function.__globals__.get(instruction.argval)
            if isinstance(value, ModuleType):
                used = str(instructions[place + 1].argval)
                name, value = f"{name}.{used}", getattr(value, used, None)
            found[name] = value
    return found


@cache
def _digest_of_file(path: str) -> str:
    """A digest of a file's content, empty for code that stands in no file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""
