"""Compiled loops of the cone enumeration: rays of a central arrangement, and the faces that meet at each ray.

Directions are unit rows `U` of full column rank r, no two of them parallel. A face is keyed by its sign vector,
two bits per direction with code 1 - sign, so that keys sort with +, 0, - in this order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from reluflow.arrays import (
    BoolArray,
    BoolMatrix,
    FloatArray,
    FloatMatrix,
    FloatVector,
    IntArray,
    IntVector,
    SignArray,
    SignMatrix,
    WordMatrix,
    WordVector,
)
from reluflow.compilation.kernel import kernel


@kernel(entry=True)
def arrangement_rays(
    U: FloatMatrix, num_subsets: int, rtol: float, exact: float, near: float
) -> tuple[FloatArray, SignArray, int, float]:
    """One of each pair of rays per independent (r-1)-subset of directions, with its sign vector.

    Also the number of decisions taken on a value between `exact` and `near`, and the smallest such value.
    """
    m, r = U.shape
    size = r - 1
    rays = np.empty((num_subsets, r))
    signs = np.empty((num_subsets, m), dtype=np.int8)
    chosen = np.full(size, -1, dtype=np.int64)
    frame = np.zeros((size, r))
    v = np.empty(r)
    found = 0
    num_close = 0
    closest = np.inf
    level = 0
    while level >= 0:
        chosen[level] += 1
        if chosen[level] > m - (size - level):
            level -= 1
            continue
        for i in range(r):
            v[i] = U[chosen[level], i]
        norm = _orthogonalise(v, frame, level)
        if exact < norm < near:
            num_close += 1
            closest = min(closest, norm)
        if norm <= rtol:
            continue
        for i in range(r):
            frame[level, i] = v[i] / norm
        if level < size - 1:
            level += 1
            chosen[level] = chosen[level - 1]
            continue
        _complete(v, frame, size)
        for i in range(r):
            rays[found, i] = v[i]
        for t in range(m):
            value = 0.0
            for i in range(r):
                value += U[t, i] * v[i]
            signs[found, t] = 0 if abs(value) <= rtol else (1 if value > 0 else -1)
            if exact < abs(value) < near:
                is_chosen = False
                for level_index in range(size):
                    is_chosen = is_chosen or chosen[level_index] == t
                if not is_chosen:
                    num_close += 1
                    closest = min(closest, abs(value))
        for level_index in range(size):
            signs[found, chosen[level_index]] = 0
        found += 1
    return rays[:found], signs[:found], num_close, closest


@kernel()
def _orthogonalise(v: FloatVector, frame: FloatMatrix, size: int) -> float:
    """Remove from v its components along the first `size` rows of the frame; the norm of what is left."""
    r = v.size
    for _ in range(2):  # twice is enough for orthogonality to rounding
        for j in range(size):
            dot = 0.0
            for i in range(r):
                dot += frame[j, i] * v[i]
            for i in range(r):
                v[i] -= dot * frame[j, i]
    total = 0.0
    for i in range(r):
        total += v[i] * v[i]
    return float(np.sqrt(total))


@kernel()
def _complete(v: FloatVector, frame: FloatMatrix, size: int) -> None:
    """Write into v the unit vector orthogonal to the r - 1 rows of the frame."""
    r = v.size
    best, least = 0, np.inf
    for i in range(r):
        weight = 0.0
        for j in range(size):
            weight += frame[j, i] ** 2
        if weight < least:
            best, least = i, weight
    v[:] = 0.0
    v[best] = 1.0
    norm = _orthogonalise(v, frame, size)
    for i in range(r):
        v[i] /= norm


@kernel()
def _hash(words: WordVector) -> np.uint64:
    """Mix the words of a key into one."""
    state = np.uint64(0x9E3779B97F4A7C15)
    for i in range(words.size):
        state ^= words[i]
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state


@kernel()
def _rebuild_slots(keys: WordMatrix, count: int, num_slots: int) -> IntArray:
    """Open-addressing table of the first `count` keys."""
    slots = np.full(num_slots, -1, dtype=np.int64)
    mask = np.uint64(num_slots - 1)
    for entry in range(count):
        place = _hash(keys[entry]) & mask
        while slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = entry
    return slots


class FaceTable(NamedTuple):
    """The faces found so far, the first `num_faces` rows, and where to look for one by its key."""

    keys: WordMatrix  # (capacity, words) signs, two bits each
    bounds: WordMatrix  # (capacity, words) facets, one bit each
    sums: FloatMatrix  # (capacity, r) of the rays in the closure
    dimensions: IntVector  # (capacity,)
    slots: IntVector  # rows by hash of the key, -1 where free
    num_faces: int


@kernel(entry=True)
def add_faces(
    table: FaceTable,
    rays: FloatMatrix,
    signs: SignMatrix,
    local_signs: SignMatrix,
    local_facets: BoolMatrix,
    local_dimensions: IntVector,
) -> FaceTable:
    """Add every face that has one of the rays (or its opposite) in its closure, growing the table as needed.

    The local sign vectors run over the zero directions of each ray, in increasing order. A face met again gets
    the ray added to its sum and the facets through the ray added to its bounds.
    """
    keys, bounds, sums, dimensions, slots, count = table
    num_words = keys.shape[1]
    m, r = signs.shape[1], rays.shape[1]
    num_zero = local_signs.shape[1]
    zeros = np.empty(num_zero, dtype=np.int64)
    base = np.empty(num_words, dtype=np.uint64)
    word = np.empty(num_words, dtype=np.uint64)
    for ray in range(rays.shape[0]):
        position = 0
        for t in range(m):
            if signs[ray, t] == 0:
                zeros[position] = t
                position += 1
        for side in (1, -1):
            base[:] = 0
            for t in range(m):
                if signs[ray, t] != 0:
                    code = np.uint64(1 - side * signs[ray, t])
                    base[t // 32] |= code << np.uint64(62 - 2 * (t % 32))
            for local in range(local_signs.shape[0]):
                for i in range(num_words):
                    word[i] = base[i]
                for i in range(num_zero):
                    t = zeros[i]
                    word[t // 32] |= np.uint64(1 - local_signs[local, i]) << np.uint64(62 - 2 * (t % 32))
                mask = np.uint64(slots.size - 1)
                place = _hash(word) & mask
                entry = slots[place]
                while entry >= 0:
                    same = True
                    for i in range(num_words):
                        same = same and keys[entry, i] == word[i]
                    if same:
                        break
                    place = (place + np.uint64(1)) & mask
                    entry = slots[place]
                if entry < 0:
                    if count == keys.shape[0]:
                        keys = np.concatenate((keys, np.zeros_like(keys)))
                        bounds = np.concatenate((bounds, np.zeros_like(bounds)))
                        sums = np.concatenate((sums, np.zeros_like(sums)))
                        dimensions = np.concatenate((dimensions, np.zeros_like(dimensions)))
                    entry = count
                    count += 1
                    slots[place] = entry
                    for i in range(num_words):
                        keys[entry, i] = word[i]
                    dimensions[entry] = local_dimensions[local] + 1
                    if 2 * count > slots.size:
                        slots = _rebuild_slots(keys, count, 2 * slots.size)
                for i in range(r):
                    sums[entry, i] += side * rays[ray, i]
                for i in range(num_zero):
                    if local_facets[local, i]:
                        bounds[entry, zeros[i] // 64] |= np.uint64(1) << np.uint64(zeros[i] % 64)
    return FaceTable(keys, bounds, sums, dimensions, slots, count)


@kernel(entry=True)
def unpack_faces(keys: WordMatrix, bounds: WordMatrix, m: int) -> tuple[SignArray, BoolArray]:
    """Sign vectors and facet masks, one row per key."""
    signs = np.empty((keys.shape[0], m), dtype=np.int8)
    facets = np.empty((keys.shape[0], m), dtype=np.bool_)
    for face in range(keys.shape[0]):
        for t in range(m):
            code = (keys[face, t // 32] >> np.uint64(62 - 2 * (t % 32))) & np.uint64(3)
            signs[face, t] = 1 - np.int64(code)
            facets[face, t] = (bounds[face, t // 64] >> np.uint64(t % 64)) & np.uint64(1) == np.uint64(1)
    return signs, facets


@kernel(entry=True)
def count_missed_witnesses(U: FloatMatrix, signs: SignMatrix, witnesses: FloatMatrix) -> Any:
    """How many witnesses do not show a wanted nonzero sign, in double precision."""
    missed = 0
    for face in range(signs.shape[0]):
        for t in range(signs.shape[1]):
            if signs[face, t] != 0:
                value = 0.0
                for i in range(U.shape[1]):
                    value += U[t, i] * witnesses[face, i]
                if not value * signs[face, t] > 0:
                    missed += 1
                    break
    return missed
