"""LoneNeurons: the neurons of a run one by one, with the sides of the walls they are on."""

from __future__ import annotations

from copy import copy

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.dynamics.collocation.sliding_kernels import SlideStarts, slide_starts
from reluflow.dynamics.shared.quadric import BALANCED, invariants_of, restored
from reluflow.geometry.boundary.tolerance import GIVEN
from reluflow.geometry.boundary.walls import Walls
from reluflow.network import Network
from reluflow.network.network import row_norms


class LoneNeurons:
    """Neuron j is exp(`log_norm[j]`) `shapes[j]`, a row (w, v) of norm 1, on `sides[j]` of the walls (0: it slides).

    Kept at all times: the norm of a shape, |v|^2 - |w|^2 = `invariant` (of the shape) unless output weights are frozen,
    and <w, normal> = 0 on the walls it slides on. Of several outputs `output_sign` is 1, as strengths of walls then
    count along v (`directions`); it never changes.
    """

    def __init__(self, network: Network, walls: Walls, *, moves_outputs: bool = True) -> None:
        self.walls = walls
        self.keeps_balance = moves_outputs
        self.leak = network.leak
        self.weight = np.asarray(network.weight)
        self.num_neurons, self.d = network.w.shape
        self.num_outputs = network.num_outputs
        shapes = np.hstack([network.w, network.v])
        norm = _norms(shapes)
        self.shapes = shapes / norm[:, None]
        self.log_norm = network.log_scale + np.log(norm)
        self.invariant = invariants_of(self.shapes, self.num_outputs)
        self.invariant[np.abs(self.invariant) <= BALANCED] = 0.0
        self.start_invariant = self.invariant.copy()
        self.start_log_norm = self.log_norm.copy()
        self.largest_log_norm = self.log_norm.copy()
        self.output_sign = self._signs_of(self.shapes)
        self.can_change_sign = (self.invariant < 0.0) & moves_outputs & (self.num_outputs == 1)
        self.group = np.arange(self.num_neurons)  # every neuron is a group of its own
        heights = self.w @ walls.normals.T
        on_wall = np.abs(heights) <= GIVEN * _norms(self.w)[:, None]
        self.sides: SignArray = np.where(on_wall, 0, np.sign(heights)).astype(np.int8)
        self.pinned: SignArray = np.zeros_like(self.sides)  # walls on which it stays although both sides push away
        self._slides: tuple[BoolArray, SlideStarts] | None = None  # the last answer of `slides`, and what it was for

    @property
    def w(self) -> FloatArray:
        """Input weights of the shapes, shape (m, d)."""
        return self.shapes[:, : self.d]

    @property
    def v(self) -> FloatArray:
        """Output weights of the shapes, shape (m, K)."""
        return self.shapes[:, self.d :]

    def _signs_of(self, z: FloatArray) -> SignArray:
        return np.sign(z[:, -1]).astype(np.int8) if self.num_outputs == 1 else np.ones(len(z), dtype=np.int8)

    def directions(self, pulls: FloatArray) -> FloatArray:
        """Along which outputs the strengths of walls count for every neuron, shape (m, K): 1, or v/|v|.

        Where v is 0 it is the direction that D^T w, from `pulls` (m, K, d), is about to give it.
        """
        if self.num_outputs == 1:
            return np.ones((self.num_neurons, 1))
        growth = np.einsum("jci,ji->jc", pulls, self.w)
        turned = np.where(np.any(self.v, axis=1)[:, None], self.v, growth)
        return np.asarray(turned / _norms(turned)[:, None])

    @property
    def mass(self) -> FloatArray:
        """weight exp(2 log_norm): what a unit shape counts in the outputs."""
        return np.asarray(self.weight * np.exp(2.0 * self.log_norm))

    @property
    def signs(self) -> SignArray:
        """Sign of a of every neuron."""
        return self.output_sign

    def members_of(self, g: int) -> IntArray:
        """The neurons of a group: one."""
        return np.array([g])

    def standing_on_walls(self) -> list[tuple[int, list[int]]]:
        """The neurons that stand on walls, each with its walls."""
        waiting = np.flatnonzero(np.any(self.sides == 0, axis=1))
        return [(int(j), [int(b) for b in np.flatnonzero(self.sides[j] == 0)]) for j in waiting]

    def give_signs(self, pulls: FloatArray) -> None:
        """Neurons with a = 0 get the sign that <w, D> is about to give it (`pulls` is D of every neuron, (m, K, d))."""
        silent = np.flatnonzero(self.output_sign == 0)
        growth = np.einsum("ji,ji->j", self.w[silent], pulls[silent, 0])
        self.output_sign[silent] = np.sign(growth).astype(np.int8)

    def actual(self, neurons: IntArray | None = None) -> FloatArray:
        """Rows (w, v), each without its exp(log_norm)."""
        return self.shapes if neurons is None else self.shapes[neurons]

    def move(self, members: IntArray, sides: SignArray, sign: int) -> None:
        """Put neurons on these sides."""
        self.sides[members] = sides
        self.pinned[members] = 0

    def place(self, z: FloatArray, log_norm: FloatArray, sides: SignArray) -> None:
        """Go on from neurons exp(log_norm) z on given sides of the walls (0: sliding)."""
        norm = _norms(z)
        self.log_norm = log_norm + np.log(norm)
        self.largest_log_norm = np.maximum(self.largest_log_norm, self.log_norm)
        shrinking = np.where(self.start_invariant == 0.0, 0.0, self.start_log_norm - self.log_norm)
        self.invariant = self.start_invariant * np.exp(2.0 * shrinking)  # only balanced neurons shrink without end
        once = restored(z / norm[:, None], self.invariant, self.num_outputs)
        self.shapes = restored(once, self.invariant, self.num_outputs)
        self.output_sign = self._signs_of(self.shapes)
        self.sides = np.ascontiguousarray(sides, dtype=np.int8)

    def take(self, moved: IntArray, ends: FloatArray, sides: SignArray, pinned: SignArray) -> None:
        """Put some neurons where their paths ended: shapes of any norm, which goes into `log_norm`."""
        norm = _norms(ends)
        self.log_norm[moved] += np.log(norm)
        self.largest_log_norm[moved] = np.maximum(self.largest_log_norm[moved], self.log_norm[moved])
        self.invariant[moved] /= norm**2
        self.shapes[moved] = ends / norm[:, None]
        if self.keeps_balance:
            for _ in range(2):
                self.shapes[moved] = restored(self.shapes[moved], self.invariant[moved], self.num_outputs)
        signs = self._signs_of(ends)
        self.output_sign[moved] = np.where(signs == 0, self.output_sign[moved], signs)
        self.sides[moved], self.pinned[moved] = sides, pinned

    def among(self, walls: Walls, sides: SignArray, pinned: SignArray, w: FloatArray) -> LoneNeurons:
        """The same neurons with other walls, on these sides of them, and with w in the coordinates of these."""
        same = copy(self)
        same.shapes, same.d = np.hstack([w, self.v]), w.shape[1]
        same.walls, same.sides, same.pinned = walls, np.ascontiguousarray(sides), np.ascontiguousarray(pinned)
        same._slides = None
        return same

    def decay(self, amount: float) -> None:
        """Shrink all neurons by exp(-amount), with what is measured against their sizes."""
        for sizes in (self.log_norm, self.start_log_norm, self.largest_log_norm):
            sizes -= amount

    def pulls(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """D of every neuron, shape (m, K, d), tangent to the walls it slides on.

        From the pulls of the walls (K, num_walls) on their two sides.
        """
        pulls = np.empty((self.num_neurons, len(plus), self.d))
        up, down = (self.sides > 0).astype(np.float64), (self.sides < 0).astype(np.float64)
        for c, (above, below) in enumerate(zip(plus, minus, strict=True)):
            strength = up * above
            if np.any(below):
                strength += down * below
            pulls[:, c] = self.along_walls(strength @ self.walls.normals)
        return pulls

    def along_walls(self, pull: FloatArray) -> FloatArray:
        """Pulls on the neurons (m, d), which are changed, without what is normal to the walls that each slides on."""
        starts = self.slides()
        sliding = np.flatnonzero(starts.places >= 0)
        for _ in range(2):  # twice, so that the normal part is gone to rounding
            parts = np.einsum("jbi,ji->jb", starts.basis, pull[sliding])
            pull[sliding] -= np.einsum("jb,jbi->ji", parts, starts.basis)
        return np.asarray(pull)

    def slide_basis(self, j: int) -> FloatArray:
        """Orthonormal rows spanning the normals of the walls a neuron slides on; rows of zeros may follow."""
        starts = self.slides()
        return np.asarray(starts.basis[starts.places[j]])

    def slides(self) -> SlideStarts:
        """What the neurons slide on."""
        is_on = self.sides == 0
        if self._slides is None:
            self._slides = is_on, slide_starts(self.sides, self.walls.normals)
        elif not np.array_equal(is_on, self._slides[0]):
            has_changed = np.any(is_on != self._slides[0], axis=1)
            self._slides = is_on, slide_starts(self.sides, self.walls.normals, self._slides[1], has_changed)
        return self._slides[1]

    def balancedness_drift(self) -> float:
        """Largest change of |v_j|^2 - |w_j|^2 so far, relative to the neuron's largest squared norm so far."""
        if not self.keeps_balance:
            return 0.0
        now = invariants_of(self.shapes, self.num_outputs) * np.exp(2.0 * (self.log_norm - self.largest_log_norm))
        start = self.start_invariant * np.exp(2.0 * (self.start_log_norm - self.largest_log_norm))
        return float(np.max(np.abs(now - start), initial=0.0))


def _norms(rows: FloatArray) -> FloatArray:
    norm = row_norms(rows)
    return np.where(norm > 0, norm, 1.0)
