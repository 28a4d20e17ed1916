"""Kernels of a neuron's choice on data hyperplanes: slide, cross, die, or no unique way on.

Hyperplane h has the unit normal `normals[h]` and pulls along it with strength `plus[h]` on its plus side, `minus[h]` on
its minus side, anything between on itself (Clarke). Everything is decided from the state, never from a change of sign.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"
from __future__ import annotations

import numpy as np
from numba import njit

RIDGE, UNDECIDED = 5, 6  # verdicts beside 0, "one way on"; `alignment_kernels` has the numbers around them
NO_FORCE = 1e-12  # |D| and <D, u_h> below this times the sum of all strengths are zero
NO_KINK = 1e-14  # a jump of strength below this is no kink (odd forces on x and -x)
DEPENDENT = 1e-10  # a unit normal whose part outside the others' span is below this depends on them
MAX_RIDGES = 6  # 3^r continuations are tried where r repelling hyperplanes meet


@njit(cache=True)
def along(normals, h, vector):
    """<u_h, vector>."""
    total = 0.0
    for c in range(vector.shape[0]):
        total += normals[h, c] * vector[c]
    return total


@njit(cache=True)
def norm(vector):
    """Euclidean norm, for vectors of ordinary size."""
    total = 0.0
    for c in range(vector.shape[0]):
        total += vector[c] * vector[c]
    return np.sqrt(total)


@njit(cache=True)
def orthonormalise(normals, chosen, count, basis, triangle):
    """Gram-Schmidt, twice for rounding: row chosen[i] = sum_j triangle[j, i] basis[j]; dependents skipped; the rank."""
    d = normals.shape[1]
    rank = 0
    for i in range(count):
        if rank == d:
            break
        for c in range(d):
            basis[rank, c] = normals[chosen[i], c]
        for j in range(rank):
            triangle[j, rank] = 0.0
        for _ in range(2):
            for j in range(rank):
                dot = 0.0
                for c in range(d):
                    dot += basis[j, c] * basis[rank, c]
                triangle[j, rank] += dot
                for c in range(d):
                    basis[rank, c] -= dot * basis[j, c]
        size = 0.0
        for c in range(d):
            size += basis[rank, c] ** 2
        size = np.sqrt(size)
        if size > DEPENDENT:
            triangle[rank, rank] = size
            for c in range(d):
                basis[rank, c] /= size
            rank += 1
    return rank


@njit(cache=True)
def remove_span(basis, rank, vector):
    """Subtract from `vector` its projection on the orthonormal rows, in place."""
    d = vector.shape[0]
    for _ in range(2):
        for j in range(rank):
            dot = along(basis, j, vector)
            for c in range(d):
                vector[c] -= dot * basis[j, c]


@njit(cache=True)
def minimum_norm(
    normals, base, members, count, low, high, strength, bound, tolerance, D, free, target, basis, triangle
):  # fmt: skip
    """Minimise |base + sum_i strength_i u_i| over low <= strength <= high by a primal active-set method.

    `bound[i]` is -1, 1 or 0: strength at its low end, high end, or free; it and `strength` come in as the first guess
    and go out solved, with D the minimiser, orthogonal to the free normals to rounding. Returns whether it converged.
    """
    d = base.shape[0]
    for _ in range(40 + 20 * count):
        num_free = 0
        for c in range(d):
            D[c] = base[c]
        for i in range(count):
            if bound[i] == 0:
                free[num_free] = members[i]
                num_free += 1
            else:
                for c in range(d):
                    D[c] += strength[i] * normals[members[i], c]
        if num_free > 0:
            rank = orthonormalise(normals, free, num_free, basis, triangle)
            if rank < num_free:
                return False
            for j in range(rank):
                target[j] = -along(basis, j, D)
            remove_span(basis, rank, D)
            for j in range(rank - 1, -1, -1):
                for k in range(j + 1, rank):
                    target[j] -= triangle[j, k] * target[k]
                target[j] /= triangle[j, j]
            step, blocking, end, place = 1.0, -1, 0.0, 0
            for i in range(count):
                if bound[i] == 0:
                    goal = target[place]
                    place += 1
                    slack = tolerance + 1e-13 * (high[i] - low[i])
                    if goal < low[i] - slack or goal > high[i] + slack:
                        stop = low[i] if goal < low[i] else high[i]
                        ratio = (stop - strength[i]) / (goal - strength[i])
                        if blocking < 0 or ratio < step:
                            step, blocking, end = ratio, i, stop
            place = 0
            for i in range(count):
                if bound[i] == 0:
                    strength[i] = min(max(strength[i] + step * (target[place] - strength[i]), low[i]), high[i])
                    place += 1
            if blocking >= 0:
                strength[blocking] = end
                bound[blocking] = -1 if end == low[blocking] else 1
                continue
        worst, entering = tolerance, -1
        for i in range(count):
            if bound[i] != 0:
                push = bound[i] * along(normals, members[i], D)
                if push > worst:
                    worst, entering = push, i
        if entering < 0:
            return True
        bound[entering] = 0
    return False


@njit(cache=True)
def decide(normals, plus, minus, scale, sign, side, strengths, D, ints, reals, base, trial, basis, triangle):
    """Continue from the state: D and the new sides of every hyperplane the neuron is on (side 0 in `ints[0]`).

    `side` holds where the neuron came from, `ints[0]` where it is. Attracting hyperplanes (sign * jump < 0) get the
    minimum-norm strength, which is the unique continuation of a monotone inclusion; each repelling one is tried on its
    plus side, its minus side and in between. Exactly one consistent continuation is taken; returns 0, or RIDGE where
    there are several, UNDECIDED where none was found.
    """
    num, d = normals.shape
    now, valleys, ridges, members, bound = ints[0], ints[1], ints[2], ints[3], ints[4]
    free, chosen_side = ints[5], ints[6]
    low, high, strength, target, best = reals[0], reals[1], reals[2], reals[3], reals[4]
    tolerance = NO_FORCE * scale
    for c in range(d):
        base[c] = 0.0
    num_valleys = num_ridges = 0
    for h in range(num):
        jump = plus[h] - minus[h]
        if now[h] == 0 and abs(jump) > NO_KINK * scale:
            if sign * jump < 0:
                valleys[num_valleys] = h
                num_valleys += 1
            else:
                ridges[num_ridges] = h
                num_ridges += 1
        else:
            pull = plus[h] if now[h] >= 0 else minus[h]
            for c in range(d):
                base[c] += pull * normals[h, c]
    if num_ridges > MAX_RIDGES:
        return RIDGE
    found = 0
    for code in range(3**num_ridges):
        count = num_valleys
        for i in range(num_valleys):
            members[i] = valleys[i]
        for c in range(d):
            trial[c] = base[c]
        rest = code
        for i in range(num_ridges):
            h, choice = ridges[i], rest % 3
            rest //= 3
            if choice == 0:
                members[count] = h
                count += 1
            else:
                pull = plus[h] if choice == 1 else minus[h]
                for c in range(d):
                    trial[c] += pull * normals[h, c]
        for i in range(count):
            h = members[i]
            low[i], high[i] = min(plus[h], minus[h]), max(plus[h], minus[h])
            came = side[h]
            if came == 0 and low[i] <= strengths[h] <= high[i]:
                strength[i], bound[i] = strengths[h], 0
            else:
                strength[i] = plus[h] if came > 0 else minus[h]
                bound[i] = -1 if strength[i] == low[i] else 1
        if not minimum_norm(
            normals, trial, members, count, low, high, strength, bound, tolerance, D, free, target, basis, triangle
        ):
            for i in range(count):  # the guess may name dependent normals as free: start again from the ends
                strength[i], bound[i] = low[i], -1
            if not minimum_norm(
                normals, trial, members, count, low, high, strength, bound, tolerance, D, free, target, basis, triangle
            ):
                return UNDECIDED
        consistent = True
        rest = code
        for i in range(num_ridges):
            choice = rest % 3
            rest //= 3
            push = sign * along(normals, ridges[i], D)
            if choice == 0:
                consistent = consistent and abs(push) <= tolerance
            else:
                consistent = consistent and (push > tolerance if choice == 1 else push < -tolerance)
        if not consistent:
            continue
        found += 1
        if found > 1:
            return RIDGE
        for c in range(d):
            best[c] = D[c]
        for i in range(count):
            strengths[members[i]] = strength[i]
        for h in range(num):
            chosen_side[h] = now[h]
            if now[h] == 0:
                push = sign * along(normals, h, D)
                chosen_side[h] = 1 if push > tolerance else (-1 if push < -tolerance else 0)
        for i in range(count):
            if bound[i] == 0:
                chosen_side[members[i]] = 0
    if found == 0:
        return UNDECIDED
    for c in range(d):
        D[c] = best[c]
    return 0
