"""How many neurons a study takes unless asked otherwise."""

from __future__ import annotations

from reluflow.data.dataset import Dataset
from reluflow.losses import AbstractLoss

WIDTHS = (200, 100, 50, 30, 10)
LARGEST_PRODUCT = 250_000  # n d m
_CRITICAL = 3  # weights within this factor of the samples are about as many


def default_width(dataset: Dataset, loss: AbstractLoss) -> int:
    """The largest of `WIDTHS` at which a step of the flow stays small; the bound is a choice, not a measurement.

    A regression with about as many weights as samples can only just be fitted, and its flow takes the longest of all:
    on the 442 patients of scikit-learn's diabetes data it ends after 10 seconds with 10 neurons, and with 20 or 50 not
    after minutes. Such widths are not taken.
    """
    for width in WIDTHS:
        weights = width * (dataset.d + 1)
        is_critical = not loss.is_classification and dataset.n < _CRITICAL * weights < _CRITICAL**2 * dataset.n
        if width * dataset.X.size <= LARGEST_PRODUCT and not is_critical:
            return width
    return WIDTHS[-1]
