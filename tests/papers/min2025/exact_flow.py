"""The alignment flow of one pair (w, v) in rational arithmetic, every error bounded: what it returns is proved.

Between walls the frozen flow is linear, z' = B z with rational B. A state is a ball, a rational centre with a radius
that bounds its error in the Euclidean norm. A step is a Taylor polynomial; its remainder, and what rounding the centre
loses, go into the radius. A wall g is met where <g, z> changes its sign within a bracket of 2^-120 (2^-90, 2^-60 for
the second and third); from then for 2^20 brackets it moves away from the wall by the flow of either side, so that it
crosses, cannot slide and does not return.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import factorial, isqrt

GRID = 1 << 180
LONGEST = Fraction(1, 8)
BRACKETS = (Fraction(1, 1 << 120), Fraction(1, 1 << 90), Fraction(1, 1 << 60))


def root_above(x):
    """A rational number at least sqrt(x), by less than 2^-80."""
    return Fraction(isqrt(int(x * (1 << 160)) + 1) + 1, 1 << 80)


def root_near(x):
    """A rational number within 2^-179 of sqrt(x)."""
    return Fraction(isqrt(int(x * (1 << 360))), 1 << 180)


def dot(u, z):
    return sum((a * b for a, b in zip(u, z, strict=True)), Fraction(0))


def apply(B, z):
    return [dot(row, z) for row in B]


def frobenius(B):
    return root_above(sum(x * x for row in B for x in row))


def exponential_above(x):
    """A rational number at least e^x, for x in [0, 1]."""
    assert 0 <= x <= 1
    return sum((x**k / factorial(k) for k in range(8)), Fraction(0)) + 3 * x**8 / factorial(8)


@dataclass(frozen=True)
class Ball:
    """A rational centre, and how far from it the state may be."""

    centre: list
    radius: Fraction

    @cached_property
    def norm(self):
        return root_above(dot(self.centre, self.centre)) + self.radius

    def interval(self, g):
        """What <g, z> lies between."""
        middle, slack = dot(g, self.centre), root_above(dot(g, g)) * self.radius
        return middle - slack, middle + slack

    def after(self, B, h):
        """The state a time h later."""
        size = frobenius(B)
        term, total = list(self.centre), list(self.centre)
        k, rest = 0, self.norm
        while rest * GRID > 1:
            k += 1
            term = [h * x / k for x in apply(B, term)]
            total = [a + b for a, b in zip(total, term, strict=True)]
            rest = (h * size) ** (k + 1) / factorial(k + 1) * 3 * self.norm
        growth = exponential_above(h * size)
        rounded = [Fraction(round(x * GRID), GRID) for x in total]
        radius = growth * self.radius + rest + Fraction(len(total), GRID)
        return Ball(rounded, Fraction(int(radius * GRID) + 1, GRID))

    def least(self, B, g, h):
        """A lower bound of <g, z> over the next time h."""
        size = frobenius(B)
        value, slope = self.interval(g)[0], self.interval([dot(g, column) for column in zip(*B, strict=True)])[0]
        bend = (h * size) ** 2 / 2 * exponential_above(h * size) * self.norm * root_above(dot(g, g))
        return min(value, value + h * slope) - bend


def crossings(matrix, walls, fires, start, until, *, end=Fraction(10)):
    """Follow the flow until a pattern: the crossings (before, after, wall, whether it fires then), and the last state.

    `matrix(fires)` is B of a pattern, `walls` the functionals whose signs are the pattern, `fires` the first one.
    """
    time, state, fires, found, h = Fraction(0), start, list(fires), [], LONGEST
    while fires != until:
        assert time < end, "the pattern is never reached"
        B = matrix(fires)
        signed = [g if on else [-x for x in g] for g, on in zip(walls, fires, strict=True)]
        bracket = BRACKETS[len(found)]
        h = min(2 * h, LONGEST)
        while h * frobenius(B) > 1:
            h /= 2
        while (open_walls := [k for k, g in enumerate(signed) if state.least(B, g, h) <= 0]) and h >= bracket / 4:
            h /= 2
        if not open_walls:
            time, state = time + h, state.after(B, h)
            continue
        (k,) = open_walls
        other = [on != (j == k) for j, on in enumerate(fires)]
        beyond, away, leaving = matrix(other), [-x for x in signed[k]], bracket * (1 << 20)
        later = state.after(B, bracket)
        assert later.interval(away)[0] > 0  # it would be on the other side by then
        moved = 4 * bracket * (frobenius(B) + frobenius(beyond)) * state.norm  # over a bracket, by either flow
        within, across = Ball(state.centre, state.radius + moved), Ball(later.centre, later.radius + moved)
        rest = [g for j, g in enumerate(signed) if j != k]
        for ball, rule, span in ((within, B, bracket), (within, beyond, bracket), (across, beyond, leaving)):
            assert ball.least(rule, [dot(away, column) for column in zip(*rule, strict=True)], span) > 0
            assert all(ball.least(rule, g, span) > 0 for g in rest)
        found.append((time, time + bracket, k, other[k]))
        time, state, fires = time + bracket + leaving, across.after(beyond, leaving), other
        assert state.interval(away)[0] > 0
        h = LONGEST
    return found, state
