"""What the commands say about the data they are given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reluflow.data.dataset import Dataset
    from reluflow.data.reading import Reading
    from reluflow.experiment import Experiment


def dataset_of(experiment: Experiment) -> Dataset:
    """The data of a run; what was understood is said, and whether another leak suits them."""
    dataset = reading_of(experiment).dataset
    note_suggested_leak(experiment)
    return dataset


def reading_of(experiment: Experiment) -> Reading:
    """The data of a run with what was said about them."""
    reading = experiment.reading()
    for sentence in reading.sentences():
        note(sentence)
    return reading


def note_suggested_leak(experiment: Experiment) -> None:
    """Say so when a registered dataset was built for another leak than the one in use."""
    from reluflow.data.registry import REGISTRY, suggested_settings

    spec, leak = experiment.data, experiment.leak
    if spec.partition(":")[0] not in REGISTRY or experiment.X is not None:
        return
    suggested = suggested_settings(spec).leak
    if suggested is not None and suggested != leak:
        note(f"{spec} was built for leak {suggested:g} and leak {leak:g} is used; pass --leak {suggested:g}.")


def note_left_out_bias(experiment: Experiment) -> None:
    """Say so when a network file has an output bias and the run leaves it out."""
    from reluflow.network import is_network_file, read_network

    if experiment.output_bias != "none" or not is_network_file(experiment.init):
        return
    if read_network(experiment.init, leak=experiment.leak).b is not None:
        note("the output bias of the network is left out, as asked: its outputs are lower by it.")


def class_names(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """The classes in the order of the outputs, as JSON answers carry them; nothing where the labels are no classes."""
    return {} if dataset.classes is None else {"classes": dataset.classes}


def note(sentence: str) -> None:
    """Say something on standard error, beside the result."""
    print(f"Note: {sentence}", file=sys.stderr)
