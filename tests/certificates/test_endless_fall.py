"""Losses that no network attains: contradicting samples balance while others are fitted ever better."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar

import reluflow
from reluflow.certificates import endless_fall as module
from reluflow.certificates.certify import certify
from reluflow.certificates.endless_fall import UndecidedError, endless_fall, pattern_features
from reluflow.certificates.limits.levelling import LevelledOff, end_of_training, may_be_stiff

LOGISTIC = reluflow.LogisticLoss()
# the first two lie on one ray with different labels; the third is free of them
CONTRADICTION = reluflow.Dataset([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
BEST = minimize_scalar(lambda u: np.logaddexp(0, -2 * u) + np.logaddexp(0, u), tol=1e-14)


def network_at(second: float) -> reluflow.Network:
    """One neuron, the contradicting pair in balance, the third sample with this margin."""
    return reluflow.Network([[BEST.x, second]], [1.0])


@pytest.mark.parametrize("loss", [LOGISTIC, reluflow.ExponentialLoss()], ids=lambda loss: loss.name)
def test_a_loss_that_falls_for_ever_is_no_minimum_however_small_its_gradient(loss):
    # twenty of scikit-learn's moons ended so, and were called a local minimum, proved: the gradient was 3e-10
    best = minimize_scalar(lambda u: float(np.sum(loss.value([2 * u, u], [1, -1]))), bracket=(0.0, 1.0), tol=1e-14)
    network = reluflow.Network([[best.x, 40.0]], [1.0])
    certificate = certify(network, CONTRADICTION, loss)
    assert certificate.residuals["stationarity"] < 1e-8
    assert certificate.kind.value == "not-stationary"
    assert certificate.residuals["loss_at_infinity"] == pytest.approx(best.fun / 3, rel=1e-12)
    assert "1 of 3 samples is fitted ever better (3)" in " ".join(certificate.reasons)


def test_with_a_sample_against_it_the_same_point_has_a_minimum():
    # the forgery's other side: a fourth sample opposes the third, and the balance of both pairs is a minimum
    data = reluflow.Dataset([[2.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 1.0]], [1.0, -1.0, 1.0, -1.0])
    network = reluflow.Network([[BEST.x, BEST.x]], [1.0])
    assert endless_fall(network, data, LOGISTIC, np.zeros((1, 4), dtype=bool)) is None
    assert certify(network, data, LOGISTIC).kind.value in ("local-minimum", "global-minimum")


def test_along_the_fall_the_loss_falls_at_every_step():
    losses = [LOGISTIC.total(network_at(second).outputs(CONTRADICTION.X), CONTRADICTION.y) for second in range(1, 30)]
    assert np.all(np.diff(losses) < 0)
    assert losses[-1] > BEST.fun / 3


def test_a_neuron_on_a_boundary_moves_along_it_only():
    # its one way up, towards the third sample, leads off the boundary on which it stands
    kinks = np.array([[False, False, True]])
    assert endless_fall(network_at(0.0), CONTRADICTION, LOGISTIC, kinks) is None
    assert endless_fall(network_at(1.0), CONTRADICTION, LOGISTIC, np.zeros((1, 3), dtype=bool)) is not None


def test_what_is_too_large_is_left_open(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_SIZE", 1)
    with pytest.raises(UndecidedError, match="too many"):
        endless_fall(network_at(1.0), CONTRADICTION, LOGISTIC, np.zeros((1, 3), dtype=bool))
    certificate = certify(network_at(40.0), CONTRADICTION, LOGISTIC)
    assert not certificate.is_proved


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), leak=st.sampled_from([0.0, 0.3]), n=st.integers(3, 8), m=st.integers(1, 3))
def test_either_the_loss_falls_for_ever_or_positive_forces_cancel(seed, leak, n, m):
    # Stiemke's alternative, the other half by another program: forces, all positive, under which no pattern is pulled
    rng = np.random.default_rng(seed)
    data = reluflow.Dataset(rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], n))
    network = reluflow.Network(rng.normal(size=(m, 2)), rng.normal(size=m), leak=leak)
    none = np.zeros((m, n), dtype=bool)
    fall = endless_fall(network, data, LOGISTIC, none)
    slopes = np.where(network.pre_activations(data.X) > 0, 1.0, leak)
    pulls = np.hstack([slope[:, None] * data.y[:, None] * data.X for slope in slopes])
    found = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.hstack([-np.eye(n), np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=np.vstack([np.hstack([pulls.T, np.zeros((2 * m, 1))]), np.append(np.ones(n), 0.0)]),
        b_eq=np.append(np.zeros(2 * m), 1.0),
    )
    can_cancel = found.status == 0 and found.x[-1] > 1e-9
    assert (fall is None) == can_cancel


@given(seed=st.integers(0, 10_000))
def test_the_features_give_the_outputs_back(seed):
    rng = np.random.default_rng(seed)
    data = reluflow.Dataset(rng.normal(size=(6, 3)), rng.choice([-1.0, 1.0], 6))
    network = reluflow.Network(rng.normal(size=(2, 3)), rng.normal(size=2), leak=0.2)
    features = pattern_features(network, data, np.zeros((2, 6), dtype=bool))
    outputs = network.outputs(data.X)
    solution = np.linalg.lstsq(features, outputs, rcond=None)[0]
    np.testing.assert_allclose(features @ solution, outputs, atol=1e-12)


def test_a_run_whose_loss_levels_off_says_so_and_where():
    network = reluflow.Network([[0.3, 0.4], [0.2, -0.4]], [0.5, 0.44721359549995793])
    problem = reluflow.TrainingProblem(CONTRADICTION, LOGISTIC, network)
    assert may_be_stiff(problem)
    solver = reluflow.choose_flow(problem, to_the_end=True).solver  # event-driven steps crawl at the end
    assert isinstance(solver, reluflow.CollocationFlow)
    run = reluflow.train(problem, solver, until=end_of_training(problem))
    assert run.outcome.code == "levelled-off"
    assert 0.0 < run.loss - BEST.fun / 3 <= 1e-6 * run.loss
    limit = reluflow.certified_limit(run)
    assert limit.certificate.kind.value == "not-stationary"
    assert not limit.is_proof
    later = reluflow.train(problem, solver, until=10.0 * run.time)
    assert BEST.fun / 3 < later.loss < run.loss


def as_classes(data: reluflow.Dataset) -> reluflow.Dataset:
    return reluflow.Dataset(data.X, (data.y > 0).astype(int), classes=("no", "yes"))


def test_two_classes_fall_as_two_labels_do():
    """The softmax loss of outputs (-h/2, h/2) is the logistic loss of h."""
    network = network_at(1.0)
    twice = reluflow.Network(network.w, v=np.array([[-0.5, 0.5]]))
    none = np.zeros((1, 3), dtype=bool)
    one = endless_fall(network, CONTRADICTION, LOGISTIC, none)
    both = endless_fall(twice, as_classes(CONTRADICTION), reluflow.SoftmaxLoss(), none)
    assert both.samples.tolist() == one.samples.tolist()
    assert both.loss_at_infinity == pytest.approx(one.loss_at_infinity, rel=1e-12)
    opposed = reluflow.Dataset([[2.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 1.0]], [1.0, -1.0, 1.0, -1.0])
    none = np.zeros((1, 4), dtype=bool)
    assert endless_fall(twice, as_classes(opposed), reluflow.SoftmaxLoss(), none) is None


def three_classes() -> reluflow.Dataset:
    """Two classes contradict each other on one ray; the third, along another axis, is told from both ever better."""
    X = [[2.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    return reluflow.Dataset(X, [0, 1, 0, 2, 2], classes=("a", "b", "c"))


def test_no_three_classes_in_these_patterns_have_less_than_the_loss_at_infinity():
    data, loss = three_classes(), reluflow.SoftmaxLoss()
    network = reluflow.Network(np.ones((3, 2)), v=np.eye(3))
    fall = endless_fall(network, data, loss, np.zeros((3, 5), dtype=bool))

    def least(u):  # of the two classes on their ray, the third gone
        return float(np.logaddexp(0, -2 * u) + np.logaddexp(0, u) + np.logaddexp(0, -3 * u))

    best = minimize_scalar(least, bracket=(0.0, 1.0), tol=1e-14)
    assert fall.loss_at_infinity == pytest.approx(best.fun / 5, rel=1e-10)
    assert fall.samples.tolist() == [0, 1, 2, 3, 4]
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.0, 10.0):
        outputs = data.X @ (scale * rng.standard_normal((2, 3)))
        assert loss.total(outputs, data.y) > fall.loss_at_infinity


def test_a_run_of_several_classes_whose_loss_levels_off_says_so():
    """Standardised iris went on to a vanishing gradient for 8,000 steps, with 1e-9 of its loss left to fall by."""
    data, loss = three_classes(), reluflow.SoftmaxLoss()
    network = reluflow.balanced_initialization(data, width=12, scale=0.1, rng=np.random.default_rng(3))
    problem = reluflow.TrainingProblem(data, loss, network)
    run = reluflow.train(problem, reluflow.CollocationFlow(), until=end_of_training(problem))
    assert run.outcome.code == "levelled-off"
    limit = reluflow.certified_limit(run)
    assert not limit.is_proof
    floor = limit.certificate.residuals["loss_at_infinity"]
    assert 0.0 < run.loss - floor <= 1e-6 * run.loss
    assert "or less" in limit.reason
    later = reluflow.train(problem, reluflow.CollocationFlow(), until=10.0 * run.time)
    assert floor < later.loss < run.loss


def test_regression_and_separable_data_have_no_such_end():
    data = reluflow.load("three-points")
    network = reluflow.balanced_initialization(data, width=5, scale=1e-2, rng=np.random.default_rng(0))
    check = LevelledOff().start()
    problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    run = reluflow.EventDrivenFlow().start(problem)
    assert check(run) is None


def test_a_level_loss_is_no_end_while_a_neuron_is_still_growing():
    # beside a saddle the loss is level too: a light neuron may be about to leave it
    class Unsettled:
        def __init__(self, run):
            self._run = run

        def __getattr__(self, name):
            return getattr(self._run, name)

        def is_settled(self):
            return False

    told = []

    class BothWays(LevelledOff):
        def start(self):
            check = super().start()

            def ask(run):
                outcome = check(run)
                if outcome is not None:
                    told.append(LevelledOff().start()(Unsettled(run)))
                return outcome

            return ask

    network = reluflow.Network([[0.3, 0.4], [0.2, -0.4]], [0.5, 0.44721359549995793])
    problem = reluflow.TrainingProblem(CONTRADICTION, LOGISTIC, network)
    run = reluflow.train(problem, reluflow.CollocationFlow(), until=BothWays())
    assert run.outcome.code == "levelled-off"
    assert told == [None]
