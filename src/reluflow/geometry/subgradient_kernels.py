"""Compiled loops over activation cones: minimum-norm subgradients, projections on faces, distances to cones."""

from __future__ import annotations

from typing import Any

import numpy as np

from reluflow.arrays import (
    BoolMatrix,
    BoolVector,
    FloatArray,
    FloatMatrix,
    FloatVector,
    IntVector,
    SignArray,
    SignMatrix,
    SignVector,
)
from reluflow.compilation.kernel import kernel
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING


@kernel()
def _remove_frame(v: FloatVector, frame: FloatMatrix, size: int) -> None:
    """Subtract from `v` its projection on the first orthonormal rows, in place; twice, for rounding."""
    for _ in range(2):
        for j in range(size):
            along = np.dot(frame[j], v)
            for c in range(v.shape[0]):
                v[c] -= along * frame[j, c]


@kernel()
def _frame_of_zeros(U: FloatMatrix, signs: SignVector, frame: FloatMatrix, tie: float) -> int:
    """Orthonormal rows spanning the directions whose sign is 0; their number."""
    size = 0
    for t in range(signs.size):
        if signs[t] == 0 and size < U.shape[1]:
            v = np.empty(U.shape[1])
            for c in range(v.shape[0]):
                v[c] = U[t, c]
            _remove_frame(v, frame, size)
            norm = np.sqrt(np.dot(v, v))
            if norm > tie:
                for c in range(v.shape[0]):
                    frame[size, c] = v[c] / norm
                size += 1
    return size


@kernel(entry=True)
def critical_faces(
    U: FloatMatrix, signs: SignMatrix, coefficients: FloatMatrix, tie: float, scale: float
) -> tuple[SignArray, FloatArray]:
    """Which faces have their projected gradient among their subgradients, where it lies, and how far inside.

    `coefficients` has columns plus, minus, lower, upper. Codes: 1 inside the face, -1 inside its opposite, 3 and -3
    the same but on the boundary to within `tie`, 2 the projection is zero to within `tie` times `scale`, 0 anything
    else. The distance is the least |cosine| with a direction off the face (infinite for codes 0 and 2).
    """
    num_faces, m = signs.shape
    r = U.shape[1]
    codes = np.zeros(num_faces, dtype=np.int8)
    distances = np.full(num_faces, np.inf)
    frame = np.zeros((r, r))
    odd = np.empty((m, r))
    even = np.empty((m, r))
    for t in range(m):
        half_jump = 0.5 * (coefficients[t, 0] - coefficients[t, 1])
        mean = 0.5 * (coefficients[t, 0] + coefficients[t, 1])
        for c in range(r):
            odd[t, c] = half_jump * U[t, c]
            even[t, c] = mean * U[t, c]
    total = np.zeros(r)
    for t in range(m):
        for c in range(r):
            total[c] += even[t, c]
    block_size = 256
    block = np.empty((0, r))
    for face in range(num_faces):
        if face % block_size == 0:
            rows = signs[face : face + block_size].astype(np.float64)
            block = rows @ odd
        base = np.empty(r)
        for c in range(r):
            base[c] = block[face % block_size, c] + total[c]
        for t in range(m):
            if signs[face, t] == 0:
                for c in range(r):
                    base[c] -= even[t, c]
        size = _frame_of_zeros(U, signs[face], frame, tie)
        p = base.copy()
        _remove_frame(p, frame, size)
        norm = np.sqrt(np.dot(p, p))
        code, least = 2, np.inf
        if norm > tie * scale:
            along, against = True, True
            for t in range(m):
                if signs[face, t] != 0:
                    value = 0.0
                    for i in range(r):
                        value += U[t, i] * p[i]
                    value *= signs[face, t] / norm
                    along = along and value >= -tie
                    against = against and value <= tie
                    least = min(least, abs(value))
                    if not (along or against):
                        break
            if not (along or against):
                continue
            code = (1 if along else -1) * (1 if least > tie else 3)
        zeros = np.flatnonzero(signs[face] == 0)
        if zeros.size > 0:
            lower, upper = coefficients[zeros, 2], coefficients[zeros, 3]
            shortest, _z = box_minimum_norm(base, U[zeros], lower, upper, ROUNDING * scale)
            largest = 0.0
            for slope in U[zeros] @ shortest:
                largest = max(largest, abs(slope))
            if largest > tie * scale:
                continue
        codes[face] = code
        distances[face] = least
    return codes, distances


@kernel()
def _cosine_to_cone(
    target: FloatVector,
    U: FloatMatrix,
    signs: SignVector,
    facets: BoolVector,
    frame: FloatMatrix,
    size: int,
    floor: float,
) -> float:
    """Largest cosine of the target with a vector of the closed cone, 0 if it is plainly at most `floor` >= 0."""
    norm = np.sqrt(np.dot(target, target))
    inside = target / norm
    _remove_frame(inside, frame, size)
    if np.dot(inside, inside) <= floor * floor:  # the cone is no closer than its span
        return 0.0
    bounding = np.flatnonzero(facets)
    rows = np.empty((bounding.size, U.shape[1]))
    for position, t in enumerate(bounding):
        for c in range(U.shape[1]):
            rows[position, c] = U[t, c] * signs[t]
        _remove_frame(rows[position], frame, size)
    nothing, everything = np.zeros(bounding.size), np.full(bounding.size, np.inf)
    nearest, _z = box_minimum_norm(inside, rows, nothing, everything, ROUNDING)
    return float(np.sqrt(np.dot(nearest, nearest)))


@kernel()
def _shortest_subgradient(U: FloatMatrix, signs: SignVector, coefficients: FloatMatrix, scale: float) -> FloatArray:
    """D_u of one face; `coefficients` has columns plus, minus, lower, upper."""
    base = np.zeros(U.shape[1])
    for t in range(signs.size):
        if signs[t] != 0:
            strength = coefficients[t, 0] if signs[t] > 0 else coefficients[t, 1]
            for c in range(base.shape[0]):
                base[c] += strength * U[t, c]
    zeros = np.flatnonzero(signs == 0)
    D, _z = box_minimum_norm(base, U[zeros], coefficients[zeros, 2], coefficients[zeros, 3], ROUNDING * scale)
    return D


@kernel(entry=True)
def gradient_range(
    U: FloatMatrix, signs: SignMatrix, coefficients: FloatMatrix, tie: float, scale: float
) -> tuple[float, float]:
    """Largest and smallest nonzero |D_u| over the faces."""
    d_max, d_min = 0.0, np.inf
    for face in range(signs.shape[0]):
        D = _shortest_subgradient(U, signs[face], coefficients, scale)
        norm = np.sqrt(np.dot(D, D))
        if norm > tie * scale:
            d_max, d_min = max(d_max, norm), min(d_min, norm)
    return d_max, d_min


@kernel(entry=True)
def face_constants(
    U: FloatMatrix,
    signs: SignMatrix,
    facets: BoolMatrix,
    witnesses: FloatMatrix,
    dimensions: IntVector,
    coefficients: FloatMatrix,
    tie: float,
    scale: float,
) -> Any:
    """Largest and smallest nonzero |D_u|, and the largest cosines of D_u and -D_u with cones that do not hold them.

    `coefficients` has columns plus, minus, lower, upper. Returns (d_max, d_min, cosine_plus, cosine_minus).
    """
    num_faces, m = signs.shape
    r = U.shape[1]
    frame = np.zeros((r, r))
    d_max, d_min, cosine_plus, cosine_minus = 0.0, np.inf, 0.0, 0.0
    for face in range(num_faces):
        D = _shortest_subgradient(U, signs[face], coefficients, scale)
        norm = np.sqrt(np.dot(D, D))
        if norm <= tie * scale:
            continue
        d_max, d_min = max(d_max, norm), min(d_min, norm)
        is_inside, is_opposite = True, True
        for t in range(m):
            value = np.dot(U[t], D) / norm
            sign = 0 if abs(value) <= tie else (1 if value > 0 else -1)
            is_inside = is_inside and sign == signs[face, t]
            is_opposite = is_opposite and sign == -signs[face, t]
        if dimensions[face] == 1:
            along = np.dot(D, witnesses[face]) / norm
            if not is_inside:
                cosine_plus = max(cosine_plus, along)
            if not is_opposite:
                cosine_minus = max(cosine_minus, -along)
            continue
        size = _frame_of_zeros(U, signs[face], frame, tie)
        if not is_inside:
            cosine_plus = max(cosine_plus, _cosine_to_cone(D, U, signs[face], facets[face], frame, size, cosine_plus))
        if not is_opposite:
            cosine_minus = max(
                cosine_minus, _cosine_to_cone(-D, U, signs[face], facets[face], frame, size, cosine_minus)
            )
    return d_max, d_min, cosine_plus, cosine_minus
