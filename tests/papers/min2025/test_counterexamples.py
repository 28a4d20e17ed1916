"""Proposition 1 as printed is false: CE1 and CE2 meet its hypotheses, and a neuron of class 1 leaves for class 2.

The runs are checked by the library's flow, by an integrator that shares nothing with it, and by descent as its step
goes to 0; the hypotheses of the first in exact arithmetic, those of the second and the alignment flow of both in
`test_exact_counterexamples.py`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from papers.min2025.piecewise_flow import descend, follow, loss
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.papers.min2025 import starts
from reluflow.papers.min2025.alignments import Alignments
from reluflow.papers.min2025.class_geometry import ClassGeometry
from reluflow.theory.check import check
from reluflow.theory.verdict import VerdictKind

TIMES = (1.0, 3.0, 10.0, 100.0, 1000.0)
GOLDEN_LOSSES = (6.519274252, 2.246030451, 1.142171455, 1.099720208, 1.098690811)


def materialized(problem):
    network = problem.network.materialized()
    return problem.dataset.X, problem.dataset.y.astype(int), network.w, network.v


@pytest.fixture(scope="module")
def first():
    """CE1 by the library, to t = 1000."""
    return train(starts.counterexample_1(), CollocationFlow(rtol=1e-11), until=Exhausted(), times=TIMES, horizon=1000.0)


def test_the_first_meets_the_printed_hypotheses_exactly():
    """In rational numbers: squares are compared where lengths are roots."""
    F = Fraction
    X = [(F(1), F(0)), (F(-8, 17), F(15, 17)), (F(-8, 17), F(-15, 17))]
    sizes = (1, 5, 1)
    assert all(x * x + y * y == 1 for x, y in X)  # all lengths are 1, so that cosines are products
    products = {(i, j): X[i][0] * X[j][0] + X[i][1] * X[j][1] for i in range(3) for j in range(i)}
    mu_d = -max(products.values())
    assert mu_d == F(8, 17)
    assert 1 / mu_d == F(17, 8)
    assert 1 / mu_d < 3  # Xmax = Xmin, mu_s = 1: every reading of the condition is 17/8 < 2K - 3 = 3
    w, v = (F(5), F(3)), (F(4), F(1), F(-5))
    assert sum(v) == 0  # so that |etilde-part| is all of v
    al = [max(x * w[0] + y * w[1], F(0)) for x, y in X]
    A = [size * value for size, value in zip(sizes, al, strict=True)]  # times sqrt(34)
    assert [F(5), F(25, 17), F(0)] == A
    assert A[0] > 2 * (A[1] + A[2])
    # B_c = v_c/(kappa |v|) as 1^T v = 0: B_1 >= 3/4 asks v_1^2/(kappa^2 |v|^2) >= 9/16 with kappa^2 = 2/3, |v|^2 = 42
    B_squared = [F(c) ** 2 / (F(2, 3) * 42) for c in v]
    assert B_squared[0] == F(4, 7)
    assert B_squared[0] >= F(9, 16)
    assert v[0] > 0
    # Lemma 6 as printed would give B_2 <= 2(1 - B_1) - 1/2 <= 0: B_2 is positive
    assert v[1] > 0


def test_the_floats_are_those_of_the_exact_case():
    problem = starts.counterexample_1()
    found = Alignments.of(problem.network, ClassGeometry.of(problem.dataset))
    np.testing.assert_allclose(found.A[0], [0.8574929, 0.2522038, 0.0], atol=5e-8)
    np.testing.assert_allclose(found.B[0], [0.7559289, 0.1889822, -0.9449112], atol=5e-8)
    assert np.all(found.printed_start().max(axis=1) > 0.0)
    assert np.array_equal(np.argmax(found.printed_start(), axis=1), [0, 1, 2])
    assert found.semi_local_start()[0].max() < 0.0  # neither repair takes it
    assert found.exclusive_start()[0].max() < 0.0


def test_a_neuron_of_class_1_leaves_it_for_class_2(first):
    np.testing.assert_allclose([s.loss for s in first.snapshots], GOLDEN_LOSSES, rtol=5e-10)
    (left,) = [e for e in first.events if e.neuron == 0 and e.sample == 0]
    assert left.time == pytest.approx(1.138315741, abs=2e-9)
    end = Alignments.of(first.snapshots[-1].network, ClassGeometry.of(first.problem.dataset))
    assert end.full_classes.tolist() == [1, 1, 2]
    assert not end.fires[:, 0].any()  # no neuron will ever learn class 1 again: output 0 on its sample
    assert np.all(first.snapshots[-1].outputs[0] == 0.0)
    assert first.snapshots[-1].loss > np.log(3.0)  # the loss of one sample at output 0, and no more in the limit
    excess = [s.loss - np.log(3.0) for s in first.snapshots[2:]]
    assert excess[1] < 0.05 * excess[0]
    assert excess[2] < 0.1 * excess[1]


def test_another_integrator_says_the_same(first):
    X, labels, w, v = materialized(first.problem)
    states, crossings = follow(X, labels, w, v, [1.0, 3.0, 10.0])
    np.testing.assert_allclose([loss(X, labels, *z) for z in states], GOLDEN_LOSSES[:3], rtol=2e-9)
    for (w2, v2), snapshot in zip(states, first.snapshots, strict=False):
        network = snapshot.network.materialized()
        np.testing.assert_allclose(network.w, w2, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(network.v, v2, rtol=1e-6, atol=1e-8)
    (left,) = [time for time, j, k, now in crossings if (j, k, now) == (0, 0, 0)]
    assert left == pytest.approx(1.138315741, abs=2e-9)


def test_descent_tends_to_it_as_its_step_goes_to_0(first):
    """Errors at t = 3 fall by half with the step: first order, and to the flow's own number."""
    X, labels, w, v = materialized(first.problem)
    losses = [loss(X, labels, *descend(X, labels, w, v, lr, round(3.0 / lr))) for lr in (2e-3, 1e-3, 5e-4)]
    errors = np.abs(np.array(losses) - GOLDEN_LOSSES[1])
    ratios = errors[:-1] / errors[1:]
    assert np.all((ratios > 1.9) & (ratios < 2.1)), ratios
    assert 2.0 * losses[2] - losses[1] == pytest.approx(GOLDEN_LOSSES[1], abs=2e-3 * errors[2] + 1e-4)


@pytest.mark.parametrize("scale", [1e-2, 1e-4, 1e-8])
def test_it_is_no_matter_of_the_scale(scale):
    """As the scale vanishes the neuron leaves class 1 at the frozen flow's 1.0871665."""
    run = train(starts.counterexample_1(scale), CollocationFlow(rtol=1e-10), until=2.0)
    (left,) = [e.time for e in run.events if e.neuron == 0 and e.sample == 0]
    limit = 1.0871665
    assert left > limit - 1e-6
    if scale <= 1e-4:
        assert left == pytest.approx(limit, abs=2e-5)
    if scale == 1e-8:
        assert left == pytest.approx(limit, abs=2e-7)


@pytest.mark.parametrize("problem", [starts.counterexample_1, starts.counterexample_2])
@pytest.mark.parametrize("key", ["min2025:prop1", "min2025:prop3", "min2025:lemma4"])
def test_neither_counterexample_is_presented_as_covered(key, problem):
    assert check(key, problem()).kind is VerdictKind.NOT_APPLICABLE


def test_the_second_has_every_other_alignment_negative_and_is_lost_too():
    """B_1 is above the sharp threshold sqrt(3)/2 of Lemma 6, all B_c' < 0, and 100 samples of class 2 win."""
    problem = starts.counterexample_2()
    geometry = ClassGeometry.of(problem.dataset)
    start = Alignments.of(problem.network, geometry)
    assert geometry.mu_s == pytest.approx(1.0, abs=1e-14)
    assert geometry.mu_d == pytest.approx(0.36, abs=1e-14)
    np.testing.assert_allclose(start.A[0], [0.732, 0.0, 0.329], atol=1e-3)
    assert start.B[0, 0] > np.sqrt(3.0) / 2.0
    assert np.all(start.B[0, 1:] < 0.0)
    assert np.all(start.printed_start().max(axis=1) > 0.0)
    assert 1.0 / 0.36 < 3.0  # the printed data condition
    times = [6.0, 100.0, 1000.0]
    run = train(problem, CollocationFlow(rtol=1e-10), until=Exhausted(), times=times, horizon=1000.0)
    on = [e.time for e in run.events if e.neuron == 0 and e.sample == 1]
    off = [e.time for e in run.events if e.neuron == 0 and e.sample == 0]
    assert len(on) == len(off) == 1
    assert on[0] < off[0] == pytest.approx(0.08587, abs=1e-5)
    assert Alignments.of(run.snapshots[-1].network, geometry).full_classes.tolist() == [1, 1, 2]
    excess = [s.loss - np.log(3.0) for s in run.snapshots]
    assert 0.0 < excess[2] < 0.1 * excess[1] < 0.01 * excess[0]
    X, labels, w, v = materialized(problem)
    _, crossings = follow(X, labels, w, v, [0.1])
    met = {(j, k): t for t, j, k, now in crossings}
    assert met[0, 0] == pytest.approx(off[0], rel=1e-7)
    assert met[0, 1] == pytest.approx(on[0], rel=1e-3, abs=1e-9)


def test_descent_loses_the_second_too_as_its_step_goes_to_0():
    """Its first neuron at t = 0.12, in class 2 by then: the error falls by half with the step, to the flow's value."""
    X, labels, w, v = materialized(starts.counterexample_2())
    ((exact, _),), _ = follow(X, labels, w, v, [0.12])
    found = [descend(X, labels, w, v, lr, round(0.12 / lr))[0] for lr in (2e-4, 1e-4, 5e-5)]
    assert all(np.array_equal(one[0] @ X.T > 0.0, labels == 1) for one in found)
    size = np.linalg.norm(exact[0])
    errors = np.array([np.linalg.norm(one[0] - exact[0]) / size for one in found])
    assert np.all((errors[:-1] / errors[1:] > 1.8) & (errors[:-1] / errors[1:] < 2.2)), errors
    assert np.linalg.norm(2.0 * found[2][0] - found[1][0] - exact[0]) < 0.2 * errors[2] * size


def test_copies_of_the_neuron_go_the_same_way():
    """0.02 rad to either side: what is lost is no matter of one point."""
    problem = starts.counterexample_1()
    w, v = problem.network.w, problem.network.v
    for angle in (-0.02, 0.02):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        beside = np.vstack([w, turn @ w[0]])
        network = starts.balanced(beside, np.vstack([v, v[0]]), 1e-2)
        run = train(starts.problem_of(problem.dataset, network), CollocationFlow(rtol=1e-10), until=20.0, times=[20.0])
        end = Alignments.of(run.snapshots[-1].network, ClassGeometry.of(problem.dataset))
        assert end.full_classes.tolist() == [1, 1, 2, 1]
