"""Alignments of neurons with classes: A_c, B_c, who fires on what, and the starts of Propositions 1 and 3."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.network.network import Network, row_norms
from reluflow.papers.min2025.class_geometry import ClassGeometry, entry_threshold, pseudo_labels

DEAD, UNSORTED = -1, -2
ON_WALL = 1e-12  # a neuron that slides is this near to its hyperplane, relative to lengths


def printed_threshold(num_classes: int) -> float:
    """1 - 1/(2(K - 1)), which (18) asks of B_c."""
    return 1.0 - 1.0 / (2.0 * (num_classes - 1.0))


@dataclass(frozen=True, eq=False)
class Alignments:
    """Every neuron against every class.

    Parameters
    ----------
    geometry
        The classes.
    w, v
        Neurons, shapes (m, d) and (m, K), at any scale.
    """

    geometry: ClassGeometry
    w: FloatArray
    v: FloatArray

    @classmethod
    def of(cls, network: Network, geometry: ClassGeometry) -> Alignments:
        """Of the neurons of a network."""
        return cls(geometry, network.w, network.v)

    @cached_property
    def products(self) -> FloatArray:
        """<x_k, w_j>/|w_j|, shape (m, n); what is 0 up to rounding is 0."""
        raw = (self.w / row_norms(self.w)[:, None]) @ self.geometry.X.T
        return np.where(np.abs(raw) > ON_WALL * self.geometry.norms, raw, 0.0)

    @property
    def fires(self) -> BoolArray:
        """Who is active on what, shape (m, n)."""
        return np.asarray(self.products > 0.0)

    @cached_property
    def A(self) -> FloatArray:
        """A_c = sum over I_c of max(<x_k, w>, 0)/|w|, shape (m, K)."""
        positive = np.maximum(self.products, 0.0)
        return np.column_stack([positive[:, members].sum(axis=1) for members in self.geometry.members])

    @cached_property
    def B(self) -> FloatArray:
        """B_c = cosine of v with the centred one-hot label of c, shape (m, K)."""
        return np.asarray((self.v / row_norms(self.v)[:, None]) @ pseudo_labels(self.geometry.num_classes).T)

    @cached_property
    def num_active(self) -> IntArray:
        """How many samples of each class each neuron fires on, shape (m, K)."""
        return np.column_stack([self.fires[:, members].sum(axis=1) for members in self.geometry.members])

    @cached_property
    def lengths_active(self) -> FloatArray:
        """sum of |x_k| over the active samples of each class, shape (m, K)."""
        lengths = self.fires * self.geometry.norms
        return np.column_stack([lengths[:, members].sum(axis=1) for members in self.geometry.members])

    @property
    def sums_active(self) -> FloatArray:
        """S_c = sum of the active samples of each class, shape (m, K, d)."""
        gated = self.fires[:, :, None] * self.geometry.X
        return np.stack([gated[:, members].sum(axis=1) for members in self.geometry.members], axis=1)

    @property
    def classes(self) -> IntArray:
        """The class on whose samples alone a neuron fires, on some at least; DEAD on none, UNSORTED on several."""
        count = (self.num_active > 0).sum(axis=1)
        only = np.argmax(self.num_active > 0, axis=1)
        return np.where(count == 1, only, np.where(count == 0, DEAD, UNSORTED))

    @property
    def full_classes(self) -> IntArray:
        """The same where the neuron fires on every sample of its class; UNSORTED where it misses one."""
        mine = self.classes
        is_full = np.any(self.num_active == self.geometry.sizes, axis=1)
        return np.where((mine >= 0) & ~is_full, UNSORTED, mine)

    def own_B(self, classes: IntArray) -> FloatArray:
        """B_c of each neuron with its class; not a number where it has none."""
        rows = np.arange(len(self.w))
        return np.where(classes >= 0, self.B[rows, np.maximum(classes, 0)], np.nan)

    @property
    def traps(self) -> IntArray:
        """The class in whose trap a neuron is: it fires on that class alone and B_c >= b_lo; else DEAD or UNSORTED.

        It must be negative on the other samples, or on their hyperplane with B_c' <= 0.
        """
        mine = self.classes
        own = self.own_B(mine)
        foreign = self.geometry.labels[None, :] != mine[:, None]
        at_wall = foreign & (self.products == 0.0) & (self.B[:, self.geometry.labels] > 0.0)
        low = entry_threshold(self.geometry.num_classes)
        is_in = (own >= low) & ~at_wall.any(axis=1)
        return np.where((mine >= 0) & ~is_in, UNSORTED, mine)

    # The starts of Propositions 1 and 3 -------------------------------------------------------------------------------

    def printed_start(self) -> FloatArray:
        """Margin of (18), the start of the printed Proposition 1, shape (m, K): positive where neuron and class fit.

        A_c > 2 sum of the other A_c', relative to A_c, and B_c >= 1 - 1/(2(K - 1)).
        """
        total = self.A.sum(axis=1, keepdims=True)
        spread = (self.A - 2.0 * (total - self.A)) / np.maximum(total, np.finfo(float).tiny)
        return np.asarray(np.minimum(spread, self.B - printed_threshold(self.geometry.num_classes)))

    def semi_local_start(self) -> FloatArray:
        """Margin of repair (b), shape (m, K): (i) A_c > (K-1) max A_c'; (ii) all B_c' < 0, B_c >= b_lo; (iii) sizes.

        (iii) is mu_d times the lengths of the active own samples above those of any other class. Strict but for b_lo.
        """
        K, mu_d = self.geometry.num_classes, self.geometry.mu_d
        others = [np.delete(np.arange(K), c) for c in range(K)]
        scale = np.maximum(self.A.sum(axis=1), np.finfo(float).tiny)
        lengths = np.maximum(self.lengths_active.sum(axis=1), np.finfo(float).tiny)
        found = []
        for c in range(K):
            leads = (self.A[:, c] - (K - 1) * self.A[:, others[c]].max(axis=1)) / scale
            turned = -self.B[:, others[c]].max(axis=1)
            heavy = (mu_d * self.lengths_active[:, c] - self.lengths_active[:, others[c]].max(axis=1)) / lengths
            aligned = self.B[:, c] - entry_threshold(K)
            aligned = np.where(aligned >= 0.0, np.maximum(aligned, np.finfo(float).tiny), aligned)
            found.append(np.minimum.reduce([leads, turned, heavy, aligned]))
        return np.column_stack(found)

    def exclusive_start(self) -> FloatArray:
        """Margin of repair (a), shape (m, K): fires on class c, strictly negative on the others, and B_c >= b_lo."""
        K = self.geometry.num_classes
        cosines = self.products / self.geometry.norms
        found = []
        for c in range(K):
            own = self.geometry.labels == c
            fires = np.max(cosines, axis=1, where=own, initial=-1.0)
            off = -np.max(cosines, axis=1, where=~own, initial=-1.0)
            aligned = self.B[:, c] - entry_threshold(K)
            aligned = np.where(aligned >= 0.0, np.maximum(aligned, np.finfo(float).tiny), aligned)
            found.append(np.minimum.reduce([fires, off, aligned]))
        return np.column_stack(found)
