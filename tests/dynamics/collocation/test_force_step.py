"""The parts of a collocated step: the clock, Newton's matrices, the tangent kernel."""

import numpy as np
import pytest

from reluflow import CollocationFlow, Dataset, LogisticLoss, TrainingProblem, balanced_initialization
from reluflow.dynamics.collocation.carried_neurons import RULE
from reluflow.dynamics.collocation.force_newton import FewModes, ForceNewton, stiff_samples
from reluflow.dynamics.collocation.force_step import StepStatus
from reluflow.dynamics.collocation.largest_modes import largest_modes
from reluflow.dynamics.collocation.tangent_kernel import TangentKernel
from reluflow.dynamics.shared.fading_clock import FadingClock
from reluflow.geometry.boundary.walls import Walls


def test_the_clock_of_a_fading_loss_is_exact():
    """R = exp(-b s): time is (e^(b s) - 1)/b, whatever the orders of magnitude."""
    for fall in (0.5, 30.0, 3000.0, 3e5):
        clock = FadingClock(RULE.nodes, -fall * np.concatenate([[0.0], RULE.nodes]), 2.0)
        taus = np.array([0.1, 0.7, 1.0])
        exact = np.log(2.0 / fall) + fall * taus + np.log1p(-np.exp(-fall * taus))
        np.testing.assert_allclose(clock.log_elapsed(taus), exact, atol=1e-11 * max(1.0, fall))
        assert clock.place_of(float(exact[1])) == pytest.approx(0.7, abs=1e-12)


@pytest.mark.parametrize("fall", [-500.0, -20.0, -0.1, 3.0, 80.0, 2e3])
def test_the_place_of_a_time_is_found_in_a_few_evaluations(fall, monkeypatch):
    """Bisection took 57 for each requested time, and these 40 % of a small run."""
    clock = FadingClock(RULE.nodes, -fall * np.concatenate([[0.0], RULE.nodes]), 2.0)
    found, asked = clock.log_elapsed, []
    monkeypatch.setattr(clock, "log_elapsed", lambda taus: asked.append(taus) or found(taus))
    for tau in (1e-8, 1e-3, 0.2, 0.7, 1.0):
        time = float(found(np.array([tau]))[0])
        asked.clear()
        at_place = float(found(np.array([clock.place_of(time)]))[0])
        assert at_place == pytest.approx(time, abs=1e-14 * max(1.0, abs(time)))
        assert len(asked) < 40


def test_the_clock_sees_all_time_that_passes_on_a_bent_way():
    rng = np.random.default_rng(0)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(0.0, 1.0, 100_001)
    for fall in (200.0, 5000.0, 30_000.0):
        powers = fall * np.concatenate([[0.0, 1.0], rng.uniform(-0.3, 0.3, 2) / [3.0, 4.0]])
        log_rates = -np.polynomial.polynomial.polyval(np.concatenate([[0.0], RULE.nodes]), powers)
        places = edges[:-1, None] + 0.5e-5 * (1.0 + nodes)
        values = np.polynomial.polynomial.polyval(places, powers)
        tops = np.max(values, axis=1)
        parts = tops + np.log(0.5e-5 * (np.exp(values - tops[:, None]) @ weights))
        taus = np.array([0.001, 0.2, 0.7, 1.0])
        exact = np.logaddexp.accumulate(parts)[np.rint(1e5 * taus).astype(int) - 1]
        found = FadingClock(RULE.nodes, log_rates, 1.0).log_elapsed(taus)
        np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-11)


def test_a_force_is_answered_with_the_size_of_later():
    """w' = a f x and h = a <w, x>, a = e^(0.75 t): late classifiers contracted by 0.25 without the size of later."""
    sizes = np.exp(1.5 * RULE.nodes)
    forces = 1.0 + RULE.nodes**2
    places, weights = np.polynomial.legendre.leggauss(20)
    for node, found in zip(RULE.nodes, RULE.grown(sizes).integration @ forces, strict=True):
        moments = 0.5 * node * (1.0 + places)
        moved = 0.5 * node * weights @ (np.exp(0.75 * moments) * (1.0 + moments**2))
        assert found == pytest.approx(np.exp(0.75 * node) * moved, rel=5e-4)


def test_the_modes_of_a_rule_that_grows_give_it_back():
    rule = RULE.grown(np.exp(RULE.nodes))
    back = np.real(rule.from_modes * rule.eigenvalues @ rule.to_modes)
    np.testing.assert_allclose(back, rule.integration, atol=1e-13)


def test_newton_follows_a_kernel_that_grows_along_the_step():
    """A classifier at late times contracted by 0.43 only, whatever matrix was made: its neurons grew in the step."""
    growth, stiffness = np.exp(1.5 * RULE.nodes), 1e4
    residual = np.ones((len(RULE.nodes), 1))
    rows, only, label = np.array([[stiffness]]), np.array([0]), np.ones(1)
    rule = RULE.grown(growth)
    exact = np.linalg.solve(np.eye(len(growth)) + rule.integration * stiffness, residual)
    np.testing.assert_allclose(ForceNewton(rule, rows, only, None, label, 1.0).solve(residual), exact, rtol=1e-9)
    without = ForceNewton(RULE, rows, only, None, label, 1.0).solve(residual)
    assert not np.allclose(without, exact, rtol=0.3)


def test_what_lasts_of_a_misfit_is_what_the_neurons_leave_of_it():
    """Both forms of Newton's matrix: (I + H mu J)^-1 of a misfit, mu the real eigenvalue of the rule."""
    rng = np.random.default_rng(0)
    n = 12
    root = rng.standard_normal((n, 3))
    kernel, labels, shares = 1e5 * root @ root.T, rng.choice([-1.0, 1.0], n), rng.dirichlet(np.ones(n))
    missed = rng.standard_normal((4, n))
    slope = np.diag(shares) - np.outer(shares * labels, labels * shares)
    exact = np.linalg.solve(np.eye(n) + 0.7 * RULE.eigenvalues[0].real * slope @ kernel, missed.T).T
    full = ForceNewton(RULE, shares[:, None] * kernel, np.arange(n), shares * labels, labels, 0.7)
    np.testing.assert_allclose(full.damped(missed), exact, atol=1e-8)
    values, vectors = np.linalg.eigh(kernel)
    few = FewModes(RULE, vectors[:, -3:], values[-3:], shares, shares * labels, labels, 0.7)
    np.testing.assert_allclose(few.damped(missed), exact, atol=1e-8)


def test_newton_matrices_agree_where_all_modes_are_kept():
    rng = np.random.default_rng(0)
    n = 12
    root = rng.standard_normal((n, 3))
    kernel, labels = root @ root.T, rng.choice([-1.0, 1.0], n)
    shares = rng.dirichlet(np.ones(n))
    residual = rng.standard_normal((len(RULE.nodes), n))
    kernel *= 1e5  # stiff enough for double precision
    full = ForceNewton(RULE, shares[:, None] * kernel, np.arange(n), shares * labels, labels, 0.7)
    values, vectors = np.linalg.eigh(kernel)
    few = FewModes(RULE, vectors[:, -3:], values[-3:], shares, shares * labels, labels, 0.7)
    answer = full.solve(residual)
    np.testing.assert_allclose(few.solve(residual), answer, atol=1e-9)
    slope = np.diag(shares) - np.outer(shares * labels, labels * shares)
    back = answer + 0.7 * RULE.integration @ answer @ (slope @ kernel).T
    np.testing.assert_allclose(back, residual, atol=1e-7)
    kernel /= 1e5
    soft = ForceNewton(RULE, shares[:, None] * kernel, np.arange(n), shares * labels, labels, 0.7).solve(residual)
    back = soft + 0.7 * RULE.integration @ soft @ (slope @ kernel).T
    np.testing.assert_allclose(back, residual, atol=1e-5)  # single precision


def test_what_newton_leaves_out_is_small_in_norm():
    rng = np.random.default_rng(3)
    root = rng.standard_normal((40, 40)) * np.geomspace(1.0, 1e-4, 40)[:, None]
    matrix = root @ root.T
    active = stiff_samples(np.diag(matrix))
    others = np.setdiff1d(np.arange(40), active)
    assert 0 < len(others) < 40
    assert np.linalg.norm(matrix[np.ix_(others, others)], 2) <= 0.02


def test_largest_modes_are_those_of_the_kernel():
    rng = np.random.default_rng(1)
    basis, _ = np.linalg.qr(rng.standard_normal((300, 300)))
    values = np.concatenate([np.geomspace(100.0, 1.0, 20), np.full(280, 1e-3)])
    modes, found = largest_modes((basis * values) @ basis.T, 0.01, None)
    np.testing.assert_allclose(found[:20], values[:20], rtol=1e-6)
    assert modes.shape[0] == 300


@pytest.mark.parametrize("moves_outputs", [True, False])
def test_factors_of_the_tangent_kernel_with_slides(moves_outputs):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((9, 3))
    walls = Walls.of(X)
    z = rng.standard_normal((5, 4))
    z[1, :3] -= (z[1, :3] @ walls.normals[2]) * walls.normals[2]
    basis, _ = np.linalg.qr(walls.normals[[4, 6]].T)
    z[3, :3] -= basis @ (basis.T @ z[3, :3])
    mass = rng.uniform(0.5, 2.0, 5)
    kernel = TangentKernel(z, mass, walls, 0.2, X, X @ X.T, moves_outputs=moves_outputs)
    samples = np.array([0, 2, 4, 5, 8])
    factors = kernel.factors(samples)
    assert factors.shape == (5, kernel.num_factors)
    np.testing.assert_allclose(factors @ factors.T, kernel.rows(samples)[:, samples], atol=1e-12)
    np.testing.assert_allclose(np.diag(kernel.whole()), kernel.diagonal(), atol=1e-12)


@pytest.fixture
def state():
    """Of a run at its start: thirty samples of two classes, twenty neurons."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    data = Dataset(X, np.sign(X[:, 0]))
    network = balanced_initialization(data, width=20, scale=1e-1, rng=rng)
    return CollocationFlow(rtol=1e-7).start(TrainingProblem(data, LogisticLoss(), network))._state


@pytest.mark.parametrize("height", [1e3, 1e9])
def test_forces_that_are_none_are_given_up(state, height):
    """Relative forces are shares. Newton's method once came to 1e11, and neurons zigzagged under them for minutes."""
    signs = (-1.0) ** np.arange(len(RULE.nodes))[:, None]
    wild = height * signs * np.random.default_rng(1).standard_normal((len(RULE.nodes), 30))
    found = state.force_step.solve(state.neurons, state.outputs, wild, 10.0, 1e-5, clock_tolerance=1e-5)
    assert found.status is StepStatus.TOO_LONG
    assert not found.misfit < np.inf
    assert np.max(found.paths.num_events) <= 101 * 31


def test_a_correction_that_makes_forces_none_is_not_followed(state, monkeypatch):
    """No neuron is carried through forces larger than a whole of which they are shares."""
    matrices = state.force_step._matrices
    monkeypatch.setattr(matrices, "correction", lambda carried, given_back, residual, *_, **__: 1e9 * residual)
    monkeypatch.setattr(state.force_step, "_hopeless_kink", lambda *_: np.inf)
    guess = np.tile(state.forces, (len(RULE.nodes), 1))
    found = state.force_step.solve(state.neurons, state.outputs, guess, state.step, 1e-9, clock_tolerance=1e-9)
    assert found.status is StepStatus.TOO_LONG
    assert found.misfit == np.inf
    assert state.force_step.iterations == 1


@pytest.mark.parametrize("num_samples", [40, 25])
def test_a_weighted_kernel_of_some_samples_is_that_of_its_rows(num_samples):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    walls, z = Walls.of(X), rng.standard_normal((5, 7))
    z[0, :-1] -= (z[0, :-1] @ walls.normals[3]) * walls.normals[3]  # it slides
    kernel = TangentKernel(z, rng.uniform(0.5, 1.0, 5), walls, 0.1, X, X @ X.T)
    samples = np.sort(rng.permutation(40)[:num_samples])
    weights = rng.uniform(0.0, 2.0, num_samples)
    found = kernel.among(samples, weights, np.empty(2000))
    np.testing.assert_allclose(found, weights[:, None] * kernel.rows(samples)[:, samples] * weights, atol=1e-12)


def test_a_step_past_a_kink_that_no_polynomial_follows_is_not_iterated_on(state):
    """Late classifiers in 784 dimensions found each heavy crossing by six steps that failed after four iterations."""
    step, at_rest = state.force_step, np.tile(state.forces, (len(RULE.nodes), 1))

    def solved(length):
        return step.solve(state.neurons, state.outputs, at_rest, length, 1e-9, clock_tolerance=1e-9)

    past = solved(state.step)
    assert past.status is StepStatus.KINKED
    assert 0.0 < past.stop < 1.0
    assert step.iterations == 0
    up_to = solved(state.step * past.stop * (1.0 + 1e-9))
    assert up_to.status is not StepStatus.KINKED
    assert step.iterations > 0
