"""The alignment potential G, whose critical points on the sphere are the directions neurons align with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError


def alignment_potential(w: ArrayLike, X: ArrayLike, forces: ArrayLike, *, leak: float = 0.0) -> FloatArray:
    """G(w) = sum_k r_k s(<w, x_k>), the growth rate of the output weight of a neuron at w.

    Parameters
    ----------
    w
        Weight vectors, last axis d.
    X
        Samples as rows, shape (n, d).
    forces
        r_k, shape (n,), with the sample weight c included (`loss.label_forces` at h = 0).
    leak
        Negative slope of the activation, in [0, 1].

    Returns
    -------
    FloatArray
        Shape of `w` without its last axis.

    References
    ----------
    Boursier & Flammarion (2024), Eq. (7) [boursier2024].

    Examples
    --------
    >>> float(alignment_potential([1.0, -1.0], [[2.0, 0.0], [0.0, 1.0]], [1.0, 3.0], leak=0.5))
    0.5
    """
    products = np.asarray(w, dtype=np.float64) @ np.asarray(X, dtype=np.float64).T
    check_leak(leak)
    return np.asarray(np.maximum(products, leak * products) @ np.asarray(forces, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class CirclePotential:
    """G on the unit circle of R^2, exactly: one sinusoid <D_i, (cos t, sin t)> between consecutive breakpoints.

    Parameters
    ----------
    breakpoints
        Angles in [0, 2 pi) where some <w, x_k> = 0, increasing, shape (q,).
    gradients
        D on the arc from breakpoint i to the next one (the last arc passes through 2 pi), shape (q, 2).
    """

    breakpoints: FloatArray
    gradients: FloatArray

    def __call__(self, angles: ArrayLike) -> FloatArray:
        """G at unit vectors of the given angles."""
        angle = np.mod(np.asarray(angles, dtype=np.float64), 2 * np.pi)
        arc = np.searchsorted(self.breakpoints, angle, side="right") - 1  # -1 is the last arc, as it should be
        gradient = self.gradients[arc]
        return np.asarray(gradient[..., 0] * np.cos(angle) + gradient[..., 1] * np.sin(angle))

    def level_angles(self, level: float) -> FloatArray:
        """Every angle in [0, 2 pi) where G crosses or touches `level`, increasing.

        An arc on which G equals the level identically (the dead cone at level 0) contributes its two ends.
        """
        found: list[float] = []
        ends = np.append(self.breakpoints[1:], self.breakpoints[0] + 2 * np.pi)
        for start, end, gradient in zip(self.breakpoints, ends, self.gradients, strict=True):
            norm = float(np.hypot(gradient[0], gradient[1]))
            if norm == 0.0:
                found += [float(start), float(end)] if level == 0.0 else []
                continue
            if abs(level) > norm:
                continue
            centre, half_width = float(np.arctan2(gradient[1], gradient[0])), float(np.arccos(level / norm))
            for angle in (centre - half_width, centre + half_width):
                beyond = np.mod(angle - start, 2 * np.pi)
                if beyond <= end - start:
                    found.append(float(start + beyond))
        return _distinct_angles(np.array(found))


def circle_potential(X: ArrayLike, forces: ArrayLike, *, leak: float = 0.0) -> CirclePotential:
    """G on the circle for samples in R^2, as exact sinusoids between breakpoints.

    Examples
    --------
    >>> potential = circle_potential([[1.0, 0.0]], [2.0])
    >>> potential.breakpoints / np.pi
    array([0.5, 1.5])
    >>> potential([0.0, np.pi])
    array([2., 0.])
    """
    samples = np.asarray(X, dtype=np.float64)
    force = np.asarray(forces, dtype=np.float64)
    check_leak(leak)
    if samples.ndim != 2 or samples.shape[1] != 2 or not np.all(np.any(samples, axis=1)):
        raise InvalidInputError(f"`X` must hold nonzero samples of dimension 2, got shape {samples.shape}.")
    if force.shape != (samples.shape[0],):
        raise InvalidInputError(f"`forces` must have shape ({samples.shape[0]},), got {force.shape}.")
    normals = np.arctan2(samples[:, 1], samples[:, 0])
    breakpoints = _distinct_angles(np.concatenate([normals + np.pi / 2, normals - np.pi / 2]))
    middles = breakpoints + np.diff(breakpoints, append=breakpoints[0] + 2 * np.pi) / 2
    products = np.stack([np.cos(middles), np.sin(middles)], axis=1) @ samples.T  # (q, n)
    gradients = (np.where(products > 0, 1.0, leak) * force) @ samples
    return CirclePotential(breakpoints=breakpoints, gradients=gradients)


def check_leak(leak: float) -> None:
    """Raise unless the negative slope lies in [0, 1]."""
    if not 0.0 <= leak <= 1.0:
        raise InvalidInputError(f"`leak` must lie in [0, 1], got {leak}.")


def _distinct_angles(angles: FloatArray) -> FloatArray:
    """Angles mod 2 pi, increasing, with those that differ by rounding only merged."""
    if angles.size == 0:
        return angles
    ordered = np.sort(np.mod(angles, 2 * np.pi))
    gaps = np.diff(ordered, append=ordered[0] + 2 * np.pi)
    kept: FloatArray = ordered[gaps > 8 * np.pi * np.finfo(float).eps]
    return kept if kept.size else ordered[:1]
