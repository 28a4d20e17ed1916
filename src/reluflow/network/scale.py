"""The initialisation scale as a logarithm, so that 1e-400 is as legal as 0.001."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

from reluflow.errors import InvalidInputError

Scale = float | str | Decimal

_LARGEST_LOG = 150.0 * math.log(10.0)  # outputs are of the size of the scale's square


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
    # in [1, 10), so its logarithm is an ordinary float; from the digits, for no Decimal context reaches every exponent
    sign, digits, _ = number.as_tuple()
    mantissa = float(Decimal((sign, digits[:40], 1 - len(digits[:40]))))
    logarithm = math.log(mantissa) + number.adjusted() * math.log(10.0)
    if logarithm > _LARGEST_LOG:
        raise InvalidInputError(
            f"`scale` must be at most 1e150, beyond which outputs leave the range of a double, got {scale!r}."
        )
    return logarithm


def decimal_of(text: str) -> Decimal:
    """Decimal text of any exponent as an exact number."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation as error:
        raise InvalidInputError(f"`{text}` must be a number.") from error
    if not number.is_finite():
        raise InvalidInputError(f"`{text}` must be a finite number.")
    return number


def canonical_decimal(number: Decimal | str) -> str:
    """One text for one number, whatever its spelling.

    >>> canonical_decimal("1e-3"), canonical_decimal("0.0010"), canonical_decimal("1e-400"), canonical_decimal("20")
    ('0.001', '0.001', '1e-400', '20')
    """
    if isinstance(number, str):
        number = decimal_of(number)
    if number == 0:
        return "0"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    exponent = number.adjusted()
    if -5 <= exponent <= 15:
        text = format(number, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign = "-" if number < 0 else ""
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{exponent}"
