"""The two points of the paper."""

from reluflow.data import Dataset, RegisteredDataset, SuggestedSettings, Task


def two_points() -> Dataset:
    """One point of each class, at a right angle."""
    return Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])


DATASETS = (
    RegisteredDataset(
        "smith-two-points", 2, 2, "two points at a right angle", two_points,
        task=Task.CLASSIFICATION, paper="smith2025", settings=SuggestedSettings("logistic"),
    ),
)  # fmt: skip
