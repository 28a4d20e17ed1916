"""Direction change and norm change of Appendix A.5: which of the two a gradient makes at a given network [min2024]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.theory.elsewhere import definition


def input_weight_pulls(network: Network, dataset: Dataset, loss: AbstractLoss) -> FloatArray:
    """G_j = sum_i sigma'(<w_j, x_i>) g_i x_i with the full gradient, so that -grad_{w_j} L = a_j G_j, shape (m, d).

    sigma'(0) is the leak.
    """
    if network.d != dataset.d:
        raise InvalidInputError(
            f"`network` expects inputs of dimension {network.d} but `dataset` has dimension {dataset.d}; "
            "`dataset.with_bias()` adds the constant coordinate."
        )
    loss.check_labels(dataset.y)
    slopes = np.where(network.pre_activations(dataset.X) > 0.0, 1.0, network.leak)
    return np.asarray((slopes * loss.forces(network.outputs(dataset.X), dataset.y)) @ dataset.X)


def norm_change(network: Network, dataset: Dataset, loss: AbstractLoss) -> float:
    """sum_j 2 <-grad_{w_j} L, w_j>: the rate of change of sum_j |w_j|^2 under the flow of the input weights.

    Examples
    --------
    >>> from reluflow.losses import ExponentialLoss
    >>> data = Dataset([[1.0, 0.0]], [1.0])
    >>> round(norm_change(Network([[1.0, 0.0]], [1.0]), data, ExponentialLoss(reduction="sum")), 6)
    0.735759

    References
    ----------
    Min et al. (2024), App. A.5; the printed sums run over i for j [min2024].
    """
    along = network.a * np.sum(input_weight_pulls(network, dataset, loss) * network.w, axis=1)
    return float(2.0 * np.exp(2.0 * network.log_scale) * np.sum(network.weight * along))


def direction_change(network: Network, dataset: Dataset, loss: AbstractLoss) -> float:
    """sum_j |P_j (-grad_{w_j} L)|/|w_j|: how fast the directions of the neurons turn, summed.

    A neuron with w_j = 0 has no direction and adds nothing. The common scale cancels, so this is exact at any scale.

    References
    ----------
    Min et al. (2024), App. A.5; the printed sums run over i for j [min2024].
    """
    pulls = input_weight_pulls(network, dataset, loss)
    norms = row_norms(network.w)
    moving = norms > 0.0
    unit = network.w[moving] / norms[moving, None]
    across = pulls[moving] - np.sum(pulls[moving] * unit, axis=1, keepdims=True) * unit
    ratios = np.abs(network.a[moving]) / norms[moving]
    return float(np.sum(network.weight[moving] * ratios * np.linalg.norm(across, axis=1)))


APP_A_5 = definition("min2024:appA.5", "App. A.5", direction_change, "direction change, and norm change beside it")
