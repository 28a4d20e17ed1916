"""Machine-code kernels for a neuron that arrives at a wall, alone or while it slides on others: what happens there."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatVector, SignVector
from reluflow.compilation.kernel import kernel
from reluflow.dynamics.collocation.sliding_kernels import (
    Pulls,
    Slide,
    add_wall,
    are_inside,
    balance,
    gather,
    hold_newest,
    is_silent,
    refresh,
    set_side,
    solve_triangle,
    split,
    strength_of,
)
from reluflow.dynamics.collocation.vector_kernels import (
    copy_vector,
    dot,
    norm,
    pull_along,
    push_of,
    value_along,
)
from reluflow.geometry.boundary.decision import SEVERAL_WAYS, STOP, decide, make_choice
from reluflow.geometry.boundary.tolerance import ROUNDING

REFRACTION, SLIDE_ENTRY, SLIDE_EXIT, DEATH, RIDGE, SIGN_CHANGE = range(6)  # as `KINDS`
NO_EVENT = -1


@kernel()
def meet_wall(
    w: FloatVector, v: FloatVector, sign: float, direction: FloatVector, side: SignVector, pinned: SignVector,
    slide: Slide, pulls: Pulls, b: int, tau: float, here: FloatVector,
) -> int:  # fmt: skip
    """What happens to a neuron that arrives at a wall, alone or while it slides on others; the kind of event.

    The normal speeds on the two sides decide, seen within the walls it slides on; where passing or stopping would take
    it off one of those, all of them are decided together. `here` is its pull along `direction` as it arrives.
    """
    num_rows, d = slide.rest.shape
    q = num_rows // direction.shape[0]
    count, sigma = slide.held[0], int(side[b])
    on_it = 0 * sigma  # the side of a wall that is slid on: a literal 0 would be compiled for apart
    tangent = pulls.normals[b].copy()
    along, answer = np.empty(count + 1), np.empty(count + 1)
    split(tangent, slide, along)
    solve_triangle(along, slide, answer)
    square = dot(tangent, tangent)
    jump, drift = 0.0, 0.0
    for c in range(direction.shape[0]):
        part, slope = 0.0, 0.0
        for row in range((c + 1) * q - 1, c * q - 1, -1):
            change = strength_of(pulls, b, -sigma, row) - strength_of(pulls, b, sigma, row)
            slope = slope * tau + part
            part = part * tau + change
        jump += direction[c] * part
        drift += direction[c] * slope
    speed = -sigma * sign * (dot(here, tangent) + jump * square)  # beyond the wall, away from it
    scale = abs(jump) + norm(here)
    passes = speed > 0.0
    side[b] = -sigma
    if is_silent(side, pulls):
        slide.rest[:] = 0.0
        slide.pull[:] = 0.0
        return DEATH
    side[b] = sigma
    if abs(speed) <= ROUNDING * scale:  # nothing moves it at this very moment, so what follows decides
        slope = drift * square
        for c in range(direction.shape[0]):
            for row in range(1, q):
                slope += direction[c] * row * tau ** (row - 1) * dot(slide.pull[c * q + row], tangent)
        if direction.shape[0] > 1 and norm(v) > 0.0:
            slope += _turning_speed(w, v, slide, pulls, b, tau, tangent, sigma)
        passes = -sigma * sign * slope >= 0.0
    if passes:
        set_side(slide, pulls, side, b, -sigma)
        for row in range(num_rows):
            change = strength_of(pulls, b, -sigma, row) - strength_of(pulls, b, sigma, row)
            for axis in range(d):
                slide.pull[row, axis] += change * tangent[axis]
            for i in range(count):
                slide.along[row, i] += change * along[i]
                slide.multipliers[row, i] += change * answer[i]
        if count == 0 or are_inside(slide, pulls, sign, direction, pinned, tau):
            return REFRACTION
    else:
        set_side(slide, pulls, side, b, on_it)
        for row in range(num_rows):
            change = -strength_of(pulls, b, sigma, row)
            for axis in range(d):
                slide.pull[row, axis] += change * tangent[axis]
            for i in range(count):
                slide.along[row, i] += change * along[i]
        if add_wall(b, pulls.normals, slide):
            hold_newest(slide)
        else:
            balance(slide)
        if count == 0 or are_inside(slide, pulls, sign, direction, pinned, tau):
            return SLIDE_ENTRY
        slide.held[0] = count
    set_side(slide, pulls, side, b, sigma)
    return _decide_together(sign, direction, side, slide, pulls, b, tau)


@kernel()
def _turning_speed(
    w: FloatVector, v: FloatVector, slide: Slide, pulls: Pulls, b: int, tau: float, tangent: FloatVector, sigma: int
) -> float:
    """How fast the normal speed beyond a wall changes because v turns, dv = D^T w dtau, in units of |v|."""
    num_outputs = v.shape[0]
    q = slide.rest.shape[0] // num_outputs
    push, square, total = np.empty(num_outputs), dot(tangent, tangent), 0.0
    push_of(w, slide.pull, tau, push)
    for c in range(num_outputs):
        speed = 0.0
        for row in range((c + 1) * q - 1, c * q - 1, -1):
            change = strength_of(pulls, b, -sigma, row) - strength_of(pulls, b, sigma, row)
            speed = speed * tau + dot(slide.pull[row], tangent) + change * square
        total += push[c] * speed
    return float(total / norm(v))


@kernel()
def _decide_together(
    sign: float, direction: FloatVector, side: SignVector, slide: Slide, pulls: Pulls, wall: int, tau: float
) -> int:
    """The general decision for a neuron on several walls, one of which it arrives at; the kind of event there."""
    d, count, sigma = slide.rest.shape[1], slide.held[0], int(side[wall])
    on_it = 0 * sigma  # a literal 0 would be compiled for apart
    before = np.zeros(count + 1, dtype=np.int8)
    chosen = np.empty(count + 1, dtype=np.int64)
    for i in range(count):
        chosen[i] = slide.walls[i]
    chosen[count] = wall
    before[count] = sigma
    normals = np.empty((count + 1, d))
    plus, minus = np.empty(count + 1), np.empty(count + 1)
    for i in range(count + 1):
        copy_vector(pulls.normals[chosen[i]], normals[i])
        plus[i] = value_along(pulls.plus[chosen[i]], direction, tau)
        minus[i] = value_along(pulls.minus[chosen[i]], direction, tau)
    set_side(slide, pulls, side, wall, on_it)
    others = np.empty(d)
    pull_along(slide.rest, direction, tau, others)
    sum_plus, sum_minus = 0.0, 0.0
    for i in range(count + 1):
        sum_plus += abs(plus[i])
        sum_minus += abs(minus[i])
    scale = sum_plus + sum_minus + norm(others)
    choice = make_choice(count + 1, d)
    if decide(normals, plus, minus, others, sign, before, ROUNDING * scale, STOP + on_it, choice) == SEVERAL_WAYS:
        set_side(slide, pulls, side, wall, sigma)
        refresh(slide)
        return RIDGE
    for i in range(count + 1):
        if choice.sides[i] != 0:
            set_side(slide, pulls, side, chosen[i], int(choice.sides[i]))
    is_dead = norm(choice.pull) <= ROUNDING * scale
    if is_dead and is_silent(side, pulls):
        slide.rest[:] = 0.0
    gather(side, pulls.normals, slide)
    if choice.sides[count] == 0:
        return SLIDE_ENTRY
    if choice.sides[count] == sigma:
        return NO_EVENT
    return DEATH if is_dead else REFRACTION
