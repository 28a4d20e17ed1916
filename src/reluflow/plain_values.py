"""Results as plain JSON values: one rule for the command line, the report, the laboratory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Arrays, NumPy scalars, tuples and non-finite floats as plain JSON values; anything else in words.

    >>> plain({"t": np.float64(np.inf), "w": np.eye(2), "is_proof": np.True_})
    {'t': None, 'w': [[1.0, 0.0], [0.0, 1.0]], 'is_proof': True}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return None if value is None else str(value)
