"""Neurons with several outputs under frozen forces: published times, closed forms, and other integrators."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from reluflow import Dataset, Experiment, Network, TrainingProblem, align, train
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.errors import InvalidInputError
from reluflow.geometry.alignment import END_NAMES
from reluflow.geometry.alignment import align as align_one_output
from reluflow.geometry.boundary.events import SLIDE_ENTRY, SLIDE_EXIT
from reluflow.geometry.pair_alignment import align_pairs, align_pairs_until, pair_alignment_of
from reluflow.losses import SoftmaxLoss

# Datasets A and B, counterexample CE1 and the runs G2 and S of Min, Zhu & Vidal (2025), as measured for this project
# by piecewise DOP853 at 1e-13: classes in the order of the samples.
A = np.array(
    [
        (3, 0, 1, 0), (2, 1, 0, 1), (2, -1, 0, 1), (-2, 3, -1, 0), (-2, 2, 0, -1), (-3, 3, 1, 0), (-2, -3, 0, 0),
        (-2, -4, 0, -1), (-3, -4, -1, 0),
    ], dtype=float,
)  # fmt: skip
B = np.array(
    [
        (2, 0, 0, -0.1, -0.2, 0), (0.1, 2, -0.2, 0, 0, -0.1), (-0.1, 0, 2, 0, -0.1, 0), (0, -0.1, 0.1, 2, 0, -0.2),
        (-0.1, -0.1, 0, -0.1, 2, 0), (0, -0.1, -0.1, 0, 0.1, 2),
    ]
)  # fmt: skip
CE1 = np.array([(1, 0), *[(-8 / 17, 15 / 17)] * 5, (-8 / 17, -15 / 17)])
RUN_S = np.array([[3.0, 1.0, 2.0, -1.0]]) / 15**0.5, np.array([[-2.0, -1.0, 2.0]]) / 3.0


def softmax_forces(labels, num_classes=3):
    return np.eye(num_classes)[labels] - 1.0 / num_classes


def units(rows):
    rows = np.array(rows, dtype=float)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_frozen_activation_times_of_run_g2():
    w = [
        (1, -0.5, -0.1, -0.1, -0.1, -0.1), (-0.5, 1, -0.1, -0.1, -0.1, -0.1), (-0.1, -0.1, 1, -0.5, -0.1, -0.1),
        (-0.1, -0.1, -0.1, -0.1, 1, -0.5), (-0.1, -0.1, -0.1, -0.1, -0.5, 1),
    ]  # fmt: skip
    v = [(2, -1, -1), (1, 0, 0), (-1, 3, -1), (-1, -1, 3), (0, 0, 1)]
    found = align_pairs(B, softmax_forces([0, 0, 1, 1, 2, 2]), units(w), units(v))
    rows = zip(found.events.neurons, found.events.samples, found.events.times, strict=True)
    events = {(int(j) + 1, int(k) + 1): float(t) for j, k, t in rows}
    expected = {(4, 6): 1.330628072, (1, 2): 1.344688016, (3, 4): 1.352840326, (5, 5): 1.448444700, (2, 1): 1.471672905}
    assert events == pytest.approx(expected, abs=2e-9)
    assert found.counts["maximum"] == 5


def test_ce1_leaves_its_class():
    found = align_pairs(
        CE1, softmax_forces([0, 1, 1, 1, 1, 1, 2]), [np.array([5.0, 3.0]) / 34**0.5, CE1[1], CE1[6]],
        units([(4, 1, -5), (-1, 2, -1), (-1, -1, 2)]), classes=("one", "two", "three"),
    )  # fmt: skip
    assert found.times[0] == pytest.approx(1.0871665, abs=1e-7)
    assert np.argmax(found.outputs, axis=1).tolist() == [1, 1, 2]
    assert found.classes_from()[0] == {
        "class": "one", "neurons": 1, "to": {"one": 0, "two": 1, "three": 0}, "dead": 0, "saddle": 0, "open": 0,
    }  # fmt: skip


def test_run_s_slides_and_joins_class_one():
    forces = softmax_forces([0, 0, 0, 1, 1, 1, 2, 2, 2])
    found = align_pairs(A, forces, *RUN_S)
    assert found.events.kinds.tolist() == [SLIDE_ENTRY, SLIDE_EXIT]
    assert found.events.samples.tolist() == [4, 4]
    assert found.events.times[0] == pytest.approx(0.1336334428, abs=1e-10)
    assert found.slides.tolist() == [1]
    tilde = np.array([2.0, -1.0, -1.0]) / 6**0.5
    np.testing.assert_allclose(found.outputs[0], tilde, atol=1e-12)
    np.testing.assert_allclose(found.extremal[0], np.sqrt(2 / 3) * A[:3].sum(axis=0), atol=1e-12)
    expected = {
        0.1: (4.022802113, -0.4176412887), 0.2: (3.451884673, -0.1478381542), 0.5: (5.663162305, 0.6947555828),
        1.0: (7.341591666, 0.9988075746),
    }  # fmt: skip
    w, v = (units(rows) for rows in RUN_S)
    for time, (own, along) in expected.items():
        state = align_pairs_until(A, forces, w, v, time)
        direction = state.w[0] / np.linalg.norm(state.w[0])
        assert np.sum(np.maximum(A[:3] @ direction, 0.0)) == pytest.approx(own, abs=2e-9)
        assert tilde @ state.v[0] / np.linalg.norm(state.v[0]) == pytest.approx(along, abs=2e-10)
    assert np.exp(state.log_norms[0]) * np.linalg.norm(state.w[0]) == pytest.approx(15.01070259, rel=1e-9)
    assert np.linalg.norm(state.v[0]) == pytest.approx(np.linalg.norm(state.w[0]), rel=1e-12)


def test_agrees_with_the_flow_at_a_vanishing_scale():
    """At scale 1e-100 the flow of the whole network is the frozen one: same times at walls, same directions."""
    data = Dataset(A, np.repeat([0, 1, 2], 3), classes=("a", "b", "c"))
    rng = np.random.default_rng(3)
    w = np.vstack([RUN_S[0], rng.normal(size=(5, 4))])
    v = np.vstack([RUN_S[1], rng.normal(size=(5, 3))])
    network = Network(w=units(w), v=units(v), log_scale=-100 * np.log(10.0))
    problem = TrainingProblem(data, SoftmaxLoss(reduction="sum"), network)
    run = train(problem, CollocationFlow(rtol=1e-12), until=2.0)
    frozen = align_pairs_until(A, softmax_forces(np.repeat([0, 1, 2], 3)), network.w, network.v, 2.0)
    found = sorted((int(e.neuron), int(e.sample), float(e.time)) for e in run.events)
    expected = sorted(
        zip(frozen.events.neurons.tolist(), frozen.events.samples.tolist(), frozen.events.times.tolist(), strict=True)
    )
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    np.testing.assert_allclose([row[2] for row in found], [row[2] for row in expected], rtol=1e-8)
    np.testing.assert_allclose(units(run.network.w), units(frozen.w), atol=1e-7)
    np.testing.assert_allclose(units(run.network.v), units(frozen.v), atol=1e-7)


def stepped(X, forces, leak, w, v, time):
    """Direction of (w, v) by a general integrator on the smoothed activation's limit: many small pieces, no events."""

    def speed(_, z):
        inner, outer = z[: X.shape[1]], z[X.shape[1] :]
        products = X @ inner
        slopes = np.where(products > 0, 1.0, leak)
        pull = (X * slopes[:, None]).T @ forces
        return np.concatenate([pull @ outer, pull.T @ inner])

    end = solve_ivp(speed, (0.0, time), np.concatenate([w, v]), rtol=1e-9, atol=1e-12, max_step=time / 400).y[:, -1]
    return end / np.linalg.norm(end)


@pytest.mark.parametrize(("n", "d", "num_outputs", "leak"), [(6, 3, 2, 0.0), (8, 2, 3, 0.3), (9, 4, 4, 0.0)])
def test_agrees_with_a_general_integrator(n, d, num_outputs, leak):
    rng = np.random.default_rng([n, d, num_outputs])
    X, forces = rng.normal(size=(n, d)), rng.normal(size=(n, num_outputs)) / n
    w, v = units(rng.normal(size=(12, d))), units(rng.normal(size=(12, num_outputs)))
    state = align_pairs_until(X, forces, w, v, 1.5, leak=leak)
    has_slid = set(state.events.neurons[state.events.kinds == SLIDE_ENTRY].tolist())
    crossed = 0
    for j in set(range(12)) - has_slid:
        expected = stepped(X, forces, leak, w[j], v[j], 1.5)
        np.testing.assert_allclose(np.concatenate([state.w[j], state.v[j]]), expected, atol=2e-3)
        crossed += int(np.sum(state.events.neurons == j))
    assert crossed >= 5


def test_one_output_embedded_in_two_ends_at_the_same_vectors():
    rng = np.random.default_rng(5)
    X, forces = rng.normal(size=(9, 3)), rng.normal(size=9)
    w, a = units(rng.normal(size=(60, 3))), rng.choice([-1.0, 1.0], size=60)
    one = align_one_output(X, forces, w, a, leak=0.1)
    two = align_pairs(X, np.stack([forces, 0.0 * forces], axis=1), w, np.stack([a, 0.0 * a], axis=1), leak=0.1)
    attracted = (one.statuses == 0) & np.isin([END_NAMES[code] for code in one.ends], ("maximum", "minimum"))
    assert np.sum(attracted) > 50
    np.testing.assert_allclose(two.directions[attracted], one.directions[attracted], atol=1e-9)
    np.testing.assert_allclose(two.times[attracted], one.times[attracted], atol=1e-10)
    assert two.crossings[attracted].tolist() == one.crossings[attracted].tolist()
    assert two.slides[attracted].tolist() == one.slides[attracted].tolist()
    assert set(np.array(two.end_names)[attracted]) == {"maximum"}


def test_rotated_outputs_and_permuted_samples_change_nothing():
    rng = np.random.default_rng(6)
    X, forces = rng.normal(size=(7, 3)), rng.normal(size=(7, 3))
    w, v = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    turn, order = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.permutation(7)
    one = align_pairs(X, forces, w, v)
    two = align_pairs(X[order], forces[order] @ turn, w, v @ turn)
    assert one.end_names == two.end_names
    np.testing.assert_allclose(one.times, two.times, atol=1e-10)
    np.testing.assert_allclose(one.outputs @ turn, two.outputs, atol=1e-8)


def test_dead_saddle_and_open_ends():
    X, forces = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 0.5]])
    w = [[-1.0, -1.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.3]]
    v = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    found = align_pairs(X, forces, w, v)
    assert found.end_names[0] == "dead"
    assert found.end_names[2:] == ["open", "maximum"]
    assert "1 of 4 neurons reach w = 0" in found.why_open
    # (0, 1) with q = (0, 1) is on the wall of the first sample, along which it feels nothing, and beside which w grows
    # towards (1, 0): |Gamma|^2 = w_1^2 + w_2^2 / 4 for positive w
    assert found.end_names[1] == "saddle"


def test_what_is_not_followed_is_open():
    rng = np.random.default_rng(7)
    found = align_pairs(A, softmax_forces(np.repeat([0, 1, 2], 3)), rng.normal(size=(40, 4)), rng.normal(size=(40, 3)),
                        max_seconds=1e-9)  # fmt: skip
    assert 0 < found.counts["open"] < 40
    assert "were not followed, for the time was spent" in found.why_open


def test_the_problem_and_its_refusals():
    data = Dataset(A, np.repeat([0, 1, 2], 3), classes=("a", "b", "c"))
    network = Network(w=RUN_S[0], v=RUN_S[1])
    problem = TrainingProblem(data, "softmax", network)
    assert align(problem).end_names == ["maximum"]
    assert pair_alignment_of(data, SoftmaxLoss(), network.w, network.v).classes == ("a", "b", "c")
    with pytest.raises(InvalidInputError, match="move by the loss alone for the alignment phase, got weight decay"):
        align(TrainingProblem(data, "softmax", network, weight_decay=0.1))
    with pytest.raises(InvalidInputError, match=r"`v` must have shape \(1, 3\), got \(1, 2\)"):
        align_pairs(A, softmax_forces(np.repeat([0, 1, 2], 3)), RUN_S[0], [[1.0, 2.0]])
    assert align(Experiment("three-points", width=5).problem()).counts["minimum"] == 0
