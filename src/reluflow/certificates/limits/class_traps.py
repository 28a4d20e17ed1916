"""Neurons that are trapped by one class: on orthogonally separable data they decide the limit on their own.

Data are orthogonally separable if samples of one class make acute angles and samples of two classes obtuse ones. A
neuron that is active on samples of class c alone and whose v is near enough to e_c - 1/K stays so for ever, whatever
the others do: its pre-activations rise on class c and fall elsewhere. Once all neurons are trapped or dead, the network
is one linear network for each class, and its direction tends to the max-margin vector of every class.
"""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.network.network import Network, row_norms


def is_orthogonally_separable(dataset: Dataset) -> bool:
    """Whether <x_k, x_l> > 0 for samples of one class and < 0 for those of two.

    >>> from reluflow import Dataset
    >>> is_orthogonally_separable(Dataset([[2.0, 1.0], [2.0, -1.0], [-1.0, 0.0]], [0, 0, 1], classes=("a", "b")))
    True
    """
    products = dataset.X @ dataset.X.T
    same = dataset.y[:, None] == dataset.y
    return bool(np.all(products[same] > 0.0) and np.all(products[~same] < 0.0))


def is_trapped(network: Network, dataset: Dataset) -> bool:
    """Whether every neuron is trapped by one class or dead, and every class has one that is trapped.

    Notes
    -----
    With B = <v, e_c - 1/K> / (|v| kappa), kappa^2 = (K - 1)/K, a neuron that is inactive on all other classes is
    trapped if B^2 >= (K - 2)/(2K - 2) and B > 0.

    References
    ----------
    Min, Zhu & Vidal (2025), Lemma 5 and Prop. 2 [min2025, arXiv v1]; the bound on B is sharper than the printed one.
    """
    K = dataset.num_outputs
    if dataset.classes is None or K < 3 or network.leak > 0.0 or network.b is not None:
        return False
    if not is_orthogonally_separable(dataset):
        return False
    products, own = network.pre_activations(dataset.X), dataset.y.astype(np.intp)
    centred = network.v - network.v.mean(axis=1, keepdims=True)
    sizes = row_norms(network.v)
    caught = set[int]()
    for j in range(network.num_neurons):
        active = np.unique(own[products[j] >= 0.0])
        if active.size == 0 or not (np.any(network.w[j]) or np.any(network.v[j])):
            continue
        c = int(active[0])
        height = centred[j, c] * np.sqrt(K / (K - 1.0))
        is_towards = height > 0.0 and height**2 >= (K - 2.0) / (2.0 * K - 2.0) * sizes[j] ** 2
        if active.size > 1 or not is_towards or not np.any(products[j] > 0.0):
            return False
        caught.add(c)
    return len(caught) == K
