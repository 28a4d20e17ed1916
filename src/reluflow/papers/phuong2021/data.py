"""The point sets of Phuong & Lampert (2021), by name [phuong2021]."""

from __future__ import annotations

from functools import partial

from reluflow.data.dataset import Task
from reluflow.data.published import phuong2021
from reluflow.data.registered import RegisteredDataset, SuggestedSettings, size_parameters

_phuong = partial(
    RegisteredDataset,
    task=Task.CLASSIFICATION,
    paper="phuong2021",
    settings=SuggestedSettings("logistic", reduction="sum"),
)


DATASETS = (
    _phuong(
        "phuong-orthants",
        500,
        20,
        "Gaussian points in two opposite orthants, filtered",
        phuong2021.filtered_orthants,
        size_parameters(500, 20),
        is_random=True,
        settings=SuggestedSettings("logistic"),  # the experiment averages over its batches
    ),
    _phuong("phuong-toy", 4, 2, "max-margin vectors in closed form", phuong2021.phuong_toy),
    _phuong("phuong-dead-cone", 4, 2, "orthogonally separable, yet neurons die", phuong2021.phuong_dead_cone),
)
