"""Closed-form alignment: published times, closed forms, boundaries that need care, and invariances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.neurons_at_random import INITIALISATIONS, random_neurons, random_problem
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.alignment import OPEN, align, align_until, alignment_of
from reluflow.geometry.alignment_statuses import STATUS_NAMES
from reluflow.losses import LogisticLoss


def unit(degrees):
    angles = np.deg2rad(np.atleast_1d(np.asarray(degrees, dtype=float)))
    return np.column_stack([np.cos(angles), np.sin(angles)])


# Published numbers and closed forms.


def test_time_to_angle_in_one_cone():
    """With w across D and balanced, tan(angle) = 1/sinh(|D| t)."""
    outcome = align([[2.0, 0.0], [-3.0, 4.0]], [1.0, 0.0], [[0.0, 1.0]] @ np.array([[1.0, 0.0], [1e-9, 1.0]]), [1.0])
    assert outcome.time_to_angle(0.01)[0] == pytest.approx(np.arcsinh(1 / np.tan(0.01)) / 2.0, rel=1e-8)


def test_time_to_angle_from_close_to_the_opposite_ray():
    """Balanced, the cosine with D is tanh(|D| t + const), here from -cos(delta) to cos(angle) [min2024]."""
    delta, angle = 1e-7, 0.01
    w = -np.array([[np.cos(delta), np.sin(delta)]])
    outcome = align([[2.0, 0.0]], [1.0], w, [1.0], leak=1.0)
    expected = (np.arctanh(np.cos(angle)) + np.log(2.0 / delta)) / 2.0  # artanh(cos(delta)) = ln(2/delta) + O(delta^2)
    assert outcome.time_to_angle(angle)[0] == pytest.approx(expected, rel=1e-9)


def test_time_to_angle_is_where_the_state_is_at_that_angle():
    rng = np.random.default_rng(11)
    for kind in INITIALISATIONS:
        X, forces = random_problem(rng, 3, 5)
        w, a = random_neurons(rng, 40, 3, kind)
        outcome = align(X, forces, w, a, leak=0.1)
        times = outcome.time_to_angle(1e-3)
        later = np.flatnonzero(np.isfinite(times) & (times > outcome.times))
        assert later.size > 10
        for j in later:
            state = align_until(X, forces, w[j : j + 1], a[j : j + 1], times[j], leak=0.1)
            across = state.w[0] - (state.w[0] @ outcome.directions[j]) * outcome.directions[j]
            assert np.linalg.norm(across) / (state.w[0] @ outcome.directions[j]) == pytest.approx(
                np.tan(1e-3), rel=1e-9
            )


# Events that need care.


def test_neuron_dies_at_the_edge_of_the_dead_cone():
    outcome = align(np.eye(2), [-1.0, -1.0], [[0.5, -1.0]], [np.hypot(0.5, 1.0)])
    assert outcome.end_names == ["dead"]
    assert outcome.patterns.tolist() == [[0, -1]]
    assert outcome.times[0] == pytest.approx(np.arcsinh(0.5), rel=1e-14)
    state = align_until(np.eye(2), [-1.0, -1.0], [[0.5, -1.0]], [np.hypot(0.5, 1.0)], 10.0)
    assert state.w[0, 0] == 0.0
    assert not state.is_sliding.any()
    assert state.events.kinds.tolist() == [3]


def test_start_on_a_ridge_is_reported():
    """Min et al. (2024), E.4: x = (1, 0), y = 1, w = (0, 1): it may stay for ever or leave at any time."""
    for leak in (0.0, 0.3):
        outcome = align([[1.0, 0.0]], [1.0], [[0.0, 1.0]], [1.0], leak=leak)
        assert outcome.end_names == (["open"] if leak == 0.0 else ["maximum"])
    both_away = align([[1.0, 0.0], [-0.3, 1.0]], [1.0, 1.0], [[0.0, 1.0]], [1.0])
    assert both_away.end_names == ["open"]
    assert STATUS_NAMES[both_away.statuses[0]] == "ridge"
    assert align([[1.0, 0.0], [-0.3, 1.0]], [1.0, 1.0], [[1e-9, 1.0]], [1.0]).end_names == ["maximum"]


def test_sliding_through_zero_output_weight_is_reported():
    """An attracting boundary repels once a has changed sign, so the flow stops being unique there."""
    X, forces = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([-1.0, -0.5])
    w, a = np.array([[1.0, 0.0]]), np.array([0.2])  # on the boundary of the first sample, drawn back by the second
    outcome = align(X, forces, w, a, leak=0.0)
    assert outcome.end_names == ["open"]
    assert outcome.times[0] == pytest.approx(np.arctanh(0.2) / 0.5, rel=1e-12)
    assert outcome.a[0] == 0.0
    state = align_until(X, forces, w, a, 10.0)
    assert [state.events.kinds.tolist(), state.events.samples.tolist()] == [[1, 4], [0, 0]]


def test_neuron_on_the_opposite_ray_is_a_saddle():
    outcome = align(np.eye(2), [1.0, 2.0], [[1.0, 2.0]], [-np.sqrt(5.0)])
    assert outcome.end_names == ["saddle"]
    state = align_until(np.eye(2), [1.0, 2.0], [[1.0, 2.0]], [-np.sqrt(5.0)], 1000.0)
    assert state.log_norms[0] == pytest.approx(0.5 * np.log(10.0) - 1000.0 * np.sqrt(5.0), rel=1e-15)


def test_ray_that_attracts_though_the_neuron_shrinks_on_it():
    """A maximum of G with G < 0: a balanced neuron decays on its ray for ever, a dominated one reaches w = 0."""
    X, forces = np.array([[0.0, 1.0], [1.0, -0.6]]), np.array([-1.0, -0.5])
    w, a = np.array([[1.0, 0.2]]), np.array([np.hypot(1.0, 0.2)])
    outcome = align(X, forces, w, a)
    assert outcome.end_names == ["maximum"]
    assert STATUS_NAMES[outcome.statuses[0]] == "shrinking"
    assert np.allclose(outcome.vectors, [[-0.5, 0.0]], atol=1e-15)
    assert outcome.directions.tolist() == [[1.0, 0.0]]
    state = align_until(X, forces, w, a, outcome.times[0] + 5000.0)
    assert state.log_norms[0] == pytest.approx(outcome.log_norms[0] - 2500.0, rel=1e-14)
    assert outcome.time_to_angle(1e-3)[0] == outcome.times[0]
    dominated = align(X, forces, [[1.0, 0.0]], [2.0])
    assert dominated.end_names == ["open"]
    assert STATUS_NAMES[dominated.statuses[0]] == "origin"
    assert dominated.times[0] == pytest.approx(np.arctanh(0.5) / 0.5, rel=1e-14)
    assert align(X, forces, [[1.0, 0.0]], [2.0], zero_stays=True).end_names == ["dead"]


def test_orthogonal_samples_end_on_degenerate_saddles():
    """x_i-aligned neurons exist when samples are exactly orthogonal: G still rises towards the other sample."""
    outcome = align(np.eye(2), [1.0, 1.0], unit([45, -45, 135, 225]), np.ones(4))
    assert outcome.end_names == ["maximum", "saddle", "saddle", "dead"]
    assert outcome.vectors.tolist() == [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("leak", [0.0, 0.5])
def test_symmetric_data_have_no_kink(leak):
    """With (x, y) and (-x, -y) G is linear: every neuron goes to mu~ = (1 + leak)/4 mu, sliding nowhere [lyu2021]."""
    rng = np.random.default_rng(3)
    dataset = Dataset(rng.normal(size=(4, 3)), np.ones(4)).symmetrized()
    w, a = random_neurons(rng, 50, 3, "balanced")
    outcome = alignment_of(dataset, LogisticLoss(), w, a, leak=leak)
    mu = (dataset.y[:, None] * dataset.X).mean(axis=0)
    assert outcome.counts["maximum"] + outcome.counts["minimum"] == 50
    assert outcome.slides.sum() == 0
    assert np.allclose(outcome.vectors, (1 + leak) / 4 * mu, rtol=0, atol=1e-15)
    start = np.sign(w @ dataset.X.T)
    final = np.sign(a[:, None] * (mu @ dataset.X.T))
    assert np.array_equal(outcome.patterns, final)
    assert np.array_equal(outcome.crossings, np.sum(start != final, axis=1))


def test_opposite_samples_with_unequal_forces_slide_as_one():
    """x and -x are hit together with eta(x) + eta(-x) = 1 + leak, so only the sum of their jumps decides."""
    X, forces = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.1]]), np.array([-1.0, -0.5, 1.0])
    state = align_until(X, forces, [[1.0, -1.0]], [np.sqrt(2.0)], 50.0)
    assert state.is_sliding.tolist() == [[True, True, False]]
    assert state.events.samples.tolist() == [0, 1]
    assert np.allclose(state.w[0] / np.linalg.norm(state.w[0]), [1.0, 0.0], atol=1e-15)


def test_repeated_directions_act_as_one_sample():
    rng = np.random.default_rng(8)
    X, forces = random_problem(rng, 3, 4)
    w, a = random_neurons(rng, 200, 3, "balanced")
    one = align(X, forces, w, a, leak=0.2)
    doubled = align(np.vstack([X, 3.0 * X[1:2]]), np.append(forces, 0.0), w, a, leak=0.2)
    split = align(
        np.vstack([X, 3.0 * X[1:2]]),
        np.append(np.where(np.arange(4) == 1, 0.4, 1.0) * forces, 0.2 * forces[1]),
        w,
        a,
        leak=0.2,
    )
    for other in (doubled, split):
        assert np.allclose(one.times, other.times, rtol=1e-10, atol=1e-12)
        assert np.allclose(one.vectors, other.vectors, atol=1e-14)
        assert np.array_equal(one.patterns, other.patterns[:, :4])
        assert np.array_equal(other.patterns[:, 1], other.patterns[:, 4])


def test_several_samples_hit_at_the_same_instant():
    """w and D on the axis of a mirror-symmetric pair: both are hit at once, both attract, the neuron stays on it."""
    X = np.array([[1.0, 0.0, -1.0], [-1.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    outcome = align(X, [-0.5, -0.5, 1.0], [[0.0, 0.1, -1.0]], [np.hypot(0.1, 1.0)])
    assert outcome.end_names == ["maximum"]
    assert outcome.patterns.tolist() == [[0, 0, 1]]
    assert np.allclose(outcome.directions[0], [0.0, 1.0, 0.0], atol=1e-15)
    assert outcome.slides[0] == 2


# Invariants.

problems = st.tuples(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 6), st.sampled_from([0.0, 0.3]))


def drawn(problem, kind="balanced"):
    seed, d, n, leak = problem
    rng = np.random.default_rng(seed)
    return rng, *random_problem(rng, d, n), *random_neurons(rng, 8, d, kind), leak


def assert_same(one, other, vectors):
    assert np.array_equal(one.ends, other.ends)
    assert np.array_equal(one.crossings, other.crossings)
    assert np.array_equal(one.slides, other.slides)
    assert np.allclose(one.times, other.times, rtol=1e-8, atol=1e-8)
    assert np.allclose(vectors, other.vectors, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(problems, st.sampled_from(INITIALISATIONS))
def test_rotation_permutation_rescaling_and_label_flip(problem, kind):
    rng, X, forces, w, a, leak = drawn(problem, kind)
    outcome = align(X, forces, w, a, leak=leak)
    rotation = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
    assert_same(outcome, align(X @ rotation.T, forces, w @ rotation.T, a, leak=leak), outcome.vectors @ rotation.T)
    order = rng.permutation(len(X))
    permuted = align(X[order], forces[order], w, a, leak=leak)
    assert_same(outcome, permuted, outcome.vectors)
    assert np.array_equal(outcome.patterns[:, order], permuted.patterns)
    size = 10.0 ** rng.uniform(-200, 200, len(a))
    assert_same(outcome, align(X, forces, w * size[:, None], a * size, leak=leak), outcome.vectors)
    flipped = align(X, -forces, w, -a, leak=leak)
    assert np.array_equal(np.choose(flipped.ends, [1, 0, 2, 3, 4]), outcome.ends)
    assert np.allclose(flipped.times, outcome.times, rtol=1e-12, atol=1e-12)
    assert np.allclose(flipped.vectors, -outcome.vectors, atol=1e-14)
    swap = rng.permutation(len(a))
    swapped = align(X, forces, w[swap], a[swap], leak=leak)
    assert np.array_equal(swapped.times, outcome.times[swap])
    assert np.array_equal(swapped.extremal, outcome.extremal)
    assert np.array_equal(swapped.indices, outcome.indices[swap])


@settings(deadline=None, max_examples=40)
@given(problems, st.sampled_from(INITIALISATIONS), st.floats(0.01, 400.0))
def test_state_keeps_balancedness_and_composes(problem, kind, time):
    _, X, forces, w, a, leak = drawn(problem, kind)
    whole = align_until(X, forces, w, a, time, leak=leak)
    half = align_until(X, forces, w, a, 0.37 * time, leak=leak)
    rest = align_until(X, forces, half.w, half.a, 0.63 * time, leak=leak, log_norm=half.log_norms)
    going = whole.statuses < STATUS_NAMES.index("ridge")
    start = a**2 + np.sum(w**2, axis=1)
    scale = np.exp(np.log(start) - 2 * whole.log_norms)  # how much larger a relative error of the start is now
    drift = whole.a**2 - np.sum(whole.w**2, axis=1) - (a**2 - np.sum(w**2, axis=1)) / start * scale
    assert np.all(np.abs(drift[going]) <= 1e-14 * (1.0 + scale[going]))
    assert np.allclose(whole.log_norms[going], rest.log_norms[going], rtol=1e-9, atol=1e-9)
    assert np.allclose(whole.w[going], rest.w[going], atol=1e-8)


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_nothing_is_open_in_general_position(leak):
    rng = np.random.default_rng(77)
    for d, kind in itertools.product((2, 3, 4, 5), ("balanced", "dominated")):
        for _ in range(15):
            X, forces = random_problem(rng, d, int(rng.integers(2, 10)))
            outcome = align(X, forces, *random_neurons(rng, 500, d, kind), leak=leak)
            assert outcome.counts["saddle"] == 0
            at_origin = int(np.sum(outcome.statuses == STATUS_NAMES.index("origin")))
            assert outcome.counts["open"] == at_origin
            assert kind == "dominated" or at_origin == 0


def test_limits_are_critical_points_with_the_right_kind():
    """G = side |D| at each limit, and is smaller everywhere near a maximum, larger near a minimum."""
    rng = np.random.default_rng(21)
    for leak, d in itertools.product((0.0, 0.3), (2, 3, 4)):
        X, forces = random_problem(rng, d, 7)
        outcome = align(X, forces, *random_neurons(rng, 300, d, "balanced"), leak=leak)

        def height(v, X=X, forces=forces, leak=leak):
            inner = v @ X.T
            return np.where(inner > 0, inner, leak * inner) @ forces

        for D, side, end in zip(outcome.extremal, outcome.extremal_sides, outcome.extremal_ends, strict=True):
            top = side * D / np.linalg.norm(D)
            near = top + 1e-4 * rng.normal(size=(500, d))
            near /= np.linalg.norm(near, axis=1)[:, None]
            assert height(top) == pytest.approx(side * np.linalg.norm(D), rel=1e-12)
            assert np.all((height(top) - height(near) if end == 0 else height(near) - height(top)) > 0)
            assert end in (0, 1)


def test_state_at_a_scale_outside_doubles():
    """At scale 1e-4000 the flow is the same and only the log norm differs."""
    rng = np.random.default_rng(2)
    X, forces = random_problem(rng, 3, 6)
    w, a = random_neurons(rng, 30, 3, "unbalanced")
    shift = -4000 * np.log(10.0)
    plain, tiny = (
        align_until(X, forces, w, a, 5000.0),
        align_until(X, forces, w, a, 5000.0, log_norm=np.full(30, shift)),
    )
    assert np.array_equal(plain.w, tiny.w)
    assert np.allclose(plain.log_norms + shift, tiny.log_norms, rtol=1e-14)
    assert np.all(np.isfinite(plain.w))
    unit_norm = np.sum(plain.w**2, axis=1) + plain.a**2
    assert np.allclose(unit_norm, 1.0, atol=1e-14)


def test_horizon_leaves_unfinished_neurons_open():
    X, w, a = unit([0, 30, 190, 220]), unit([105, 15]), np.array([-1.0, 1.0])
    outcome = align(X, [1.0, 1.0, -1.0, -1.0], w, a, horizon=0.01)
    assert outcome.end_names == ["open", "maximum"]
    assert STATUS_NAMES[outcome.statuses[0]] == "horizon"
    assert outcome.ends[0] == OPEN


def test_neuron_at_zero_stays():
    outcome = align(np.eye(2), [1.0, 1.0], np.zeros((1, 2)), [0.0])
    assert outcome.end_names == ["dead"]


def test_refusals():
    good = (np.eye(2), [1.0, 1.0], [[1.0, 0.0]], [1.0])
    with pytest.raises(InvalidInputError, match="`leak` must lie in"):
        align(*good, leak=1.5)
    with pytest.raises(InvalidInputError, match="`forces` must hold one number for each of the 2 samples"):
        align(np.eye(2), [1.0], *good[2:])
    with pytest.raises(InvalidInputError, match=r"`w` must have shape \(m, 2\)"):
        align(*good[:2], [[1.0, 0.0, 0.0]], [1.0])
    with pytest.raises(InvalidInputError, match="`a` must hold one number"):
        align(*good[:3], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="`w` must be finite"):
        align(*good[:2], [[np.nan, 0.0]], [1.0])
    with pytest.raises(InvalidInputError, match="`horizon` must be positive"):
        align(*good, horizon=0.0)
    with pytest.raises(InvalidInputError, match="`time` must be finite"):
        align_until(*good, np.inf)
    with pytest.raises(InvalidInputError, match="`angle` must lie strictly"):
        align(*good).time_to_angle(2.0)


def test_progress_changes_no_number():
    """`align` on a table of 569 samples showed a spinner for ten seconds; a bar needs the neurons in blocks."""
    rng = np.random.default_rng(0)
    X, forces = rng.standard_normal((12, 3)), rng.standard_normal(12)
    w = rng.standard_normal((150, 3))
    a = np.linalg.norm(w, axis=1) * rng.choice([-1.0, 1.0], 150)
    shares = []
    whole, told = align(X, forces, w, a), align(X, forces, w, a, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for name in ("ends", "times", "crossings", "patterns", "directions", "indices", "extremal"):
        np.testing.assert_array_equal(getattr(told, name), getattr(whole, name))
