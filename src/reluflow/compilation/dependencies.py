"""What a kernel depends on: the kernels that it names, and a digest of the files that they all stand in."""

from __future__ import annotations

import dis
import hashlib
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

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
    """A digest of the file of a kernel and of the files of all kernels that it names, and that those name."""
    seen, waiting = set(), [function]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += [named.py_func for named in _named_by(one)]
    files = {one.__module__: one.__code__.co_filename for one in seen}
    parts = [f"{module} {_digest_of_file(files[module])}" for module in sorted(files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@cache
def _named_by(function: FunctionType) -> tuple[Any, ...]:
    """The dispatchers that a function names."""
    found: dict[int, Any] = {}
    instructions = list(dis.get_instructions(function))
    for place, instruction in enumerate(instructions):
        if instruction.opname != "LOAD_GLOBAL":
            continue
        named = function.__globals__.get(instruction.argval)
        if isinstance(named, ModuleType):
            named = getattr(named, str(instructions[place + 1].argval), None)
        if isinstance(named, Dispatcher):
            found[id(named)] = named
    return tuple(found.values())


@cache
def _digest_of_file(path: str) -> str:
    """A digest of a file's content, empty for code that stands in no file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""
