"""Machine-code kernels for a neuron that arrives at a wall, alone or while it slides on others: what happens there."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatVector, SignVector
from reluflow.compilation.kernel import kernel
from reluflow.dynamics.flow.sliding_kernels import (
    Pulls,
    Slide,
    add_wall,
    are_inside,
    balance,
    copy_vector,
    dot,
    gather,
    hold_newest,
    is_silent,
    norm,
    pull_at,
    refresh,
    set_side,
    solve_triangle,
    split,
    strength_of,
    value,
)
from reluflow.geometry.boundary.decision import SEVERAL_WAYS, STOP, decide, make_choice
from reluflow.geometry.boundary.tolerance import ROUNDING

REFRACTION, SLIDE_ENTRY, SLIDE_EXIT, DEATH, RIDGE, SIGN_CHANGE = range(6)  # as `KINDS`
NO_EVENT = -1


@kernel()
def meet_wall(
    sign: float, side: SignVector, pinned: SignVector, slide: Slide, pulls: Pulls, b: int, tau: float, here: FloatVector
) -> int:
    """What happens to a neuron that arrives at a wall, alone or while it slides on others; the kind of event.

    The normal speeds on the two sides decide, seen within the walls it slides on; where passing or stopping would take
    it off one of those, all of them are decided together. `here` is its pull as it arrives.
    """
    q, d = slide.rest.shape
    count, sigma = slide.held[0], int(side[b])
    on_it = 0 * sigma  # the side of a wall that is slid on: a literal 0 would be compiled for apart
    tangent = pulls.normals[b].copy()
    along, answer = np.empty(count + 1), np.empty(count + 1)
    split(tangent, slide, along)
    solve_triangle(along, slide, answer)
    square = dot(tangent, tangent)
    jump, drift = 0.0, 0.0
    for row in range(q - 1, -1, -1):
        change = strength_of(pulls, b, -sigma, row) - strength_of(pulls, b, sigma, row)
        drift = drift * tau + jump
        jump = jump * tau + change
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
        for row in range(1, q):
            slope += row * tau ** (row - 1) * dot(slide.pull[row], tangent)
        passes = -sigma * sign * slope >= 0.0
    if passes:
        set_side(slide, pulls, side, b, -sigma)
        for row in range(q):
            change = strength_of(pulls, b, -sigma, row) - strength_of(pulls, b, sigma, row)
            for axis in range(d):
                slide.pull[row, axis] += change * tangent[axis]
            for i in range(count):
                slide.along[row, i] += change * along[i]
                slide.multipliers[row, i] += change * answer[i]
        if count == 0 or are_inside(slide, pulls, sign, pinned, tau):
            return REFRACTION
    else:
        set_side(slide, pulls, side, b, on_it)
        for row in range(q):
            change = -strength_of(pulls, b, sigma, row)
            for axis in range(d):
                slide.pull[row, axis] += change * tangent[axis]
            for i in range(count):
                slide.along[row, i] += change * along[i]
        if add_wall(b, pulls.normals, slide):
            hold_newest(slide)
        else:
            balance(slide)
        if count == 0 or are_inside(slide, pulls, sign, pinned, tau):
            return SLIDE_ENTRY
        slide.held[0] = count
    set_side(slide, pulls, side, b, sigma)
    return _decide_together(sign, side, pinned, slide, pulls, b, tau)


@kernel()
def _decide_together(
    sign: float, side: SignVector, pinned: SignVector, slide: Slide, pulls: Pulls, wall: int, tau: float
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
        plus[i] = value(pulls.plus[chosen[i]], tau)
        minus[i] = value(pulls.minus[chosen[i]], tau)
    set_side(slide, pulls, side, wall, on_it)
    others = np.empty(d)
    pull_at(slide.rest, tau, others)
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
