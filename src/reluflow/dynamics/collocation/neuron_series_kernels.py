"""Machine-code kernels for one neuron between two events: its power series under a pull that is a polynomial.

As w moves along the pull alone, every term of its series is a combination of the q coefficients of the pull (and of w
itself, where that decays), however many dimensions there are: the series is one of q numbers a term, made from the
inner products of these coefficients, and d dimensions are gone through only to make those and to place the neuron.

That holds for one output, and is the only thing that is done apart for it: with K outputs the combinations would have
K q numbers and their inner products (K q)^2, so that the terms of w themselves, d numbers each, cost less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatMatrix, FloatVector
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.collocation.tuning import MOST_TERMS, NEGLIGIBLE_TERM
from reluflow.dynamics.collocation.vector_kernels import FAST, copy_vector, dot, norm


class PullAhead(NamedTuple):
    """The pull on a neuron from a moment on, a polynomial with q coefficients; for one output, its inner products."""

    here: FloatMatrix  # (K q, d)
    strengths: FloatVector  # (q,) norms of its coefficients
    gram: FloatMatrix  # (q, q) their inner products
    along: FloatVector  # (q,) and those with w


class Series(NamedTuple):
    """The power series of a neuron over a piece of its path; T terms, workspace for what makes them."""

    weights: FloatMatrix  # (T, q + 1) of the rows of the pull, and of w, in the terms of w, for one output
    terms_v: FloatMatrix  # (T, K)
    lengths: FloatVector  # (T,) bounds of the norms of the terms of w
    products: FloatMatrix  # (T, q) inner products of the terms of w with the rows of the pull, for one output
    terms_w: FloatMatrix  # (T, d) for several
    bounds: FloatMatrix  # (2, T + 8) of the norms of the terms of (w, v); for several outputs of those of w and of v
    along: FloatVector  # (q + 1,) what the rows of the pull, and w, have along the normal of a wall, for one output


@borrowing_kernel(fastmath=FAST)
def shifted(pull: FloatMatrix, tau: float, out: FloatMatrix, strengths: FloatVector) -> None:
    """Coefficients of D(tau + x) in x, shape (q, d), from those of D, and their norms."""
    if pull.shape[0] == 5:
        _shifted_quartic(pull, tau, out, strengths)
        return
    q, d = pull.shape
    for power in range(q):
        source, target = pull[power], out[power]
        for axis in range(d):
            target[axis] = source[axis]
    for start in range(q - 1):
        for power in range(q - 2, start - 1, -1):
            target, above = out[power], out[power + 1]
            for axis in range(d):
                target[axis] += tau * above[axis]
    for power in range(q):
        strengths[power] = norm(out[power])


@borrowing_kernel(fastmath=FAST)
def _shifted_quartic(pull: FloatMatrix, tau: float, out: FloatMatrix, strengths: FloatVector) -> None:
    """The same of five coefficients in one pass: every neuron does this at every event."""
    source0, source1, source2, source3, source4 = pull[0], pull[1], pull[2], pull[3], pull[4]
    target0, target1, target2, target3, target4 = out[0], out[1], out[2], out[3], out[4]
    square0, square1, square2, square3, square4 = 0.0, 0.0, 0.0, 0.0, 0.0
    two, three, four, six = 2.0 * tau, 3.0 * tau, 4.0 * tau, 6.0 * tau * tau
    for axis in range(pull.shape[1]):
        c1, c2, c3, c4 = source1[axis], source2[axis], source3[axis], source4[axis]
        value0 = source0[axis] + tau * (c1 + tau * (c2 + tau * (c3 + tau * c4)))
        value1 = c1 + two * c2 + tau * tau * (3.0 * c3 + four * c4)
        value2 = c2 + three * c3 + six * c4
        value3 = c3 + four * c4
        target0[axis], target1[axis], target2[axis], target3[axis], target4[axis] = value0, value1, value2, value3, c4
        square0 += value0 * value0
        square1 += value1 * value1
        square2 += value2 * value2
        square3 += value3 * value3
        square4 += c4 * c4
    strengths[0], strengths[1], strengths[2] = np.sqrt(square0), np.sqrt(square1), np.sqrt(square2)
    strengths[3], strengths[4] = np.sqrt(square3), np.sqrt(square4)


@borrowing_kernel()
def stretched(strengths: FloatVector, length: float, factors: FloatVector, sizes: FloatVector) -> None:
    """What turns the coefficients of D into those of length D(length x), and the norms of these."""
    factor = length
    for power in range(strengths.shape[0]):
        factors[power] = factor
        sizes[power] = factor * strengths[power]
        factor *= length


@borrowing_kernel()
def multiply(ahead: PullAhead, w: FloatVector) -> None:
    """The inner products of the pull, from its rows and norms."""
    here, strengths, gram, along = ahead
    q = here.shape[0]
    for row in range(q):
        if strengths[row] == 0.0:
            along[row] = 0.0
            gram[row, :] = 0.0
            gram[:, row] = 0.0
            continue
        along[row] = dot(w, here[row])
        gram[row, row] = strengths[row] * strengths[row]
        for other in range(row + 1, q):
            gram[row, other] = gram[other, row] = dot(here[row], here[other])


@borrowing_kernel(fastmath=FAST)
def expand(length: float, a: float, ahead: PullAhead, factors: FloatVector, sizes: FloatVector, series: Series) -> int:
    """Power series of w' = a D, a' = <w, D> from |w| = `length` under D_l = factors_l pull_l with |D_l| = `sizes`.

    For one output. The degree reached, or -1 if it has not converged. It ends where the next q terms are bound to be
    negligible: by |z_{i+1}| <= sum_l |z_{i-l}| |D_l| / (i + 1).
    """
    q = factors.shape[0]
    weights, terms_v, lengths, products = series.weights, series.terms_v, series.lengths, series.products
    weights[0, :] = 0.0
    weights[0, q] = 1.0
    for row in range(q):
        products[0, row] = ahead.along[row]
    terms_v[0, 0], lengths[0] = a, length
    size = np.sqrt(length * length + a * a)
    bounds = series.bounds[0]  # of |z_i|
    bounds[0] = size
    negligible = NEGLIGIBLE_TERM * size
    for i in range(MOST_TERMS):
        rows = min(i + 1, q)
        if i > 0:  # would the next terms, as many as shape what follows, all be negligible?
            count = 0
            while count < q:
                at = i + count
                total = 0.0
                for row in range(min(at + 1, q)):
                    total += bounds[at - row] * sizes[row]
                bounds[at + 1] = total / (at + 1)
                if bounds[at + 1] > negligible:
                    break
                count += 1
            if count == q:
                return i
        scale = 1.0 / (i + 1)
        log_rescaling, total = 0.0, 0.0
        for row in range(rows):
            weights[i + 1, row] = scale * terms_v[i - row, 0] * factors[row]
            log_rescaling += abs(terms_v[i - row, 0]) * sizes[row]
            total += factors[row] * products[i - row, row]
        for row in range(rows, q + 1):
            weights[i + 1, row] = 0.0
        for row in range(q):
            more = 0.0
            for other in range(rows):
                more += weights[i + 1, other] * ahead.gram[other, row]
            products[i + 1, row] = more
        terms_v[i + 1, 0] = total * scale
        lengths[i + 1] = log_rescaling * scale
        bounds[i + 1] = np.sqrt(lengths[i + 1] * lengths[i + 1] + terms_v[i + 1, 0] * terms_v[i + 1, 0])
    return -1


@borrowing_kernel(fastmath=FAST)
def expand_straight(
    length: float, a: float, ahead: PullAhead, factors: FloatVector, decay: float, series: Series
) -> int:
    """The same of a neuron whose a is frozen, w' = a D - decay w with decay below 1: a polynomial where that is 0."""
    q = factors.shape[0]
    weights, terms_v, lengths = series.weights, series.terms_v, series.lengths
    weights[0, :] = 0.0
    weights[0, q] = 1.0
    terms_v[0, 0] = a
    lengths[0] = largest = length
    for i in range(MOST_TERMS):
        if i >= q and lengths[i] * decay <= NEGLIGIBLE_TERM * (i + 1) * largest:
            return i
        scale = 1.0 / (i + 1)
        for row in range(q + 1):
            weights[i + 1, row] = -decay * scale * weights[i, row]
        lengths[i + 1] = decay * scale * lengths[i]
        if i < q:
            weights[i + 1, i] += factors[i] * a * scale
            lengths[i + 1] += abs(factors[i] * a * scale) * ahead.strengths[i]
        terms_v[i + 1, 0] = 0.0
        largest = max(largest, lengths[i + 1])
    return MOST_TERMS


@borrowing_kernel(fastmath=FAST)
def expand_several(
    w: FloatVector, v: FloatVector, here: FloatMatrix, factors: FloatVector, sizes: FloatVector, decay: float,
    moves_outputs: bool, series: Series,
) -> int:  # fmt: skip
    """The same for several outputs: w' = D v - decay w, v' = D^T w or, where pulls do not move outputs, 0.

    Its end is that of `expand`, by the bounds of |w_i| and |v_i| apart.
    """
    q, num_outputs = factors.shape[0], v.shape[0]
    terms_w, terms_v, lengths = series.terms_w, series.terms_v, series.lengths
    copy_vector(w, terms_w[0])
    copy_vector(v, terms_v[0])
    bounds_w, bounds_v = series.bounds[0], series.bounds[1]
    lengths[0] = bounds_w[0] = norm(w)
    bounds_v[0] = norm(v)
    largest = bounds_w[0]
    if moves_outputs:
        largest = np.sqrt(bounds_w[0] * bounds_w[0] + bounds_v[0] * bounds_v[0])
    for i in range(MOST_TERMS):
        if i > 0:
            count = 0
            while count < q:
                at = i + count
                bounds_w[at + 1], bounds_v[at + 1] = decay * bounds_w[at] / (at + 1), 0.0
                for row in range(min(at + 1, q)):
                    bounds_w[at + 1] += bounds_v[at - row] * sizes[row] / (at + 1)
                    if moves_outputs:
                        bounds_v[at + 1] += bounds_w[at - row] * sizes[row] / (at + 1)
                if bounds_w[at + 1] + bounds_v[at + 1] > NEGLIGIBLE_TERM * largest:
                    break
                count += 1
            if count == q:
                return i
        scale = 1.0 / (i + 1)
        following, above = terms_w[i + 1], terms_w[i]
        for axis in range(w.shape[0]):
            following[axis] = -decay * scale * above[axis]
        for c in range(num_outputs):
            gained = 0.0
            for row in range(min(i + 1, q)):
                part, share = here[c * q + row], scale * factors[row] * terms_v[i - row, c]
                if share != 0.0:
                    for axis in range(w.shape[0]):
                        following[axis] += share * part[axis]
                if moves_outputs:
                    gained += factors[row] * dot(part, terms_w[i - row])
            terms_v[i + 1, c] = scale * gained
        lengths[i + 1] = bounds_w[i + 1] = norm(following)
        bounds_v[i + 1] = norm(terms_v[i + 1])
        largest = max(largest, lengths[i + 1])
    return -1 if moves_outputs else MOST_TERMS


@borrowing_kernel(fastmath=FAST)
def place(
    series: Series, here: FloatMatrix, degree: int, at: float, w: FloatVector, out: FloatVector, v: FloatVector,
    shares: FloatVector,
) -> None:  # fmt: skip
    """The neuron at a place of its piece, which starts at `w`: its w is written (perhaps over that one), and its v.

    `shares` (q + 1,) are those of the rows of the pull, and of w, in it, for one output.
    """
    d = here.shape[1]
    weights, terms_v, terms_w = series.weights, series.terms_v, series.terms_w
    for c in range(v.shape[0]):
        total = terms_v[degree, c]
        for i in range(degree - 1, -1, -1):
            total = total * at + terms_v[i, c]
        v[c] = total
    if v.shape[0] > 1:
        copy_vector(terms_w[degree], out)
        for i in range(degree - 1, -1, -1):
            term = terms_w[i]
            for axis in range(d):
                out[axis] = out[axis] * at + term[axis]
        return
    q = here.shape[0]
    for row in range(q, -1, -1):  # w first, as it may be written over
        share = weights[degree, row]
        for i in range(degree - 1, -1, -1):
            share = share * at + weights[i, row]
        shares[row] = share
        if row == q:
            for axis in range(d):
                out[axis] = share * w[axis]
        elif share != 0.0:
            part = here[row]
            for axis in range(d):
                out[axis] += share * part[axis]


@kernel()
def make_series(num_outputs: int, q: int, d: int) -> Series:
    """Workspace for a series."""
    most, none = MOST_TERMS + 1, np.empty((0, 0))
    terms_v, lengths, bounds = np.empty((most, num_outputs)), np.empty(most), np.empty((2, most + 7))
    if num_outputs > 1:
        return Series(none, terms_v, lengths, none, np.empty((most, d)), bounds, np.empty(q + 1))
    return Series(np.empty((most, q + 1)), terms_v, lengths, np.empty((most, q)), none, bounds, np.empty(q + 1))


@borrowing_kernel()
def shift_pull(pull: FloatMatrix, num_outputs: int, tau: float, ahead: PullAhead) -> None:
    """The pull from tau on, of every output, and the norms of its coefficients."""
    if num_outputs == 1:
        shifted(pull, tau, ahead.here, ahead.strengths)
        return
    q = pull.shape[0] // num_outputs
    of_output = ahead.along  # which serves one output
    ahead.strengths[:] = 0.0
    for c in range(num_outputs):
        shifted(pull[c * q : (c + 1) * q], tau, ahead.here[c * q : (c + 1) * q], of_output)
        for row in range(q):
            ahead.strengths[row] += of_output[row] * of_output[row]
    for row in range(q):
        ahead.strengths[row] = np.sqrt(ahead.strengths[row])
