"""Labelled points: Dataset, random generators, the exact point sets papers print."""

from reluflow.data.dataset import Dataset, SpanReduction, Task

__all__ = ["Dataset", "SpanReduction", "Task"]
