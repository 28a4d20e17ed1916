"""CE1 and CE2 in rational arithmetic: the hypotheses of Proposition 1 as printed hold, and a neuron is lost. A proof.

What is followed is the alignment flow (16), (17), which is the limit of the flow as the scale vanishes, for the first
neuron alone: there the neurons do not act on each other. It ends in the trap of class 2, which no flow leaves at any
scale (`min2025:trap`). As crossings are transversal, the same holds at every small enough scale.
"""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from scipy.linalg import expm

from papers.min2025.exact_flow import Ball, crossings, dot, root_near

SLACK = F(1, 1 << 170)  # above what roots and products of starts lose


def first_data():
    x = [[F(1), F(0)], [F(-8, 17), F(15, 17)], [F(-8, 17), F(-15, 17)]]
    return x, (1, 5, 1)


def first_matrix(fires):
    """B of (w, v) in R^2 x R^3: w' = M v, v' = M^T w, M = sum of active x_k (e_{y_k} - 1/3)^T."""
    x, sizes = first_data()
    M = [[F(0)] * 3 for _ in range(2)]
    for c, (row, size) in enumerate(zip(x, sizes, strict=True)):
        for i in range(2):
            for o in range(3):
                M[i][o] += size * fires[c] * row[i] * (F(c == o) - F(1, 3))
    return [[F(0), F(0), *M[0]], [F(0), F(0), *M[1]]] + [[M[0][o], M[1][o], F(0), F(0), F(0)] for o in range(3)]


def in_the_trap(state, weights, B_2, others):
    """Whether B_2 > 1/2 and the other B_c' < 0, with |v|^2 the sum of `weights` times squares of the output part."""
    low = state.interval(B_2)[0]
    top = sum(w * max(abs(end) for end in state.interval(g)) ** 2 for w, g in weights)
    return low > 0 and 4 * low**2 > top and all(state.interval(g)[1] < 0 for g in others)


def unit(at, length=5, factor=F(1)):
    return [factor if k == at else F(0) for k in range(length)]


@pytest.fixture(scope="module")
def first():
    x, _ = first_data()
    w, v = (F(5), F(3)), (F(4), F(1), F(-5))
    start = [a / root_near(F(34)) for a in w] + [b / root_near(F(42)) for b in v]
    walls = [[*row, F(0), F(0), F(0)] for row in x]
    return crossings(first_matrix, walls, [True, True, False], Ball(start, SLACK), [False, True, False])


def test_the_first_neuron_of_ce1_leaves_class_1_and_is_trapped_by_class_2(first):
    ((before, after, wall, fires),), end = first
    assert (wall, fires) == (0, False)
    assert before < F(10871665, 10**7) + F(1, 10**7)
    assert after > F(10871665, 10**7) - F(1, 10**7)
    assert after - before < F(1, 10**12)
    # 1^T v = 0, so that B_c = sqrt(3/2) v_c/|v|: B_2 >= 1/2 asks (3/2) v_2^2 >= |v|^2/4
    weights = [(F(2, 3), unit(k)) for k in (2, 3, 4)]
    assert in_the_trap(end, weights, unit(3), [unit(2)])


# The second, in the coordinates p_c = <w, x_c> and B_c = <v, etilde_c>, in which everything but two roots is rational

G = [[F(1) if i == j else F(-9, 25) for j in range(3)] for i in range(3)]
E = [[F(1) if i == j else F(-1, 2) for j in range(3)] for i in range(3)]
SIZES = (1, 100, 5)
aligned = F(8661, 10_000)  # B_1
HEIGHTS = (F(1), F(-1, 10**6), F(9, 100))


def inverse_gram():
    """G = (34 I - 9 J)/25, whose inverse is (25/34)(I + 9/7 J)."""
    return [[F(25, 34) * (F(i == j) + F(9, 7)) for j in range(3)] for i in range(3)]


def second_matrix(fires):
    """B of (p, B) in the time kappa t: p' = G D B, B' = E D p with D the sizes of the active classes."""
    D = [size * on for size, on in zip(SIZES, fires, strict=True)]
    top = [[F(0)] * 3 + [G[i][c] * D[c] for c in range(3)] for i in range(3)]
    return top + [[E[i][c] * D[c] for c in range(3)] + [F(0)] * 3 for i in range(3)]


def test_the_second_meets_the_printed_hypotheses_exactly():
    gram = inverse_gram()
    assert all(dot(G[i], [gram[k][j] for k in range(3)]) == F(i == j) for i in range(3) for j in range(3))
    mu_d = F(9, 25)
    assert 1 / mu_d == F(25, 9)
    assert 1 / mu_d < 3  # samples of length 1, mu_s = 1: every reading of the condition
    A = [size * max(p, F(0)) for size, p in zip(SIZES, HEIGHTS, strict=True)]  # times |w|
    assert A[0] > 2 * (A[1] + A[2])
    assert aligned >= F(3, 4)  # as printed
    assert aligned**2 > F(3, 4)  # and above the sharp threshold sqrt(3)/2 of Lemma 6
    # v = B_1 etilde_1 + s z, s^2 = 1 - B_1^2, with z orthogonal to etilde_1 and <z, etilde_2> = sqrt(3)/2
    assert 3 * (1 - aligned**2) < aligned**2  # B_2 = -aligned/2 + s sqrt(3)/2 < 0; B_3 is less


@pytest.fixture(scope="module")
def second():
    squared = dot(HEIGHTS, [dot(row, HEIGHTS) for row in inverse_gram()])  # |w|^2
    s = root_near((1 - aligned**2) * F(3, 4))
    start = [p / root_near(squared) for p in HEIGHTS] + [aligned, -aligned / 2 + s, -aligned / 2 - s]
    walls = [unit(k, 6) for k in range(3)]
    return crossings(second_matrix, walls, [True, False, True], Ball(start, SLACK), [False, True, False])


def test_the_first_neuron_of_ce2_is_taken_by_the_larger_class(second):
    """First class 2 switches on, then class 3 off and class 1 off; the scale 1e-6 of the float runs has 0.08587."""
    met, end = second
    assert sorted((wall, fires) for *_, wall, fires in met) == [(0, False), (1, True), (2, False)]
    assert met[0][2:] == (1, True)
    (lost,) = [before for before, _, wall, _ in met if wall == 0]
    assert float(lost) / (2 / 3) ** 0.5 == pytest.approx(0.08587, abs=1e-4)  # kappa t back to t
    weights = [(F(2, 3), unit(k, 6)) for k in (3, 4, 5)]  # |v|^2 = (2/3) sum B_c^2, and B_2 > |v|/2 is asked
    assert in_the_trap(end, weights, unit(4, 6), [unit(3, 6), unit(5, 6)])


def test_the_enclosures_hold_what_floats_find_and_no_more_is_claimed(second):
    """One step against a matrix exponential; a pattern that is never reached is no proof."""
    B = second_matrix([True, True, True])
    start = Ball([F(k, 7) for k in range(6)], F(1, 10**9))
    after = start.after(B, F(1, 512))
    exact = expm(np.array(B, dtype=float) / 512.0) @ np.array(start.centre, dtype=float)
    assert np.linalg.norm(np.array(after.centre, dtype=float) - exact) < 1e-12
    assert after.radius > start.radius
    with pytest.raises(AssertionError, match="never reached"):
        crossings(first_matrix, [[F(1), F(0), F(0), F(0), F(0)]] * 3, [True] * 3,
                  Ball([F(1), F(0), F(1), F(0), F(-1)], F(0)), [False] * 3, end=F(1))  # fmt: skip
