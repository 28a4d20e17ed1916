"""Where the neurons went: bundles of neurons that point the same way at the end of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network

SAME_DIRECTION = 0.999  # cosine, 2.6 degrees
LIGHT = 1e-6  # share of the heaviest neuron's |a||w| below which a neuron plays no part in the function
MOST_BUNDLES = 12


@dataclass(frozen=True, eq=False)
class NeuronGroup:
    """Neurons that ended alike.

    Parameters
    ----------
    name
        `bundle`, `light` (too small to matter), `dead` (pulled by no sample) or `rest`.
    sign
        Sign of the output weights; 0 where both occur, and for several outputs.
    neurons
        Their indices.
    share
        Their share of the total sum |a||w|.
    direction
        Mean of w weighted by |a|, of length 1; None unless a bundle.
    num_active
        How many samples its direction is active on; None unless a bundle.
    output
        Of several outputs, where the bundle pushes them: the mean of v weighted by |w|, of length 1; else None.
    """

    name: str
    sign: int
    neurons: IntArray
    share: float
    direction: FloatArray | None = None
    num_active: int | None = None
    output: FloatArray | None = None

    @property
    def size(self) -> int:
        """How many neurons."""
        return len(self.neurons)


def neuron_groups(network: Network, dataset: Dataset) -> tuple[NeuronGroup, ...]:
    """Bundle the neurons of a network by direction, heaviest bundle first.

    Dead neurons of a ReLU network (no sample with <w, x> > 0) and light ones are set apart. The rest is bundled
    greedily: the heaviest neuron left takes with it all of its sign within 2.6 degrees; of several outputs, all whose v
    lies within 2.6 degrees too.
    """
    norms = np.linalg.norm(network.w, axis=1)
    heights = np.abs(network.a) if network.num_outputs == 1 else np.linalg.norm(network.v, axis=1)
    mass = network.weight * heights * norms
    total = float(mass.sum()) or 1.0
    active = network.w @ dataset.X.T > 1e-9 * np.outer(norms, np.linalg.norm(dataset.X, axis=1))  # (m, n)
    is_dead = ~np.any(active, axis=1) if network.leak == 0.0 else np.zeros(network.num_neurons, dtype=bool)
    is_light = ~is_dead & (mass <= LIGHT * float(mass.max(initial=0.0)))
    groups: list[NeuronGroup] = []
    left = np.flatnonzero(~is_dead & ~is_light)
    left = left[np.argsort(-mass[left], kind="stable")]
    units = network.w / np.maximum(norms, np.finfo(float).tiny)[:, None]
    while left.size and len(groups) < MOST_BUNDLES:
        leader = left[0]
        chosen = (units[left] @ units[leader] >= SAME_DIRECTION) & _push_alike(network, heights, left, int(leader))
        chosen[0] = True
        members, left = left[chosen], left[~chosen]
        mean = (network.weight * heights)[members] @ network.w[members]
        mean /= float(np.linalg.norm(mean))
        groups.append(
            NeuronGroup(
                "bundle",
                _sign(network, members),
                np.sort(members).astype(np.int64),
                float(mass[members].sum()) / total,
                mean,
                int(np.sum(dataset.X @ mean > 0)),
                _pushed(network, norms, members),
            )
        )
    groups.sort(key=lambda group: -group.share)
    for name, members in (("rest", left), ("light", np.flatnonzero(is_light)), ("dead", np.flatnonzero(is_dead))):
        if members.size:
            sign = _sign(network, members)
            groups.append(NeuronGroup(name, sign, members.astype(np.int64), float(mass[members].sum()) / total))
    return tuple(groups)


def _push_alike(network: Network, heights: FloatArray, others: IntArray, leader: int) -> BoolArray:
    """Which neurons push the outputs the way one of them does: the sign of a, or the direction of v."""
    if network.num_outputs == 1:
        return np.asarray(np.sign(network.a[others]) == np.sign(network.a[leader]))
    return np.asarray(network.v[others] @ network.v[leader] >= SAME_DIRECTION * heights[others] * heights[leader])


def _sign(network: Network, members: IntArray) -> int:
    """Of the output weights of one output; 0 where both occur, and for several outputs."""
    if network.num_outputs > 1:
        return 0
    signs = np.unique(np.sign(network.a[members]))
    return int(signs[0]) if signs.size == 1 else 0


def _pushed(network: Network, norms: FloatArray, members: IntArray) -> FloatArray | None:
    """Where neurons push several outputs together, of length 1."""
    if network.num_outputs == 1:
        return None
    mean = (network.weight * norms)[members] @ network.v[members]
    return np.asarray(mean / float(np.linalg.norm(mean)))
