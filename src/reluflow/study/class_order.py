"""In which order classes are learnt, where the data decide it: orthogonally separable classes under softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.limits.class_traps import is_orthogonally_separable
from reluflow.data.dataset import Dataset
from reluflow.losses import AbstractLoss

if TYPE_CHECKING:
    from reluflow.study.whole_study import Study


def class_rates(dataset: Dataset, loss: AbstractLoss) -> FloatArray:
    r"""Growth rates of neurons that are active on one class alone while outputs are near 0, shape (K,).

    A pair (w, v) aligned with the sum of the samples of class c and with its centred label grows at
    $\kappa |\sum_{y_k = c} x_k|$ times the weight of a sample in the loss, $\kappa^2 = (K - 1)/K$.

    References
    ----------
    Min, Zhu & Vidal (2025), Sec. 4.1 [min2025, arXiv v1].

    Examples
    --------
    >>> from reluflow import Dataset, SoftmaxLoss
    >>> data = Dataset([[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]], [0, 1, 2], classes=("a", "b", "c"))
    >>> class_rates(data, SoftmaxLoss(reduction="sum")).round(4)
    array([1.633 , 1.1547, 1.1547])
    """
    K = dataset.num_outputs
    sums = np.array([np.sum(dataset.X[dataset.y == c], axis=0) for c in range(K)])
    return np.asarray(np.sqrt((K - 1.0) / K) * loss.sample_weight(dataset.n) * np.linalg.norm(sums, axis=1))


def about_class_order(found: Study) -> list[str]:
    """When each class is learnt, of data whose classes make acute angles within and obtuse ones between them."""
    data = found.dataset
    if data.classes is None or data.num_outputs < 3 or found.leak != 0.0 or not is_orthogonally_separable(data):
        return []
    rates = class_rates(data, found.loss)
    parts = [f"{data.classes[c]} at {1.0 / rates[c]:.4g}" for c in np.argsort(-rates)]
    return [
        "The classes are orthogonally separable: samples make acute angles within a class and obtuse ones between "
        "classes. As the scale vanishes each is learnt on its own, the one with the longest sum of samples first; in "
        f"units of log(1/scale): {', '.join(parts)}."
    ]
