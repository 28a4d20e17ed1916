"""Names for arrays by what they hold, used in every signature; in those of kernels also by their dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Dimensions:
    """The number of dimensions of an array that a kernel is compiled for."""

    count: int


FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
SignArray = NDArray[np.int8]  # entries -1, 0, 1: activation patterns and sides of walls
WordArray = NDArray[np.uint64]  # packed bits, and hashes
ByteArray = NDArray[np.int8]  # a file as it is sent

FloatVector = Annotated[FloatArray, Dimensions(1)]
FloatMatrix = Annotated[FloatArray, Dimensions(2)]
SingleMatrix = Annotated[NDArray[np.float32], Dimensions(2)]  # in single precision
FloatCube = Annotated[FloatArray, Dimensions(3)]
IntVector = Annotated[IntArray, Dimensions(1)]
IntMatrix = Annotated[IntArray, Dimensions(2)]
IntCube = Annotated[IntArray, Dimensions(3)]
BoolVector = Annotated[BoolArray, Dimensions(1)]
BoolMatrix = Annotated[BoolArray, Dimensions(2)]
SignVector = Annotated[SignArray, Dimensions(1)]
SignMatrix = Annotated[SignArray, Dimensions(2)]
WordVector = Annotated[WordArray, Dimensions(1)]
WordMatrix = Annotated[WordArray, Dimensions(2)]
