"""Machine code for a neuron's choice on walls: slide, pass, die, or no unique way on.

Wall i has the unit normal `normals[i]` and pulls along it with strength `plus[i]` on its plus side, `minus[i]` on its
minus side, anything between on itself (Clarke). Everything is decided from the state, never from a change of sign.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from reluflow.arrays import FloatArray, FloatMatrix, FloatVector, IntArray, IntVector, SignArray, SignVector
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.geometry.boundary.minimum_norm import Workspace, along, make_workspace, minimise, norm
from reluflow.geometry.boundary.tolerance import ROUNDING

Ridge = Literal["stop", "positive", "negative", "stay"]

RIDGES: tuple[Ridge, ...] = ("stop", "positive", "negative", "stay")  # what to do where the flow is not unique
STOP, POSITIVE, NEGATIVE, STAY = range(len(RIDGES))
ONE_WAY, SEVERAL_WAYS, NO_WAY = 0, 1, 2  # verdicts
_FAINT = 1e-6  # forces that act on a neuron, against those of a side it is not on, for which they are weighed apart
_MOST_OF_ACTING = 1e3  # such a side is then taken to be so many times as strong as they are: no slide needs more
_PRECISION = 1e-15  # of speeds themselves, relative to the strengths: what is left where the tolerance is 0
MAX_RIDGES = 6  # 3^r continuations are tried where r repelling walls meet


class Choice(NamedTuple):
    """A decision, written by `decide`: the new side of each wall stood on (0: it slides), its strength there, and D."""

    sides: IntVector  # (s,)
    strengths: FloatVector  # (s,)
    pull: FloatVector  # (d,)
    base: FloatVector  # (d,) work space, as are the rest
    repelling: IntVector  # (s,)
    members: IntVector  # (s,)
    workspace: Workspace


@kernel()
def make_choice(s: int, d: int) -> Choice:
    """Workspace for the decisions of a neuron on up to s walls in dimension d."""
    return Choice(
        np.zeros(s, np.int64),
        np.zeros(s),
        np.zeros(d),
        np.zeros(d),
        np.zeros(s, np.int64),
        np.zeros(s, np.int64),
        make_workspace(s, d),
    )


@borrowing_kernel()
def _keeps_sides(
    normals: FloatMatrix,
    plus: FloatVector,
    minus: FloatVector,
    rest: FloatVector,
    sign: float,
    before: SignVector,
    tolerance: float,
    choice: Choice,
) -> bool:
    """Whether nothing clearly pushes the neuron off the sides it comes from, which are then written into `choice`."""
    s, d = normals.shape
    for c in range(d):
        choice.pull[c] = rest[c]
    for i in range(s):
        if before[i] == 0:
            return False
        choice.sides[i] = before[i]
        choice.strengths[i] = plus[i] if before[i] > 0 else minus[i]
        for c in range(d):
            choice.pull[c] += choice.strengths[i] * normals[i, c]
    for i in range(s):  # noqa: SIM110 (compiled code has no generators)
        if sign * before[i] * along(normals, i, choice.pull) < -tolerance:
            return False
    return True


@borrowing_kernel()
def passes_one_wall(
    normals: FloatMatrix,
    wall: int,
    plus: float,
    minus: float,
    rest: FloatVector,
    sign: float,
    tolerance: float,
    choice: Choice,
) -> bool:
    """Whether both sides of the only wall it stands on push a neuron one way; that side is then its choice.

    Nearly every event is of this kind, and no shortest pull need be looked for: it is the one of the side passed to.
    """
    if abs(plus - minus) <= tolerance:
        return False
    push = along(normals, wall, rest)
    side = 1 if sign * (push + plus) > 0.0 else -1
    least = 2.0 * max(_PRECISION * (norm(rest) + max(abs(plus), abs(minus))), tolerance)
    if min(side * sign * (push + plus), side * sign * (push + minus)) <= least:
        return False
    choice.sides[0] = side
    choice.strengths[0] = plus if side > 0 else minus
    for c in range(rest.shape[0]):
        choice.pull[c] = rest[c] + choice.strengths[0] * normals[wall, c]
    return True


@borrowing_kernel()
def _continuation(
    normals: FloatMatrix,
    plus: FloatVector,
    minus: FloatVector,
    code: int,
    count: int,
    num_repelling: int,
    tolerance: float,
    choice: Choice,
) -> int:
    """The shortest pull with each repelling wall as digit of `code` says; how many rows it had, -1 if none was found.

    Digits are 0: between, 1: on the plus side, 2: on the minus side. The first `count` members attract.
    """
    d = normals.shape[1]
    workspace = choice.workspace
    trial = choice.pull
    for c in range(d):
        trial[c] = choice.base[c]
    for i in range(num_repelling):
        wall, digit = choice.repelling[i], code % 3
        code //= 3
        if digit == 0:
            choice.members[count] = wall
            count += 1
        else:
            strength = plus[wall] if digit == 1 else minus[wall]
            for c in range(d):
                trial[c] += strength * normals[wall, c]
    for i in range(count):
        wall = choice.members[i]
        workspace.lower[i], workspace.upper[i] = min(plus[wall], minus[wall]), max(plus[wall], minus[wall])
        for c in range(d):
            workspace.rows[i, c] = normals[wall, c]
    return count if minimise(trial, count, tolerance, workspace) else -1


@borrowing_kernel()
def _violation(
    normals: FloatMatrix,
    sign: float,
    code: int,
    num_repelling: int,
    tolerance: float,
    precision: float,
    choice: Choice,
) -> float:
    """By how much the normal speeds on the repelling walls miss what their digits ask for; negative: consistent."""
    worst = -np.inf
    for i in range(num_repelling):
        push, digit = sign * along(normals, choice.repelling[i], choice.workspace.pull), code % 3
        code //= 3
        if digit == 0:
            worst = max(worst, abs(push) - 2.0 * precision)
        else:
            worst = max(worst, tolerance - (push if digit == 1 else -push))
    return worst


@borrowing_kernel()
def decide(
    normals: FloatMatrix,
    plus: FloatVector,
    minus: FloatVector,
    rest: FloatVector,
    sign: float,
    before: SignVector,
    tolerance: float,
    ridge: int,
    choice: Choice,
) -> int:
    """Decide from the state how a neuron that stands on walls goes on; the verdict, with the rest in `choice`.

    A wall attracts where sign * (plus - minus) < 0: both sides then push towards it, or agree. Attracting walls get the
    strengths of the shortest pull, which is the unique continuation of a monotone inclusion; each repelling wall is
    tried on its plus side, its minus side and in between. One consistent continuation is a way on; several are a ridge,
    and `ridge` says which is written down; where none was found it is the one that misses least. A neuron that no
    longer moves off a wall (it has died beyond it, or the others pull along it) is on the side whose strength it has.

    Parameters
    ----------
    normals, plus, minus
        The walls it stands on, shape (s, d), and their strengths on either side, shape (s,).
    rest
        The pull of all other walls, shape (d,).
    sign
        Sign of a.
    before
        The sides it comes from, shape (s,), kept where all are known and nothing clearly pushes it off them; 0 where it
        comes from the wall itself, or has no side to keep.
    tolerance
        Normal speeds up to this are none: `ROUNDING` times the strengths that act on it.
    ridge
        `STOP`, `POSITIVE`, `NEGATIVE` or `STAY`; the first writes down what the last does.
    choice
        `make_choice(s, d)` or larger; its first s entries are written.
    """
    s, d = normals.shape
    if _keeps_sides(normals, plus, minus, rest, sign, before, tolerance, choice):
        return ONE_WAY
    if sign == 0.0:  # nothing moves it
        for i in range(s):
            choice.sides[i] = before[i] if before[i] != 0 else 1
        choice.pull[:] = 0.0
        return ONE_WAY
    if s == 1 and passes_one_wall(normals, 0 * s, plus[0], minus[0], rest, sign, tolerance, choice):
        return ONE_WAY
    precision = norm(rest)
    for i in range(s):
        precision += max(abs(plus[i]), abs(minus[i]))
    precision = max(_PRECISION * precision, tolerance)
    for c in range(d):
        choice.base[c] = rest[c]
    count = num_repelling = 0
    for i in range(s):
        jump = plus[i] - minus[i]
        choice.strengths[i] = plus[i]
        choice.sides[i] = 0
        if abs(jump) <= tolerance:  # no kink: the wall is only passed
            for c in range(d):
                choice.base[c] += plus[i] * normals[i, c]
        elif sign * jump < 0.0:
            choice.members[count] = i
            count += 1
        else:
            choice.repelling[num_repelling] = i
            num_repelling += 1
    workspace = choice.workspace
    found, best_code, best_score, least = 0, -1, -np.inf, np.inf
    is_tried, used = num_repelling <= MAX_RIDGES, 0 * s
    num_codes = 3**num_repelling if is_tried else 1
    for code in range(num_codes):
        used = _continuation(normals, plus, minus, code, count, num_repelling, precision, choice)
        if used < 0:
            return NO_WAY
        violation = _violation(normals, sign, code, num_repelling, tolerance, precision, choice)
        if violation < 0.0:
            found += 1
            score = 0.0
            rest_of_code = code
            for _ in range(num_repelling):
                digit = rest_of_code % 3
                rest_of_code //= 3
                if ridge in (POSITIVE, NEGATIVE):
                    towards = 1.0 if ridge == POSITIVE else -1.0
                    score += 0.0 if digit == 0 else (towards if digit == 1 else -towards)
                elif digit == 0:
                    score += 1.0
            if score > best_score:
                best_code, best_score = code, score
        elif found == 0 and violation < least:
            best_code, least = code, violation
    if not is_tried:  # too many to be unique, and to try: it stays on all of them
        found, best_code = 2, 0
    if best_code != num_codes - 1:  # else it is the one that was solved last
        used = _continuation(normals, plus, minus, best_code, count, num_repelling, precision, choice)
    for i in range(used):
        choice.strengths[choice.members[i]] = workspace.strengths[i]
    for i in range(num_repelling):
        wall, digit = choice.repelling[i], best_code % 3
        best_code //= 3
        if digit != 0:
            choice.strengths[wall] = plus[wall] if digit == 1 else minus[wall]
    for c in range(d):
        choice.pull[c] = workspace.pull[c]
    for i in range(s):  # a strength at an end of its interval is that of a side, on which the neuron then is
        at_plus, at_minus = choice.strengths[i] == plus[i], choice.strengths[i] == minus[i]
        choice.sides[i] = 1 if at_plus else (-1 if at_minus else 0)
        if abs(plus[i] - minus[i]) <= tolerance:
            choice.sides[i] = 1 if sign * along(normals, i, workspace.pull) >= 0.0 else -1
    return ONE_WAY if found == 1 else (SEVERAL_WAYS if found > 1 else NO_WAY)


class Resolution(NamedTuple):
    """Where a neuron that stands on walls goes.

    `sides` has the new side of each wall it stood on: 1 or -1 to leave or pass, 0 to slide. `is_ridge` is whether more
    than one continuation exists, so that the choice was not the flow's; `is_still` whether nothing pulls it there;
    `is_undecided` whether no continuation was found beyond rounding, and `sides` are the ones that miss least.
    """

    sides: tuple[int, ...]
    is_ridge: bool
    is_still: bool
    is_undecided: bool = False


@kernel(entry=True)
def walls_stood_on(
    normals: FloatMatrix, z: FloatVector, sides: SignVector, arriving: int, counts_output: bool
) -> IntArray:
    """The walls that a neuron (w, v) stands on to rounding, slides on or arrives at.

    Rounding is that of its size, of w alone unless the output weights count.
    """
    num_walls, d = normals.shape
    size = 0.0
    for i in range(z.shape[0] if counts_output else d):
        size += z[i] ** 2
    on = np.empty(num_walls, dtype=np.int64)
    count = 0
    for b in range(num_walls):
        height = 0.0
        for i in range(d):
            height += normals[b, i] * z[i]
        if b == arriving or sides[b] == 0 or abs(height) <= ROUNDING * np.sqrt(size):
            on[count] = b
            count += 1
    return on[:count].copy()


@kernel(entry=True)
def decide_among(
    normals: FloatMatrix,
    plus: FloatVector,
    minus: FloatVector,
    on: IntVector,
    before: SignVector,
    sign: float,
    ridge: int,
    rounding: float,
    sides: IntVector,
) -> tuple[int, bool]:
    """`decide` among all walls, of which the neuron stands on those in `on`: the verdict, and whether nothing pulls it.

    The new sides of the walls in `on` are written into `sides`.
    """
    s, d = on.shape[0], normals.shape[1]
    normals_on, plus_on, minus_on = np.empty((s, d)), np.empty(s), np.empty(s)
    before_on, rest = np.empty(s, dtype=np.int8), np.zeros(d)
    others, strongest = 0.0, 0.0
    for b in range(normals.shape[0]):
        place = -1
        for i in range(s):
            if on[i] == b:
                place = i
        if place >= 0:
            plus_on[place], minus_on[place], before_on[place] = plus[b], minus[b], before[b]
            strongest = max(strongest, max(abs(plus[b]), abs(minus[b])))
            for c in range(d):
                normals_on[place, c] = normals[b, c]
        else:
            strength = plus[b] if before[b] > 0 else minus[b]
            others += abs(strength)
            for c in range(d):
                rest[c] += strength * normals[b, c]
    choice, verdict = make_choice(s, d), ONE_WAY
    for is_weighed_apart in (False, True):
        scale, acting = others, others
        for i in range(s):
            scale += max(abs(plus_on[i]), abs(minus_on[i]))
        verdict = decide(normals_on, plus_on, minus_on, rest, sign, before_on, rounding * scale, ridge, choice)
        for i in range(s):
            acting += abs(choice.strengths[i])
        if is_weighed_apart or not 0.0 < acting < _FAINT * strongest:
            break
        # a side that the neuron is not on must not set what counts as rounding for the forces that do act on it
        most = _MOST_OF_ACTING * acting
        for i in range(s):
            plus_on[i] = min(max(plus_on[i], -most), most)
            minus_on[i] = min(max(minus_on[i], -most), most)
    is_still = True
    for c in range(d):
        is_still = is_still and choice.pull[c] == 0.0
    for i in range(s):
        sides[i] = choice.sides[i]
    return verdict, is_still


def resolve(
    normals: FloatArray,
    plus: FloatArray,
    minus: FloatArray,
    on: IntArray,
    before: SignArray,
    sign: float,
    ridge: Ridge,
    *,
    rounding: float = ROUNDING,
) -> Resolution:
    """`decide` for one neuron among all walls: it stands on those in `on` and comes from the sides `before` of all."""
    sides = np.zeros(len(on), dtype=np.int64)
    verdict, is_still = decide_among(normals, plus, minus, on, before, sign, RIDGES.index(ridge), rounding, sides)
    return Resolution(tuple(sides.tolist()), verdict == SEVERAL_WAYS, is_still, verdict == NO_WAY)
