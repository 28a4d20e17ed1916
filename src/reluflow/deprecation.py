"""Old names and old forms of calls, which work for one release with a warning that says the new one."""

from __future__ import annotations

import warnings

GONE_WITH = "0.4"


def warn_old_form(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn the caller of a public function that its form goes with the release after next.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_old_form("align(X, forces, w, a)", "align(problem)")
    >>> print(caught[0].message)
    `align(X, forces, w, a)` is now `align(problem)`; the old form goes with version 0.4.
    """
    sentence = f"`{old}` is now `{new}`; the old form goes with version {GONE_WITH}."
    warnings.warn(sentence, DeprecationWarning, stacklevel=stacklevel)
