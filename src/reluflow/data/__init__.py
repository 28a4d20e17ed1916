"""Labelled points: Dataset, files, random samplers, the exact point sets papers print, and their registry."""

from reluflow.data.choice import TableChoice
from reluflow.data.dataset import Dataset, Task
from reluflow.data.files import read_dataset, write_dataset
from reluflow.data.in_memory import as_dataset
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings
from reluflow.data.registry import REGISTRY, load, open_dataset, registered_datasets, suggested_settings

__all__ = [
    "REGISTRY",
    "Dataset",
    "DatasetParameter",
    "RegisteredDataset",
    "SuggestedSettings",
    "TableChoice",
    "Task",
    "as_dataset",
    "load",
    "open_dataset",
    "read_dataset",
    "registered_datasets",
    "suggested_settings",
    "write_dataset",
]
