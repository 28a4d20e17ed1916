"""The right Radau rule on [0, 1]: nodes, interpolation and integration, for polynomials through its nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import polynomial as powers
from numpy.typing import NDArray

from reluflow.arrays import FloatArray

ComplexArray = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class RadauRule:
    """Collocation at the q right Radau nodes: of order 2q - 1 and L-stable (Radau IIA).

    Parameters
    ----------
    nodes
        c_1 < ... < c_q = 1.
    to_powers
        From values at the nodes to coefficients of the powers of tau, shape (q, q).
    integration
        A_ij, the integral from 0 to c_i of the j-th Lagrange polynomial.
    eigenvalues, to_modes, from_modes
        A = from_modes diag(eigenvalues) to_modes: the first is real, the others come in conjugate pairs of which only
        one is listed; `from_modes` has twice the listed column for a pair, to be used with the real part.
    """

    nodes: FloatArray
    to_powers: FloatArray
    integration: FloatArray
    eigenvalues: ComplexArray
    to_modes: ComplexArray
    from_modes: ComplexArray

    @classmethod
    def of_order(cls, q: int) -> RadauRule:
        """The rule with q nodes.

        >>> RadauRule.of_order(2).nodes.round(6)
        array([0.333333, 1.      ])
        """
        product = powers.polymul(powers.polypow([0.0, 1.0], q - 1), powers.polypow([-1.0, 1.0], q))
        nodes = np.sort(powers.polyroots(powers.polyder(product, q - 1)).real)
        derivative = powers.polyder(product, q - 1)
        for _ in range(3):  # the roots of a polynomial of degree q, to the last digit
            nodes = nodes - powers.polyval(nodes, derivative) / powers.polyval(nodes, powers.polyder(derivative))
        nodes[-1] = 1.0
        vandermonde = nodes[:, None] ** np.arange(q)
        to_powers: FloatArray = np.asarray(np.linalg.inv(vandermonde), dtype=np.float64)
        integrals = nodes[:, None] ** np.arange(1, q + 1) / np.arange(1, q + 1)
        integration = integrals @ to_powers
        return cls(nodes, to_powers, integration, *_modes_of(integration))

    def grown(self, sizes: FloatArray) -> RadauRule:
        """The rule for neurons that grow along the step, from what their kernel K is at the nodes, as shares.

        A force at s moves a neuron in proportion to its size then, and the outputs answer with its size at tau: a unit
        of force moves them by sqrt(K(tau) K(s)) ds.

        >>> rule = RadauRule.of_order(3)
        >>> round(float(rule.grown(4.0 * np.ones(3)).integration[-1].sum()), 12)
        4.0
        """
        roots = np.sqrt(sizes)
        integration = self.integration * np.outer(roots, roots)
        return RadauRule(self.nodes, self.to_powers, integration, *_modes_of(integration))

    def values(self, coefficients: FloatArray, taus: FloatArray) -> FloatArray:
        """Polynomials with coefficients (q, n) at some places, shape (len(taus), n)."""
        table = np.asarray(taus)[:, None] ** np.arange(len(coefficients))
        return np.asarray(table @ coefficients)


def _modes_of(integration: FloatArray) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
    """`eigenvalues`, `to_modes` and `from_modes` of a matrix."""
    values, vectors = np.linalg.eig(integration)
    inverse = np.linalg.inv(vectors)
    kept = np.concatenate([np.flatnonzero(values.imag == 0.0), np.flatnonzero(values.imag > 0.0)])
    factor = np.where(values[kept].imag == 0.0, 1.0, 2.0)
    return values[kept], inverse[kept], vectors[:, kept] * factor
