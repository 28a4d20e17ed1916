"""ForcePredictor: a guess of the forces on the next macro step from those of the last one."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.collocation.radau import RadauRule
from reluflow.dynamics.collocation.tuning import SHORT_STEP


class ForcePredictor:
    """Polynomials of several degrees through the last step, by least squares, of which the best so far is continued.

    The interpolant itself continues badly: the small misfit that kinks leave between its nodes grows a hundredfold
    outside. How well each degree would have predicted a step is seen when the step is done. In a stiff step the forces
    at its start are off those at its nodes by what is left of the iteration before it, so each degree goes through the
    nodes alone as well.

    Parameters
    ----------
    rule
        The nodes.
    """

    def __init__(self, rule: RadauRule) -> None:
        self._rule = rule
        places, num_powers = np.concatenate([[0.0], rule.nodes]), len(rule.nodes)
        table = places[:, None] ** np.arange(num_powers)
        self._fits = [np.linalg.pinv(table[:, :degree]) for degree in range(1, num_powers + 1)]
        self._fits += [np.insert(np.linalg.pinv(table[1:, :degree]), 0, 0.0, 1) for degree in range(1, num_powers + 1)]
        self._best = num_powers - 1  # the number of the fit that predicted the last step best
        self.forget()

    def forget(self) -> None:
        """Start anew: forces have become relative to something else."""
        self._values: FloatArray | None = None
        self._start, self._length = 0.0, 1.0
        self._foreseen: tuple[FloatArray, float, float] | None = None

    def narrow(self, which: BoolArray) -> None:
        """Go on with some of the samples."""
        if self._values is not None:
            self._values = self._values[:, which]
        self._foreseen = None

    def foresee(self, coefficients: FloatArray, time: float, length: float) -> None:
        """Take the forces, as powers, of a step that was not exact enough: good guesses for what it covers."""
        self._foreseen = (coefficients, time, length)

    def guess(self, time: float, length: float) -> FloatArray | None:
        """Forces at the nodes of a step that starts at a time, shape (q, n); None where there is nothing to go by."""
        foreseen = self._as_foreseen(time, length)
        if foreseen is not None:
            return foreseen
        if self._values is None:
            return None
        fit = self._fits[self._best]
        return np.asarray(self._table(time, length)[:, : len(fit)] @ (fit @ self._values))

    def learn(self, forces: FloatArray, at_nodes: FloatArray, time: float, length: float, *, is_cut: bool) -> None:
        """Take a step that was made: forces at its start and at its nodes."""
        if self._values is not None:
            table = self._table(time, length)
            continued = [table[:, : len(fit)] @ (fit @ self._values) for fit in self._fits]
            misses = [np.maximum.reduce(np.abs(forces - at_nodes), axis=None) for forces in continued]
            self._best = int(np.argmin(misses))
            foreseen = self._as_foreseen(time, length)
            if foreseen is not None and np.max(np.abs(foreseen - at_nodes)) > misses[self._best]:
                self._foreseen = None
        if self._values is None or not is_cut or length >= SHORT_STEP * self._length:
            self._values = np.vstack([forces, at_nodes])
            self._start, self._length = time, length

    def _as_foreseen(self, time: float, length: float) -> FloatArray | None:
        """What a step that was not exact enough says of the nodes of one within it; None where there is none."""
        if self._foreseen is None:
            return None
        coefficients, start, covered = self._foreseen
        if time + length > start + covered * (1.0 + 1e-6):
            return None
        return self._rule.values(coefficients, (time - start + self._rule.nodes * length) / covered)

    def _table(self, time: float, length: float) -> FloatArray:
        """Powers of the nodes of a step, told by their place in the last one, shape (q, q)."""
        places = (time - self._start + self._rule.nodes * length) / self._length
        return np.asarray(places[:, None] ** np.arange(len(places)))
