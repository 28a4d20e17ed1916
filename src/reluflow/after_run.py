"""What follows a finished run (polishing, certifying, drawing, saving, judging) can fail without losing the run."""

from __future__ import annotations

import warnings
from types import TracebackType


class StageFailed(UserWarning):
    """A stage after a finished run failed, and the run is kept without what the stage would have told."""


class Stage:
    """One stage after a finished run: an error in it becomes a warning and a sentence, and what follows goes on.

    An interruption comes through, unless the stage is told that Ctrl-C ends it alone.

    Parameters
    ----------
    name
        What the stage does, as the beginning of a sentence.
    is_left_by_interruption
        Whether Ctrl-C leaves the stage with a sentence, as an error does, rather than the whole command.

    Attributes
    ----------
    failure
        The sentence that names the stage and its error; empty where it went well.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True), Stage("Drawing the run") as drawing:
    ...     raise ZeroDivisionError("division by zero")
    >>> drawing.failure
    'Drawing the run failed with ZeroDivisionError: division by zero.'
    """

    def __init__(self, name: str, *, is_left_by_interruption: bool = False) -> None:
        self.name = name
        self.is_left_by_interruption = is_left_by_interruption
        self.failure = ""

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None and _is_interruption(error):
            if not self.is_left_by_interruption:
                return False
            self.failure = f"{self.name} was interrupted."
        elif isinstance(error, Exception):
            words = " ".join(str(error).split()).rstrip(".")
            self.failure = f"{self.name} failed with {type(error).__name__}{f': {words}' if words else ''}."
        else:
            return False
        warnings.warn(self.failure, StageFailed, stacklevel=2)
        return True


def _is_interruption(error: BaseException) -> bool:
    """Compiled code wraps the interruption that reaches it on its way."""
    is_wrapped = isinstance(error, SystemError) and isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
    return is_wrapped or isinstance(error, KeyboardInterrupt)
