"""Point sets of Phuong & Lampert (2021), "The inductive bias of ReLU networks on orthogonally separable data"."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.data.dataset import Dataset, Task
from reluflow.data.registered import RegisteredDataset, SuggestedSettings, size_parameters
from reluflow.errors import InvalidInputError


def filtered_orthants(rng: np.random.Generator, *, n: int = 500, d: int = 20) -> Dataset:
    """Gaussian points of two opposite orthants on one side of the alternating vector z = (1, -1, ..., 1, -1).

    The paper keeps a standard Gaussian x with label 1 if all coordinates are positive, -1 if all are negative, and
    only if <x, z> >= 0: one draw in 2^d survives. This sampler draws from the same law directly: a fair label y, h =
    |g|, and where y <h, z> < 0 the coordinates 2k-1 and 2k of h change places, which turns <h, z> into its negative
    and leaves the law of h as it was; then x = y h.

    Parameters
    ----------
    rng
        Source of randomness.
    n
        Number of samples.
    d
        Dimension, even.

    References
    ----------
    Phuong & Lampert (2021), Sec. 5.1, Fig. 1 [phuong2021].
    """
    if n < 1:
        raise InvalidInputError(f"`n` must be at least 1, got {n}.")
    if d < 2 or d % 2:
        raise InvalidInputError(f"`d` must be even and at least 2, got {d}: the filter pairs the coordinates.")
    labels = rng.choice([-1.0, 1.0], size=n)
    magnitudes = np.abs(rng.standard_normal((n, d)))
    alternating = np.tile([1.0, -1.0], d // 2)
    wrong_side = labels * (magnitudes @ alternating) < 0
    swapped = magnitudes.reshape(n, d // 2, 2)[:, :, ::-1].reshape(n, d)
    magnitudes = np.where(wrong_side[:, None], swapped, magnitudes)
    return Dataset(
        labels[:, None] * magnitudes,
        labels,
        name="phuong-orthants",
        provenance="Phuong & Lampert (2021), Sec. 5.1, by a direct sampler [phuong2021]",
    )


def phuong_toy() -> Dataset:
    """Four points in the plane with every quantity of the paper's Theorem 1 in closed form: w_+ = (1, 1)/3.

    The positive samples are (2, 1), (1, 2), the negative ones (-2, -0.5), (-0.6, -1.6), whose max-margin vector is
    w_- = -(11, 14)/29. A toy of ours for testing Theorem 1; not in the paper.
    """
    return Dataset(
        [[2.0, 1.0], [1.0, 2.0], [-2.0, -0.5], [-0.6, -1.6]],
        [1.0, 1.0, -1.0, -1.0],
        name="phuong-toy",
        provenance="closed-form case for Phuong & Lampert (2021), Theorem 1 [phuong2021]",
    )


def phuong_dead_cone() -> Dataset:
    """Orthogonally separable points that leave a cone of dead directions, 120 degrees among them.

    P = {(1, 0.1), (1, -0.1)} and N = {-(cos a, sin a): a = 70, 80 degrees}: the hypotheses of the paper's Theorem 1 do
    not exclude dead neurons. An example of ours; not in the paper.
    """
    angles = np.deg2rad([70.0, 80.0])
    negative = -np.column_stack([np.cos(angles), np.sin(angles)])
    return Dataset(
        np.vstack([[[1.0, 0.1], [1.0, -0.1]], negative]),
        [1.0, 1.0, -1.0, -1.0],
        name="phuong-dead-cone",
        provenance="dead-neuron case for Phuong & Lampert (2021), Theorem 1 [phuong2021]",
    )


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
        filtered_orthants,
        size_parameters(500, 20),
        is_random=True,
        settings=SuggestedSettings("logistic"),  # the experiment averages over its batches
    ),
    _phuong("phuong-toy", 4, 2, "max-margin vectors in closed form", phuong_toy),
    _phuong("phuong-dead-cone", 4, 2, "orthogonally separable, yet neurons die", phuong_dead_cone),
)
