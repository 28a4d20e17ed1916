"""A run that was asked for a time is judged where it ends; the limit is solved for only where the run is near it."""

import json

import numpy as np
import pytest

import reluflow
import reluflow.certificates.pair_kkt
from reluflow.certificates.certify import certify
from reluflow.certificates.limits import certified_limit as solving
from reluflow.certificates.limits import limit_so_far as module
from reluflow.certificates.limits.limit_so_far import is_far_from_limit, limit_so_far
from reluflow.cli.main import run as run_command
from reluflow.data.dataset import Dataset
from reluflow.dynamics import CollocationFlow, EventDrivenFlow, GradientDescent, TrainingProblem
from reluflow.dynamics.stopping import AtTime, Exhausted, LossBelow
from reluflow.losses import LogisticLoss, SoftmaxLoss, SquareLoss


def toy_problem(*, loss=None):
    data = reluflow.load("min-toy")
    network = reluflow.balanced_initialization(data, width=10, scale=1e-3, rng=np.random.default_rng(0))
    return TrainingProblem(data, loss or LogisticLoss(), network)


@pytest.fixture
def no_search(monkeypatch):
    """Solving for a direction and for the best margin of any network is an error here."""

    def refuse(*_args, **_options):
        raise AssertionError("the limit was solved for")

    monkeypatch.setattr(solving, "nearest_direction", refuse)
    monkeypatch.setattr("reluflow.certificates.direction.network_margin", refuse)


def test_a_cut_run_is_judged_as_it_is(no_search):
    """357 digits to t = 100 took 4.5 s, and 33 s more to solve for a limit that nobody had asked for."""
    run = reluflow.train(toy_problem(), EventDrivenFlow(), until=AtTime(20.0))
    limit = limit_so_far(run)
    as_it_is = certify(run.network, run.problem.dataset, run.problem.loss, max_seconds=0.0)
    assert limit.certificate.kind.value == "not-stationary"
    assert limit.certificate.residuals == as_it_is.residuals
    assert limit.certificate.residuals["kkt"] > 1e-6
    assert limit.certificate.margin > 0.0
    assert np.isnan(limit.certificate.global_margin)
    assert np.isnan(limit.distance)
    assert not limit.is_proof
    assert "was not solved for" in limit.reason
    assert limit.network is run.network


def test_a_run_to_a_loss_is_one_that_did_what_it_was_asked(no_search):
    run = reluflow.train(toy_problem(), EventDrivenFlow(), until=LossBelow(0.05))
    assert "was not solved for" in limit_so_far(run).reason


def test_near_its_limit_it_is_solved_for():
    run = reluflow.train(toy_problem(), EventDrivenFlow(), until=AtTime(1e8))
    assert run.outcome.code == "horizon"
    assert not is_far_from_limit(run)
    limit, full = limit_so_far(run), reluflow.certified_limit(run)
    assert limit.certificate.kind is full.certificate.kind
    assert limit.certificate.kind.value == "max-margin"
    assert limit.distance == full.distance


def test_a_search_longer_than_the_run_is_not_made(no_search, monkeypatch):
    run = reluflow.train(toy_problem(), EventDrivenFlow(), until=AtTime(1e8))
    monkeypatch.setattr(module, "NUMBERS_PER_STEP", 0)
    assert is_far_from_limit(run)
    assert "was not solved for" in limit_so_far(run).reason


def test_a_short_descent_is_far_and_a_long_one_is_near():
    problem = toy_problem(loss=LogisticLoss(factor=50.0))
    short, long = (
        reluflow.train(problem, GradientDescent(lr=0.05, iterations=count), until=Exhausted(), max_seconds=20.0)
        for count in (9_000, 40_000)
    )
    assert np.min(short.predictions * problem.dataset.y) > 10.0
    assert is_far_from_limit(short)
    assert not is_far_from_limit(long)


def test_a_run_that_ended_by_itself_is_certified_as_before():
    problem = toy_problem(loss=SquareLoss())
    run = reluflow.train(problem, EventDrivenFlow())
    assert run.outcome.code == "stationary"
    limit, full = limit_so_far(run), reluflow.certified_limit(run)
    assert (limit.certificate.kind, limit.is_proof) == (full.certificate.kind, full.is_proof)


def test_a_sample_on_the_wrong_side_leaves_nothing_to_solve_for():
    run = reluflow.train(toy_problem(), EventDrivenFlow(), until=AtTime(0.01))
    assert np.min(run.predictions * run.problem.dataset.y) < 0.0
    assert not is_far_from_limit(run)
    limit, full = limit_so_far(run), reluflow.certified_limit(run)
    assert limit.certificate.kind.value == "not-stationary"
    assert limit.reason == full.reason
    assert limit.certificate.residuals == full.certificate.residuals


@pytest.fixture(scope="module")
def three_classes():
    """Three classes in the plane, trained until all are right but far from the end."""
    rng = np.random.default_rng(3)
    angles = np.repeat([0.3, 2.4, 4.5], 6)
    X = np.column_stack([np.cos(angles), np.sin(angles)]) + 0.15 * rng.standard_normal((18, 2))
    data = Dataset(X, np.repeat([0, 1, 2], 6), classes=("a", "b", "c"))
    network = reluflow.balanced_initialization(data, width=12, scale=1e-2, rng=rng)
    problem = TrainingProblem(data, SoftmaxLoss(), network)
    return reluflow.train(problem, CollocationFlow(rtol=1e-6), until=AtTime(60.0))


def test_several_outputs_are_judged_by_one_choice_of_slopes(three_classes, monkeypatch):
    """With three classes the slopes at kinks were searched for up to 200 rounds: 25 s after a run of 3 s."""
    rounds = []
    original = reluflow.certificates.pair_kkt._slopes_at_kinks
    monkeypatch.setattr(reluflow.certificates.pair_kkt, "_slopes_at_kinks", lambda *a: rounds.append(1) or original(*a))
    assert is_far_from_limit(three_classes)
    limit = limit_so_far(three_classes)
    assert not rounds
    assert limit.certificate.kind.value == "not-stationary"
    assert limit.certificate.multipliers.shape == (18, 3)
    full = reluflow.certified_limit(three_classes).certificate
    assert limit.certificate.margin == pytest.approx(full.margin, rel=1e-12)
    assert limit.certificate.residuals["kkt"] >= full.residuals["kkt"] * (1.0 - 1e-6)


def command_result(capsys, *words):
    with pytest.raises(SystemExit) as end:
        run_command(list(words))
    assert end.value.code == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_line_solves_where_asked(capsys):
    arguments = ["train", "min-toy", "--width", "10", "--until", "20", "--json"]
    quick = command_result(capsys, *arguments)
    full = command_result(capsys, *arguments, "--certify")
    assert quick["limit"]["kind"] == "not-stationary"
    assert quick["limit"]["residuals"]["kkt"] > 0.0
    assert quick["limit"]["distance"] is None
    assert full["limit"]["distance"] is not None
    assert quick["predictions"] == full["predictions"]
