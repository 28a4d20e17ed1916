"""The types for which a kernel is compiled, read off its annotations.

One kernel, one specialisation: an array is C-contiguous, writeable and of the number of dimensions that its annotation
names (`FloatVector`, `FloatMatrix`, ...), whole numbers have 64 bits, and a named tuple has the types of its fields.
A call with other types still works, and compiles the kernel a second time; a test looks for such calls.
"""

from __future__ import annotations

import inspect
from functools import cache
from types import FunctionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numba import from_dtype, types

from reluflow.arrays import Dimensions

_NUMBERS = {int: types.int64, float: types.float64, bool: types.boolean}


@cache
def signature_of(function: FunctionType) -> tuple[Any, ...] | None:
    """Numba's types of the parameters, or None where an annotation leaves one open.

    >>> from reluflow.arrays import FloatMatrix
    >>> def scaled(rows: FloatMatrix, factor: float) -> None: ...
    >>> signature_of(scaled)
    (Array(float64, 2, 'C', False, aligned=True), float64)
    """
    hints = get_type_hints(function, include_extras=True)
    found = [_type_of(hints.get(name)) for name in inspect.signature(function).parameters]
    return None if None in found else tuple(found)


def _type_of(hint: Any) -> Any:
    """Numba's type, or None where the annotation does not tell."""
    if hint in _NUMBERS:
        return _NUMBERS[hint]
    if get_origin(hint) is Annotated:
        array, *notes = get_args(hint)
        dimensions = [note.count for note in notes if isinstance(note, Dimensions)]
        if not dimensions:
            return None
        return types.Array(from_dtype(np.dtype(_scalar_of(array))), dimensions[0], "C")
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        fields = get_type_hints(hint, include_extras=True)
        found = [_type_of(fields[name]) for name in hint._fields]
        if None in found:
            return None
        numba_types: Any = types  # which has no annotations for these two
        if len(set(found)) == 1:
            return numba_types.NamedUniTuple(found[0], len(found), hint)
        return numba_types.NamedTuple(found, hint)
    return None


def _scalar_of(array: Any) -> Any:
    """What an array holds: the scalar type somewhere within `NDArray[...]`, whose form depends on NumPy's version."""
    for part in get_args(array):
        if isinstance(part, type) and issubclass(part, np.generic):
            return part
        inner = _scalar_of(part)
        if inner is not None:
            return inner
    return None
