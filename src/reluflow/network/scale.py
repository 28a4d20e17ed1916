"""The initialisation scale as a logarithm, so that 1e-400 is as legal as 0.001."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

from reluflow.errors import InvalidInputError

Scale = float | str | Decimal


def log_of_scale(scale: Scale) -> float:
    """Natural logarithm of a positive number given as a float, a Decimal or decimal text of any exponent.

    >>> round(log_of_scale("1e-400"), 6)
    -921.034037
    >>> log_of_scale(1.0)
    0.0
    """
    try:
        number = Decimal(scale.strip()) if isinstance(scale, str) else Decimal(scale)
    except (InvalidOperation, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"`scale` must be a positive decimal number such as 1e-3 or 1e-400, got {scale!r}."
        ) from error
    if not number.is_finite() or number <= 0:
        raise InvalidInputError(f"`scale` must be a positive decimal number such as 1e-3 or 1e-400, got {scale!r}.")
    mantissa = number.scaleb(-number.adjusted())  # in [1, 10), so its logarithm is an ordinary float
    return math.log(float(mantissa)) + number.adjusted() * math.log(10.0)
