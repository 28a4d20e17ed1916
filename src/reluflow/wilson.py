"""Wilson's interval for a probability seen in a few trials."""

from __future__ import annotations

import math

from reluflow.errors import InvalidInputError

CONFIDENCE_95 = 1.959963984540054  # normal quantile of 97.5 %


def wilson_interval(successes: int, trials: int, *, z: float = CONFIDENCE_95) -> tuple[float, float]:
    """The probabilities p that a normal test does not reject after `successes` in `trials`.

    (p^ + z^2/2n -+ z sqrt(p^ (1 - p^)/n + z^2/4n^2)) / (1 + z^2/n). It is never empty and stays in [0, 1].

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22.

    Examples
    --------
    >>> [round(end, 4) for end in wilson_interval(5, 10)]
    [0.2366, 0.7634]
    >>> [round(end, 4) for end in wilson_interval(0, 10)]
    [0.0, 0.2775]
    """
    if not 0 <= successes <= trials or trials < 1:
        raise InvalidInputError(f"`successes` must lie between 0 and `trials`, got {successes} of {trials}.")
    share = successes / trials
    middle = share + z * z / (2 * trials)
    reach = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max((middle - reach) / scale, 0.0), min((middle + reach) / scale, 1.0)
