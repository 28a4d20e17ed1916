"""Our exceptions, under one base class.

Every message names the thing in backticks and says what was expected, what came, and the way out. The command
line prints the message alone and exits with status 2.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray


class ReluflowError(Exception):
    """Anything reluflow refuses to do, with the reason in a sentence."""


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


def class_label_error(labels: FloatArray) -> InvalidInputError:
    """The refusal of labels that the softmax loss cannot take."""
    if labels.ndim != 1:
        return InvalidInputError(
            f"`y` must hold one class per sample for the softmax loss, got rows of {labels.shape[-1]} numbers; "
            "the square loss takes them, and indicator rows (one-hot) become classes by `Dataset(..., classes=...)`."
        )
    if np.all(np.abs(labels) == 1.0):
        return InvalidInputError(
            "`y` must hold classes 0, ..., K - 1 for the softmax loss, got the labels -1 and 1; "
            "`dataset.with_class_indices()` makes them the classes 0 and 1."
        )
    return InvalidInputError(
        f"`y` must hold classes for the softmax loss, got numbers such as {labels[0]:g}; "
        "`dataset.with_class_indices()` makes every distinct number a class."
    )


def several_class_error(loss: str, num_classes: int, *, is_classification: bool) -> InvalidInputError:
    """The refusal of classes that a loss of one output cannot take."""
    if is_classification:
        return InvalidInputError(
            f"`loss` must be softmax for the {num_classes} classes of `dataset`, got {loss}, which takes labels -1 and "
            "1; `dataset.one_against_rest(name)` makes one class 1 and the others -1."
        )
    return InvalidInputError(
        f"`loss` must be softmax for the {num_classes} classes of `dataset`, got {loss}, which fits numbers; "
        "`dataset.with_one_hot_targets()` makes every class a row of 0s with a 1."
    )
