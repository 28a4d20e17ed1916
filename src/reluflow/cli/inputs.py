"""From command-line words to our nouns: dataset, loss, network."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from reluflow.cli.arguments import LossName, ReductionName
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss, loss_named

if TYPE_CHECKING:
    from reluflow.data.reading import Reading
    from reluflow.network import Network
    from reluflow.network.network import OutputBias


def dataset_from(spec: str, *, bias: bool = False, seed: int | None = None) -> Dataset:
    """Load a registered dataset, or read a file as its options say, tell what was understood, refuse zero samples."""
    return reading_from(spec, bias=bias, seed=seed).dataset


def reading_from(spec: str, *, bias: bool = False, seed: int | None = None) -> Reading:
    """The dataset of `dataset_from` with what was said about it."""
    from reluflow.cli.data_options import DatasetWords
    from reluflow.data.choice import TableChoice
    from reluflow.data.registry import open_reading

    choice = spec.choice if isinstance(spec, DatasetWords) else TableChoice(is_command_line=True)
    reading = open_reading(str(spec), choice, bias=bias, seed=seed)
    for sentence in reading.sentences():
        note(sentence)
    return reading


def note_suggested_leak(spec: str, leak: float) -> None:
    """Say so when a registered dataset was built for another leak than the one in use."""
    from reluflow.data.registry import REGISTRY, suggested_settings

    if (
        spec.partition(":")[0] in REGISTRY
        and (suggested := suggested_settings(spec).leak) is not None
        and suggested != leak
    ):
        note(f"{spec} was built for leak {suggested:g} and leak {leak:g} is used; pass --leak {suggested:g}.")


def loss_from(dataset: Dataset, name: LossName | None, reduction: ReductionName, factor: float) -> AbstractLoss:
    """The requested loss, by default the one that fits the labels, refusing labels it cannot take."""
    chosen = name or (LossName.LOGISTIC if dataset.is_binary else LossName.SQUARE)
    loss = loss_named(chosen.value, reduction=reduction.value, factor=factor)
    loss.check_labels(dataset.y)
    return loss


def network_from(
    dataset: Dataset, *, init: str, width: str, scale: str, seed: int, leak: float, output_bias: OutputBias = "refuse"
) -> Network:
    """Draw or read the neurons."""
    from reluflow.network import circle_quadrature, initialization_named, is_network_file, neuron_rng, read_network

    if is_network_file(init):
        network = read_network(init, leak=leak, output_bias=output_bias)
        if network.d != dataset.d:
            raise InvalidInputError(
                f"`{init}` holds neurons of dimension {network.d} but the dataset has dimension {dataset.d}; "
                "`--bias` adds the constant coordinate, which a hidden bias needs."
            )
        return network
    scheme = initialization_named(init)
    if width.strip().lower() in ("inf", "infinity"):
        if scheme.name != "balanced":
            raise InvalidInputError(f"`--width inf` is available for --init balanced, got {init!r}.")
        return circle_quadrature(dataset, num_nodes=INFINITE_WIDTH_NODES, scale=scale, leak=leak)
    if not width.strip().isdigit() or int(width) < 1:
        raise InvalidInputError(f"`--width` must be a positive integer or inf, got {width!r}.")
    return scheme(dataset, width=int(width), scale=scale, rng=neuron_rng(seed), leak=leak)


INFINITE_WIDTH_NODES = 20_000


def note(sentence: str) -> None:
    """Say something on standard error, beside the result."""
    print(f"Note: {sentence}", file=sys.stderr)
