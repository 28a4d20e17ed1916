"""The formulas of a loss as machine code: a kernel takes their addresses, so that one kernel serves every loss.

A kernel compiled against an address needs no compilation of its own for a new loss, is cached like any other, and pays
one indirect call per sample.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import cfunc, types
from numba.extending import intrinsic

from reluflow.compilation.kernel import kernel
from reluflow.errors import InvalidInputError
from reluflow.losses.loss import AbstractLoss, Formula, Formulas, in_namespace

_SIGNATURE = types.float64(types.float64, types.float64)
_LOSS_OF: dict[CompiledLoss, AbstractLoss] = {}


class CompiledLoss(NamedTuple):
    """What kernels take for a loss: the addresses of its formulas, for `apply`, and whether its forces fade.

    Addresses mean nothing in another process, so a pickle holds the loss itself.
    """

    value: int
    force: int
    curvature: int
    log_force: int
    log_curvature: int
    fades: bool

    def __reduce__(self) -> tuple[Any, ...]:
        return compiled, (_LOSS_OF[self],)


@cache
def compiled(loss: AbstractLoss) -> CompiledLoss:
    """Compile the formulas of a loss, or load them from Numba's cache."""
    formulas = loss.formulas
    if not isinstance(formulas, Formulas):
        raise InvalidInputError(
            f"`loss` must be a loss of one output for kernels of one output, got {loss.name}, which couples several."
        )
    value, force, curvature, log_force, log_curvature = (_compile(formula).address for formula in formulas)
    result = CompiledLoss(value, force, curvature, log_force, log_curvature, loss.fades)
    _LOSS_OF[result] = loss
    return result


@cache  # for ever, since the memory of a compiled function goes with it
def _compile(formula: Formula) -> Any:
    function = in_namespace(formula, SCALAR_NUMPY)
    has_file = Path(function.__code__.co_filename).is_file()  # the cache lies beside it
    return cfunc(_SIGNATURE, cache=has_file, error_model="numpy")(function)


@kernel()
def _where(condition: bool, one: float, other: float) -> float:
    return one if condition else other


SCALAR_NUMPY = ModuleType("scalar_numpy")  # NumPy, but for `where`, of which Numba makes an array even for numbers
vars(SCALAR_NUMPY).update(vars(np), where=_where)


@kernel()
def apply(address: int, h: float, y: float) -> float:
    """The formula at an address: `apply(loss.force, h, y)`."""
    return float(_call(address, h, y))  # type: ignore[call-arg]


@intrinsic
def _call(_typing: Any, address: Any, h: Any, y: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        kind = ir.FunctionType(double, [double, double])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.float64(types.intp, types.float64, types.float64), generate
