"""In which order classes are learnt, whose neurons die, and what the limit is: orthogonally separable classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import hard_margin
from reluflow.certificates.limits.class_traps import is_orthogonally_separable, is_trapped
from reluflow.data.dataset import Dataset
from reluflow.losses import AbstractLoss
from reluflow.study.numbering import numbered

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


def _is_told_of(found: Study) -> bool:
    data = found.dataset
    if data.classes is None or data.num_outputs < 3 or found.leak != 0.0:
        return False
    return is_orthogonally_separable(data)


def about_class_order(found: Study) -> list[str]:
    """When each class is learnt, of data whose classes make acute angles within and obtuse ones between them."""
    data = found.dataset
    if not _is_told_of(found) or data.classes is None:
        return []
    rates = class_rates(data, found.loss)
    parts = [f"{data.classes[c]} at {1.0 / rates[c]:.4g}" for c in np.argsort(-rates)]
    return [
        "The classes are orthogonally separable: samples make acute angles within a class and obtuse ones between "
        "classes. As the scale vanishes each is learnt on its own, the one with the longest sum of samples first; in "
        f"units of log(1/scale): {', '.join(parts)}."
    ]


def about_class_limit(found: Study) -> list[str]:
    """With which class each neuron ends and which die, and what the limit is, once every live neuron is trapped.

    References
    ----------
    Min, Zhu & Vidal (2025), Lemma 5 and Prop. 2 [min2025, arXiv v1].
    """
    data, flow = found.dataset, found.flow
    if flow is None or not flow.has_ended or data.classes is None or not _is_told_of(found):
        return []
    network = flow.trajectory.network
    if not is_trapped(network, data):
        return ["Some neuron is still active on samples of several classes, or a class has none: its limit is open."]
    active = network.pre_activations(data.X) > 0.0
    classes = data.y.astype(np.intp)
    counts = [int(np.sum(np.any(active[:, classes == c], axis=1))) for c in range(data.num_outputs)]
    dead = np.flatnonzero(~active.any(axis=1))
    ends = ", ".join(f"{count} with {name}" for count, name in zip(counts, data.classes, strict=True))
    dies = f"{dead.size} die{'s' if dead.size == 1 else ''} ({numbered(dead)})" if dead.size else "none dies"
    margins = np.array([hard_margin(data.X[classes == c]).margin for c in range(data.num_outputs)])
    shares = 1.0 / margins / np.sum(1.0 / margins)
    parts = [
        f"{name} {margin:.4g} and {share:.1%}"
        for name, margin, share in zip(data.classes, margins, shares, strict=True)
    ]
    proved = "That is proved" if flow.limit.is_proof else "That is what the last state leads to"
    return [
        f"Of {network.num_neurons} neurons {ends} end active on the samples of that class alone, and {dies}. No neuron "
        "can leave its class any more, so each class is separated by its own max-margin direction, and the features of "
        f"two classes are orthogonal; margin and share of the squared norm: {', '.join(parts)}. {proved}: the classes "
        "are linear networks of their own by now."
    ]
