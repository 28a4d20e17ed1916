"""Names for arrays by what they hold, used in every signature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
SignArray = NDArray[np.int8]  # entries -1, 0, 1: activation patterns and sides of walls
WordArray = NDArray[np.uint64]  # packed bits, and hashes
ByteArray = NDArray[np.int8]  # a file as it is sent
