"""The contract of `dynamics/solver.py`, over every solver: a new one adds a line to SOLVERS."""

import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

from problems import small_problem
from reluflow import dynamics
from reluflow.data.dataset import Dataset
from reluflow.dynamics.checkpoint import Checkpoint
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent
from reluflow.dynamics.descent.stochastic_gradient_descent import StochasticGradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.event_driven.separated_flow import SeparatedFlow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import drift_between, gradient_of, misalignment_of, network_of
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Law, Outcome, TrainingInterrupted
from reluflow.errors import BackendError, InvalidInputError
from reluflow.losses import AbstractLoss, Formulas, LogisticLoss, SquareLoss
from reluflow.network import Network

SOLVERS = [
    EventDrivenFlow(),
    SeparatedFlow(),
    CollocationFlow(),
    GradientDescent(lr=1e-2, iterations=1500),
    GroupedGradientDescent(lr=1e-2, iterations=1500),
    StochasticGradientDescent(lr=1e-2, batch=2, iterations=1500, seed=4),
]


PROBLEMS = {
    "balanced": small_problem(width=30, scale=1e-2, seed=1),
    "unbalanced": small_problem("stewart-digitised", init="unbalanced", width=20, scale=1e-2, seed=1),
    "classifier": small_problem("phuong-toy", init="sphere", width=8, scale=1e-2, seed=1, loss=LogisticLoss()),
    "many-inputs": small_problem("orthogonally-separable:n=6,d=20", width=6, scale=1e-2, seed=1),  # by matrix products
}
PROBLEMS["decaying"] = dataclasses.replace(PROBLEMS["balanced"], weight_decay=0.05)
PROBLEMS["frozen"] = dataclasses.replace(PROBLEMS["unbalanced"], weight_decay=0.1, trains_output_layer=False)
END = AtTime(12.0)


@cache
def plain_run(solver, name):
    """The run of a problem without anything asked of it, once for all tests."""
    return train(PROBLEMS[name], solver, until=END)


every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def assert_same(one, two):
    """Bit by bit."""
    for field in ("times", "log_times", "losses", "outputs"):
        assert np.array_equal(getattr(one, field), getattr(two, field)), field
    for kept in ("snapshots", "frames"):
        pairs = zip(getattr(one, kept), getattr(two, kept), strict=True)
        assert all(np.array_equal(a.network.w, b.network.w) and a.step == b.step for a, b in pairs), kept
    assert np.array_equal(one.network.w, two.network.w)
    assert np.array_equal(one.network.a, two.network.a)
    assert list(one.events) == list(two.events)
    assert (one.steps, one.time, one.outcome) == (two.steps, two.time, two.outcome)


def test_no_solver_is_left_out():
    for module in pkgutil.walk_packages(dynamics.__path__, "reluflow.dynamics."):
        importlib.import_module(module.name)
    found, families = set(), [AbstractSolver]
    while families:
        known = families.pop().__subclasses__()
        families += known
        found |= {kind for kind in known if kind.__module__.startswith("reluflow.") and not inspect.isabstract(kind)}
    assert found == {type(solver) for solver in SOLVERS}


@every_solver
def test_a_solver_is_a_frozen_dataclass_that_names_its_law(solver):
    assert isinstance(solver, AbstractSolver)
    assert dataclasses.is_dataclass(solver)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(solver, dataclasses.fields(solver)[0].name, 1.0)
    for field in dataclasses.fields(solver):
        assert f"{field.name}={getattr(solver, field.name)!r}" in repr(solver)
    assert pickle.loads(pickle.dumps(solver)) == solver
    assert solver.law in Law
    assert solver.describe()


@every_solver
@every_problem
def test_snapshots_stand_at_exact_times_and_iterations(solver, name):
    task = PROBLEMS[name]
    times = [0.0, 0.1, 1.0 / 3.0, 7.777]
    run = train(task, solver, until=END, keep=Keep(times=times, iterations=[1, 5]))
    assert run.time == END.time
    assert [s.time for s in run.snapshots if s.time in times] == times
    assert all(s.time in times or s.step in (1, 5) for s in run.snapshots)  # a long step may end at a time of the list
    assert {1, 5} <= {s.step for s in run.snapshots}
    for snapshot in run.snapshots:
        expected = snapshot.network.outputs(task.dataset.X)
        assert snapshot.outputs == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert snapshot.loss == task.loss.total(snapshot.outputs, task.dataset.y)


@every_solver
def test_advance_takes_a_step_and_no_more_than_it_may(solver):
    run = solver.start(PROBLEMS["balanced"])
    for most_steps, ahead in ((1, np.inf), (3, np.inf), (10**6, 0.5), (10**6, 0.0003)):
        before, limit = run.steps, run.time + ahead
        run.advance(limit, most_steps)
        assert run.steps - before <= most_steps
        assert run.steps > before or run.time == limit
        assert run.time <= limit
    assert run.outcome is None
    assert run.log_time == pytest.approx(np.log(run.time))


@every_solver
@every_problem
def test_reading_changes_no_later_number(solver, name):
    plain = plain_run(solver, name)

    def pry(run):
        run.network(), run.outputs(), run.gradient(), run.is_settled(), run.misalignment(), run.balancedness_drift()

    watched = train(PROBLEMS[name], solver, until=END, progress=pry)
    assert_same(watched, plain)
    for record, again in zip(watched.outputs, plain.outputs, strict=True):
        assert np.array_equal(record, again)


@every_solver
@pytest.mark.parametrize(
    ("name", "evenly"), [*((name, "change") for name in PROBLEMS), ("balanced", "steps"), ("decaying", "steps")]
)
def test_resumed_run_equals_the_uninterrupted_one(tmp_path, solver, name, evenly):
    task = PROBLEMS[name]
    keep = Keep(times=[2.0], iterations=[7], thinned=20, evenly=evenly)
    whole = train(task, solver, until=END, keep=keep)
    checkpoint = Checkpoint(tmp_path / "run.checkpoint", seconds=0.02)  # some on the way, and one where it is ended
    for share in (3, 2):

        def interrupt(run, share=share):
            if run.steps >= whole.steps // share:
                raise KeyboardInterrupt

        with pytest.raises(TrainingInterrupted) as raised:
            train(task, solver, until=END, keep=keep, checkpoint=checkpoint, progress=interrupt)
        part = raised.value.trajectory
        assert part.outcome is Outcome.INTERRUPTED
        assert checkpoint.path.exists()
        assert np.array_equal(part.losses, whole.losses[: len(part.losses)])
    assert_same(train(task, solver, until=END, keep=keep, checkpoint=checkpoint), whole)
    assert not checkpoint.path.exists()


OTHERWISE = {
    "rtol": 1e-8,
    "ridge": "positive",
    "max_steps": 4321,
    "lr": 2e-2,
    "iterations": 1499,
    "slope_at_zero": 0.5,
    "loss_scaled": True,
    "batch": 1,
    "epochs": 7,
    "seed": 5,
    "trains_output_layer": False,
    "device": "gpu",
}


@every_solver
def test_a_run_is_not_resumed_with_any_other_setting(tmp_path, solver):
    task, checkpoint = PROBLEMS["balanced"], Checkpoint(tmp_path / "run.checkpoint")

    def interrupt(run):
        if run.steps == 2:
            raise KeyboardInterrupt

    with pytest.raises(TrainingInterrupted):
        train(task, solver, until=END, checkpoint=checkpoint, progress=interrupt)
    for field in dataclasses.fields(solver):
        changes = {field.name: OTHERWISE[field.name]} | ({"iterations": None} if field.name == "epochs" else {})
        with pytest.raises(InvalidInputError, match="checkpoint of another run, which had another `solver`;"):
            train(task, dataclasses.replace(solver, **changes), until=END, checkpoint=checkpoint)
    assert train(task, solver, until=END, checkpoint=checkpoint).time == END.time


@pytest.mark.parametrize("solver", [EventDrivenFlow(), CollocationFlow()], ids=lambda solver: type(solver).__name__)
def test_a_neuron_whose_square_underflows_keeps_its_direction(solver):
    """It became the zero neuron, to which every way is open, and a minimum was called a saddle."""
    data = Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    network = Network([[1.0, 1.0], [-3e-200, -4e-200]], [np.sqrt(2.0), 5e-200])
    end = train(TrainingProblem(data, SquareLoss(), network), solver, until=AtTime(3.0)).network
    np.testing.assert_allclose([*end.w[1] * 1e200, end.a[1] * 1e200], [-3.0, -4.0, 5.0], rtol=1e-9)


def test_a_neuron_too_light_for_a_double_keeps_its_direction():
    z = np.array([[0.6, 0.0, 0.8], [-0.6, 0.8, 0.0]])
    network = network_of(z, np.array([0.0, -800.0]), 0.0, np.ones(2))
    np.testing.assert_allclose(network.w[1] * np.exp(690.0), [-0.6, 0.8], rtol=1e-9)


@every_solver
def test_ctrl_c_within_a_step_gives_the_last_whole_state(monkeypatch, solver):
    """A run that stopped in the middle of a step is not read: the state kept a moment ago stands for it."""
    monkeypatch.setattr("reluflow.dynamics.train._SECONDS_BETWEEN_MARKS", 0.0)
    monkeypatch.setattr("reluflow.dynamics.train._MARKS_SHARE", np.inf)
    task = PROBLEMS["balanced"]
    last = train(task, solver, until=END, times=[0.05]).steps // 2
    kind = type(solver.start(task))
    advance = kind.advance

    def torn(self, limit, most_steps):
        advance(self, limit, most_steps)
        if self.steps > last:
            raise KeyboardInterrupt

    monkeypatch.setattr(kind, "advance", torn)
    with pytest.raises(TrainingInterrupted) as raised:
        train(task, solver, until=END, keep=Keep(times=[0.05], iterations=[last]))
    monkeypatch.undo()
    part = raised.value.trajectory
    assert (part.steps, part.time) == (last, part.times[-1])
    whole = train(task, solver, until=END, keep=Keep(times=[0.05], iterations=[last])).snapshots[-1]
    assert whole.step == last
    assert np.array_equal(part.network.w, whole.network.w)
    assert part.time == whole.time
    assert [s.step for s in part.snapshots][-1] == last
    assert len(part.snapshots) == 2
    assert np.all(part.events.times <= part.time)


@every_solver
def test_numbers_that_are_not_finite_are_refused(monkeypatch, solver):
    task = PROBLEMS["balanced"]
    kind = type(solver.start(task))
    outputs = kind.outputs
    monkeypatch.setattr(kind, "outputs", lambda self: outputs(self) if self.steps < 5 else np.full(3, np.nan))
    with pytest.raises(BackendError, match="must have finite outputs, got nan at step 5"):
        train(task, solver, until=END)


@every_solver
@every_problem
def test_what_the_law_keeps_is_kept(solver, name):
    task, run = PROBLEMS[name], plain_run(solver, name)
    assert np.all(np.isfinite(run.outputs))
    assert np.all(np.diff(run.times) >= 0)
    assert run.losses[-1] < run.losses[0]
    if solver.law is Law.FLOW:
        assert run.balancedness_drift < 1e-10
        assert np.all(np.diff(run.losses) <= 1e-12 * run.losses[0])
    elif task.trains_output_layer:
        assert run.balancedness_drift < 0.1
    order = np.random.default_rng(0).permutation(task.network.num_neurons)
    other = train(dataclasses.replace(task, network=task.network.permuted(order)), solver, until=END)
    np.testing.assert_allclose(other.network.w, run.network.permuted(order).w, rtol=1e-6, atol=1e-8)


@every_solver
def test_what_a_solver_derives_in_its_own_way_agrees_with_the_definition(solver):
    task = PROBLEMS["balanced"]
    seen = []

    def compare(run):
        if run.steps % 10 == 3:
            network, outputs = run.network(), run.outputs()
            known, own = gradient_of(task, network, outputs), run.gradient()
            seen.append(run.steps)
            assert (own.log_norm, own.turning) == pytest.approx((known.log_norm, known.turning), abs=1e-6)
            assert run.misalignment() == pytest.approx(misalignment_of(task, network, outputs), abs=1e-6)
            assert run.balancedness_drift() == pytest.approx(drift_between(task.network, network), abs=1e-9)

    train(task, solver, until=AtTime(1.0), progress=compare)
    assert seen


@dataclasses.dataclass(frozen=True)
class SquaredHingeLoss(AbstractLoss):
    name: ClassVar[str] = "squared-hinge"
    is_classification: ClassVar[bool] = True

    @property
    def formulas(self):
        return Formulas(
            value=lambda h, y: 0.5 * np.maximum(0.0, 1.0 - y * h) ** 2,
            force=lambda h, y: y * np.maximum(0.0, 1.0 - y * h),
            curvature=lambda h, y: np.where(y * h < 1.0, 1.0, 0.0),
            log_force=lambda h, y: np.log(np.maximum(0.0, 1.0 - y * h)),
            log_curvature=lambda h, y: np.where(y * h < 1.0, 0.0, -np.inf),
        )


def test_a_classifier_whose_forces_are_all_zero_has_the_gradient_zero():
    """The forces of a loss that does not fade were taken relative to their sum, here 0: the gradient was nan."""
    task = dataclasses.replace(PROBLEMS["classifier"], loss=SquaredHingeLoss())
    fitted = gradient_of(task, task.network, 2.0 * np.asarray(task.dataset.y))
    assert (fitted.norm, fitted.log_rate) == (0.0, 0.0)


def test_a_neuron_on_a_wall_to_rounding_is_not_active():
    """A neuron that had died on a wall, 4e-17 off it, was pulled by the samples of that wall in the reading alone."""
    data = Dataset([[1.0, 3.0], [1.0, -1.0]], [1.0, -1.0])
    pulls = []
    for off in (-4e-17, 0.0, 4e-17):
        network = Network(w=[[-0.3 + off, 0.1]], a=[0.5])
        task = TrainingProblem(data, SquareLoss(), network)
        pulls.append(gradient_of(task, network, np.zeros(2)).norm)
    assert pulls == [0.0, 0.0, 0.0]


def test_three_methods_make_a_run():
    """Everything else is derived."""
    assert AbstractRun.__abstractmethods__ == {"advance", "network", "outputs"}
