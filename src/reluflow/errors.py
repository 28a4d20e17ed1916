"""Our exceptions, under one base class.

Every message names the thing in backticks and says what was expected, what came, and the way out. The command
line prints the message alone and exits with status 2.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray


class ReluflowError(Exception):
    """Anything reluflow refuses to do, with a sentence that says why."""


class InvalidInputError(ReluflowError, ValueError):
    """An argument or a file is not what the function accepts."""


class MissingExtraError(ReluflowError, ImportError):
    """A heavier dependency is needed and is not installed."""


class DownloadError(ReluflowError, OSError):
    """A file could not be fetched, or is not the file it should be."""


class BackendError(ReluflowError, RuntimeError):
    """An optimisation package failed where a result was needed."""


class BrokenPaperWarning(UserWarning):
    """A paper that another package registers could not be loaded; the others are there."""


def binary_label_error(labels: FloatArray) -> InvalidInputError:
    """The refusal of labels that a classification loss cannot take."""
    first = labels[np.abs(labels) != 1.0][0]
    hint = " (for labels 0 and 1 use 2*y - 1)" if np.all((labels == 0) | (labels == 1)) else ""
    return InvalidInputError(
        f"`y` must hold only the labels -1 and 1 for a classification loss, got {first:g}{hint}; "
        "the square loss takes any labels."
    )
