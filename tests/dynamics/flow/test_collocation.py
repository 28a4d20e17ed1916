"""The flow by collocation against the event-driven flow, stored trajectories, descent, and other tolerances."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from dynamics.flow.problems_at_random import random_problem
from reluflow import balanced_initialization, certified_limit, load, train
from reluflow.data import Dataset
from reluflow.dynamics import CollocationFlow, EventDrivenFlow, GradientDescent, TrainingProblem, choose_flow
from reluflow.dynamics.flow import force_step
from reluflow.dynamics.flow.choice import FlowSolver, memory_of_collocation
from reluflow.dynamics.flow.fading_clock import FadingClock
from reluflow.dynamics.flow.force_newton import FewModes, ForceNewton, largest_modes, stiff_samples
from reluflow.dynamics.flow.sweep import RULE
from reluflow.dynamics.flow.tangent_kernel import TangentKernel
from reluflow.dynamics.stopping import AtTime, FirstOf, Stationary
from reluflow.dynamics.trajectory import Outcome
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.walls import Walls
from reluflow.losses import ExponentialLoss, LogisticLoss, SquareLoss, loss_named
from reluflow.network import Network
from reluflow.theory.limit import LimitIdentified

FIXTURES = Path(__file__).parent / "fixtures"
CASES = json.loads((FIXTURES / "flow_cases.json").read_text())["cases"]
DENSE = ("regression-80-8-120", "separable-200-40-40", "wine-130-13-40")
KINDS = ("refraction", "slide-entry", "slide-exit", "death", "ridge", "sign-change")


def distance(one, two):
    """Largest difference of a weight, relative to the largest weight where that exceeds 1."""
    size = max(1.0, float(np.max(np.abs(two.w))), float(np.max(np.abs(two.a))))
    return max(float(np.max(np.abs(one.w - two.w))), float(np.max(np.abs(one.a - two.a)))) / size


def teacher(n, d, m, *, seed=0, scale=1e-2, loss="square"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.maximum(X @ rng.standard_normal((d, 3)), 0.0) @ np.array([1.0, -1.0, 0.5]) / np.sqrt(d)
    if loss != "square":
        y = np.sign(X @ rng.standard_normal(d))
    data = Dataset(X, y)
    network = balanced_initialization(data, width=m, scale=scale, rng=rng)
    return TrainingProblem(data, loss_named(loss), network)


@pytest.mark.parametrize("name", CASES)
def test_stored_reference_trajectories(name):
    """Measured at rtol 1e-9: weights within 4.7e-10 of the references, outputs within 6.3e-10."""
    case = CASES[name]
    problem = TrainingProblem(
        Dataset(case["X"], case["y"]),
        loss_named(case["loss"], reduction="sum" if case["c"] == 1.0 else "mean"),
        Network(w=case["w"], a=case["a"], leak=case["gamma"]),
    )
    trajectory = train(problem, CollocationFlow(rtol=1e-9), until=AtTime(case["times"][-1]), times=case["times"])
    assert [snapshot.time for snapshot in trajectory.snapshots] == case["times"]
    for ours, theirs in zip(trajectory.snapshots, case["snapshots"], strict=True):
        assert distance(ours.network, Network(w=theirs["w"], a=theirs["a"])) < 2e-9
        np.testing.assert_allclose(ours.outputs, theirs["h"], atol=2e-9)
    assert trajectory.slides == case["info"]["slides"]
    assert trajectory.balancedness_drift < 1e-12


def compare(seed, rtol=1e-6):
    drawn = random_problem(seed)
    exact = train(drawn.problem, EventDrivenFlow(rtol=1e-10), until=AtTime(drawn.end))
    ours = train(drawn.problem, CollocationFlow(rtol=rtol), until=AtTime(drawn.end))
    return exact, ours


def same_events(exact, ours, *, rtol):
    """Whether both list the same events; pairs of entry and exit within sqrt(rtol) may be seen by one alone."""

    def listed(trajectory):
        events = sorted((e.neuron, e.sample, e.time, str(e.kind)) for e in trajectory.events)
        kept = []
        for event in events:
            if (
                kept
                and event[3] == "slide-exit"
                and kept[-1][:2] == event[:2]
                and kept[-1][3] == "slide-entry"
                and event[2] - kept[-1][2] < 30.0 * np.sqrt(rtol)
            ):
                kept.pop()
            else:
                kept.append(event)
        return sorted((neuron, sample, kind) for neuron, sample, _, kind in kept)

    return listed(exact) == listed(ours)


@pytest.mark.parametrize("seed", [*range(1, 216, 7), 182, 200])
def test_random_problems_as_the_event_driven_flow(seed):
    """Measured on all 216 at rtol 1e-6: weights within 2.4e-6, 97 % within 1e-6; 63 and 171 differ by a slide.

    In 182 nothing moves any more; in 200 a sample that no neuron acts on gives one at the origin a second way out, and
    the run went on past that ridge.
    """
    exact, ours = compare(seed)
    assert ours.outcome is exact.outcome
    assert distance(ours.network, exact.network) < 5e-6
    assert ours.time == pytest.approx(exact.time, rel=1e-4)
    assert ours.balancedness_drift < 1e-12
    assert same_events(exact, ours, rtol=1e-6)


@pytest.mark.slow
def test_all_random_problems():
    off, other_events = [], []
    for seed in range(216):
        exact, ours = compare(seed)
        assert ours.outcome is exact.outcome, seed
        off.append(distance(ours.network, exact.network))
        if not same_events(exact, ours, rtol=1e-6):
            other_events.append(seed)
    assert np.max(off) < 5e-6
    assert np.quantile(off, 0.95) < 1e-6
    assert len(other_events) <= 2, other_events


@pytest.mark.parametrize("name", DENSE)
def test_stored_cases_of_real_size(name):
    """Made by an independent collocation solver at tolerance 1e-6; `error` is its own estimate."""
    with np.load(FIXTURES / "dense_cases.npz") as stored:
        X, y, w0, a0, outputs, w, a = (stored[f"{name}/{key}"] for key in ("X", "y", "w0", "a0", "outputs", "w", "a"))
        loss, end, error = str(stored[f"{name}/loss"]), float(stored[f"{name}/T"]), float(stored[f"{name}/error"])
    problem = TrainingProblem(Dataset(X, y), loss_named(loss), Network(w=w0, a=a0))
    trajectory = train(problem, CollocationFlow(rtol=1e-7), until=AtTime(end))
    assert trajectory.outcome is Outcome.HORIZON
    allowed = 1e-7 * max(1.0, float(np.max(np.abs(outputs)))) + 5.0 * error
    np.testing.assert_allclose(trajectory.outputs[-1], outputs, atol=allowed)
    assert distance(trajectory.network, Network(w=w, a=a)) < allowed


def test_error_falls_with_the_tolerance():
    """Measured: 6.9e-7, 2.1e-7, 1.7e-8, 4.4e-10 (outputs, relative to the largest) at rtol 1e-5 ... 1e-8."""
    problem = teacher(20, 5, 30)
    exact = train(problem, EventDrivenFlow(rtol=1e-12), until=AtTime(20.0)).outputs[-1]
    errors = []
    for rtol in (1e-5, 1e-6, 1e-7, 1e-8):
        ours = train(problem, CollocationFlow(rtol=rtol), until=AtTime(20.0)).outputs[-1]
        errors.append(float(np.max(np.abs(ours - exact))) / float(np.max(np.abs(exact))))
        assert errors[-1] < rtol
    assert errors[-1] < 0.05 * errors[0]


def test_descent_tends_to_it():
    """n = 300, d = 50: descent comes closer in proportion to its step while neurons cross thousands of boundaries."""
    problem = teacher(300, 50, 20, loss="logistic")
    end = 4.0
    ours = train(problem, CollocationFlow(rtol=1e-8), until=AtTime(end))
    assert ours.crossings > 1000
    gaps = []
    for lr in (4e-3, 2e-3, 1e-3):
        descent = train(problem, GradientDescent(lr=lr, iterations=round(end / lr)), until=None)
        gaps.append(float(np.max(np.abs(descent.outputs[-1] - ours.outputs[-1]))))
    assert gaps[1] == pytest.approx(0.5 * gaps[0], rel=0.1)
    assert gaps[2] == pytest.approx(0.5 * gaps[1], rel=0.1)


@pytest.mark.parametrize("scale", ["1e-3", "1e-400"])
def test_any_scale_ends_where_the_event_driven_flow_ends(scale):
    data = load("three-points")
    network = balanced_initialization(data, width=60, scale=scale, rng=np.random.default_rng(0))
    problem = TrainingProblem(data, SquareLoss(), network)
    ours, exact = train(problem, CollocationFlow()), train(problem, EventDrivenFlow())
    assert ours.outcome is Outcome.STATIONARY
    assert ours.limit.is_polished
    np.testing.assert_allclose(ours.predictions, exact.predictions, atol=1e-12)
    assert ours.crossings == exact.crossings
    assert certified_limit(ours).certificate.kind == certified_limit(exact).certificate.kind
    for one, other in zip(ours.phases, exact.phases, strict=True):
        assert one.name == other.name
        assert one.start == pytest.approx(other.start, rel=0.02)


def test_a_classifier_comes_to_its_direction_in_a_few_hundred_steps():
    """Measured: 452 steps to ln t = 52,385. A problem of this size once took the event-driven flow 93,580 steps."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 5))
    data = Dataset(X, np.sign(X @ rng.standard_normal(5)))
    problem = TrainingProblem(data, LogisticLoss(), balanced_initialization(data, width=50, scale=1e-3, rng=rng))
    ours = train(problem, CollocationFlow(max_steps=1000), until=FirstOf((LimitIdentified(), Stationary())))
    assert ours.outcome is Outcome.DIRECTION_CONVERGED
    assert ours.log_time > 1000.0
    assert certified_limit(ours).is_proof


def test_samples_no_neuron_acts_on_do_not_hold_the_clock():
    """On wine some outputs are 0 for ever: with their forces in the rate, the others faded below it and time stood."""
    X = np.array([[1.0, 0.2], [0.9, -0.3], [-1.0, 0.1]])
    problem = TrainingProblem(Dataset(X, [1.0, 1.0, -1.0]), LogisticLoss(), Network(w=[[0.1, 0.0]], a=[0.1]))
    run = CollocationFlow().start(problem)
    while run.log_time < 2000.0 and run.steps < 300:
        run.advance(np.inf, 1)
    assert run.log_time >= 2000.0
    assert run.outputs()[2] == 0.0
    assert run.outputs()[0] == pytest.approx(run.log_time, rel=0.02)


def test_the_span_of_the_samples_is_all_that_moves():
    problem = teacher(6, 40, 8, scale=0.3)
    ours = train(problem, CollocationFlow(rtol=1e-8), until=AtTime(5.0))
    exact = train(problem, EventDrivenFlow(rtol=1e-10), until=AtTime(5.0))
    assert distance(ours.network, exact.network) < 1e-7


@pytest.mark.parametrize("ridge", ["positive", "negative", "stay"])
def test_ridges_are_passed_as_asked(ridge):
    data = Dataset([[1.0, 0.0], [0.3, 1.0]], [-1.0, 0.5])
    problem = TrainingProblem(data, SquareLoss(), Network(w=[[0.0, 0.3]], a=[-0.4]))
    ours = train(problem, CollocationFlow(rtol=1e-8, ridge=ridge), until=AtTime(3.0))
    exact = train(problem, EventDrivenFlow(rtol=1e-10, ridge=ridge), until=AtTime(3.0))
    assert ours.events.count("ridge") == exact.events.count("ridge")
    assert distance(ours.network, exact.network) < 1e-7


def test_the_clock_of_a_fading_loss_is_exact():
    """R = exp(-b s): time is (e^(b s) - 1)/b, whatever the orders of magnitude."""
    for fall in (0.5, 30.0, 3000.0, 3e5):
        clock = FadingClock(RULE.nodes, -fall * np.concatenate([[0.0], RULE.nodes]), 2.0)
        taus = np.array([0.1, 0.7, 1.0])
        exact = np.log(2.0 / fall) + fall * taus + np.log1p(-np.exp(-fall * taus))
        np.testing.assert_allclose(clock.log_elapsed(taus), exact, atol=1e-11 * max(1.0, fall))
        assert clock.place_of(float(exact[1])) == pytest.approx(0.7, abs=1e-12)


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


def test_factors_of_the_tangent_kernel_with_slides():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((9, 3))
    walls = Walls.of(X)
    z = rng.standard_normal((5, 4))
    z[1, :3] -= (z[1, :3] @ walls.normals[2]) * walls.normals[2]
    basis, _ = np.linalg.qr(walls.normals[[4, 6]].T)
    z[3, :3] -= basis @ (basis.T @ z[3, :3])
    kernel = TangentKernel(z, rng.uniform(0.5, 2.0, 5), walls, 0.2, X, X @ X.T)
    samples = np.array([0, 2, 4, 5, 8])
    factors = kernel.factors(samples)
    assert factors.shape == (5, kernel.num_factors)
    np.testing.assert_allclose(factors @ factors.T, kernel.rows(samples)[:, samples], atol=1e-12)
    np.testing.assert_allclose(np.diag(kernel.whole()), kernel.diagonal(), atol=1e-12)


def test_events_beyond_all_room_shorten_the_step(monkeypatch):
    """Room for events was doubled without bound: a neuron thrown to and fro by a bad guess asked for 34 GiB."""
    problem = _noisy_classes(0)
    exact = train(problem, CollocationFlow(rtol=1e-8), until=AtTime(10.0))
    monkeypatch.setattr(force_step, "_EVENT_ROOM", 1)
    monkeypatch.setattr(force_step, "_MOST_EVENTS", 0)
    ours = train(problem, CollocationFlow(rtol=1e-8), until=AtTime(10.0))
    assert ours.steps > exact.steps
    assert distance(ours.network, exact.network) < 1e-7


class TestTails:
    @pytest.mark.parametrize("loss", [SquareLoss(), LogisticLoss(), ExponentialLoss()])
    def test_a_fit_and_a_dead_neuron_are_followed_to_any_time(self, loss):
        """Where the forces are all rounding, the steps once fell to 1e-6 and stayed there; where one sample counts, the
        clock was interpolated across the moment at which a light neuron fits it."""
        labels = [1.0, -1.0] if loss.fades else [1.0, -0.5]
        data = Dataset([[1.0, 0.0], [0.5, 1.0]], labels)
        fitting = Network([[1.0, -0.5], [-1.0, 2.0]], [1.0, -0.0])
        dead_and_light = Network([[-1.0, -0.2], [1e-200, 0.5e-200]], [0.3, 1e-200])
        for network, end in ((fitting, 1e30), (dead_and_light, 1e12 if loss.fades else 1e3)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                run = train(TrainingProblem(data, loss, network), CollocationFlow(), until=AtTime(end), max_steps=400)
            assert run.outcome is Outcome.HORIZON
            assert run.times[-1] == end
            assert np.all(np.isfinite(run.outputs))

    def test_classes_that_overlap_come_to_rest(self):
        """Their forces stay while the pulls vanish: kept to a share of the forces, the gradient once never fell below
        3e-7 of them, and the run wandered for ever."""
        problem = _noisy_classes(2)
        trajectory = train(problem, CollocationFlow(), max_steps=220)  # 134, where wandering took 298
        assert trajectory.outcome is Outcome.STATIONARY
        exact = train(problem, EventDrivenFlow(), until=Stationary(atol=1e-5), max_steps=20_000)
        assert trajectory.loss == pytest.approx(exact.loss, rel=1e-3)

    def test_a_direction_that_still_turns_when_rounding_hides_the_forces_ends_the_run(self):
        trajectory = train(_noisy_classes(5), CollocationFlow(), max_steps=1000)
        assert trajectory.outcome is Outcome.ROUNDED
        assert trajectory.outcome.is_cut_short
        assert np.max(np.abs(trajectory.predictions)) > 1e8


def _noisy_classes(seed: int) -> TrainingProblem:
    """Fourteen points in the plane, half of whose labels are noise, and 40 neurons."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((14, 2))
    data = Dataset(X, np.where(X[:, 0] + 1.2 * rng.standard_normal(14) > 0, 1.0, -1.0))
    return TrainingProblem(data, LogisticLoss(), balanced_initialization(data, width=40, scale=0.1, rng=rng))


class TestChoice:
    def test_few_samples_and_many_neurons_stay_event_driven(self):
        data = load("three-points")
        network = balanced_initialization(data, width=2000, scale=1e-3, rng=np.random.default_rng(0))
        chosen = choose_flow(TrainingProblem(data, SquareLoss(), network))
        assert chosen.name is FlowSolver.EVENT_DRIVEN
        assert chosen.solver == EventDrivenFlow()
        assert "patterns" in chosen.reason

    def test_real_data_are_collocated(self):
        chosen = choose_flow(teacher(100, 10, 50), rtol=1e-6)
        assert chosen.solver == CollocationFlow(rtol=1e-6)
        assert "100 samples" in chosen.reason

    def test_a_named_solver_is_taken(self):
        assert choose_flow(teacher(100, 10, 50), solver="event-driven").name is FlowSolver.EVENT_DRIVEN
        with pytest.raises(InvalidInputError, match="`solver` must be one of auto, event-driven, collocation"):
            choose_flow(teacher(5, 2, 3), solver="magic")

    def test_memory_that_would_not_suffice_is_refused_before_the_run(self, monkeypatch):
        monkeypatch.setattr("reluflow.dynamics.flow.choice._free_memory", lambda: 1000)
        with pytest.raises(InvalidInputError, match=r"needs about [\d,]+ bytes of memory .* and 1,000 are free"):
            choose_flow(teacher(100, 10, 50))
        assert memory_of_collocation(12665, 784, 50) < 4_000_000_000


def test_settings_are_checked():
    for settings in ({"rtol": 0.0}, {"ridge": "jump"}, {"max_steps": 0}):
        with pytest.raises(InvalidInputError):
            CollocationFlow(**settings)


def test_losses_of_all_kinds_and_weights_of_neurons():
    """A neuron of weight 3 is three neurons."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, 3)), rng.choice([-1.0, 1.0], 8)
    w = 0.1 * rng.standard_normal((4, 3))
    a = np.linalg.norm(w, axis=1) * rng.choice([-1.0, 1.0], 4)
    for loss in (LogisticLoss(), ExponentialLoss(), SquareLoss()):
        one = TrainingProblem(Dataset(X, y), loss, Network(w=w, a=a, weight=[1.0, 3.0, 1.0, 2.0]))
        rows = [0, 1, 1, 1, 2, 3, 3]
        many = TrainingProblem(Dataset(X, y), loss, Network(w=w[rows], a=a[rows]))
        first = train(one, CollocationFlow(rtol=1e-9), until=AtTime(8.0))
        second = train(many, CollocationFlow(rtol=1e-9), until=AtTime(8.0))
        np.testing.assert_allclose(first.outputs[-1], second.outputs[-1], atol=1e-8)
