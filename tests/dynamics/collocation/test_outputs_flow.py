"""The flow with several outputs and an output bias: references, an independent integrator, and what it conserves."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reluflow import (
    Dataset,
    ExponentialLoss,
    GradientDescent,
    LogisticLoss,
    Network,
    SoftmaxLoss,
    SquareLoss,
    TrainingProblem,
    train,
)
from reluflow.dynamics import CollocationFlow
from reluflow.dynamics.checkpoint import Checkpoint
from reluflow.dynamics.collocation import newton_matrices
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.flow_choice import choose_flow
from reluflow.errors import InvalidInputError

from ..reference_outputs_flow import Inconclusive, OutputsReference

# Six flows made by an independent integrator (piecewise DOP853 at rtol 1e-13, an event per neuron and sample), which
# descent approaches at first order: `Y` one-hot for softmax, reduction mean, bias 0 at the start where it is trained.
CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "multi_output_cases.json").read_text())
LOSSES = {"square": SquareLoss, "softmax": SoftmaxLoss, "logistic": LogisticLoss, "exponential": ExponentialLoss}
EXACT = CollocationFlow(rtol=1e-10)


def problem_of(X, Y, loss, w, v, *, leak=0.0, b=None, trains_bias=True, **fields):
    """Targets Y (n, K) are one-hot rows for softmax."""
    if loss == "softmax":
        data = Dataset(X, np.argmax(Y, axis=1), classes=[f"class {c}" for c in range(Y.shape[1])])
    else:
        data = Dataset(X, Y)
    network = Network(w, v=v, b=b, leak=leak)
    return TrainingProblem(data, LOSSES[loss](), network, trains_output_bias=trains_bias, **fields)


def at_random(seed, *, loss=None, num_outputs=None, bias=None):
    """A small problem, with targets (n, K) beside it."""
    rng = np.random.default_rng(seed)
    loss = loss or ["square", "softmax", "softmax", "logistic", "square", "exponential"][seed % 6]
    num_outputs = num_outputs or (1 if loss in ("logistic", "exponential") else int(rng.integers(2, 6)))
    n, d, m = int(rng.integers(3, 8)), int(rng.integers(2, 4)), int(rng.integers(2, 6))
    X, leak = rng.normal(size=(n, d)), float(rng.choice([0.0, 0.2, 0.5]))
    if loss == "softmax":
        Y = np.eye(num_outputs)[rng.integers(0, num_outputs, n)]
    elif loss == "square":
        Y = rng.normal(size=(n, num_outputs))
    else:
        Y = rng.choice([-1.0, 1.0], size=(n, 1))
    w, v = 0.7 * rng.normal(size=(m, d)), 0.7 * rng.normal(size=(m, num_outputs))
    v *= (1.1 * np.linalg.norm(w, axis=1) / np.linalg.norm(v, axis=1))[:, None]
    bias = bias or ["none", "fixed", "train"][int(rng.integers(3))]
    b = None if bias == "none" else 0.3 * rng.normal(size=num_outputs)
    return problem_of(X, Y, loss, w, v, leak=leak, b=b, trains_bias=bias == "train"), Y


def difference(network, reference):
    w, v = network.w - reference.w, network.v - reference.v
    return max(
        np.max(np.abs(w)), np.max(np.abs(v)), 0.0 if network.b is None else np.max(np.abs(network.b - reference.b))
    )


def agrees_with_the_integrator(problem, Y, end=4.0):
    network = problem.network
    start = np.zeros(problem.num_outputs) if network.b is None else network.b
    reference = OutputsReference(
        *(problem.dataset.X, Y, problem.loss.name, network.leak, network.w, network.v, start),
        trains_bias=problem.moves_output_bias,
        decay=problem.weight_decay,
        trains_outputs=problem.trains_output_layer,
    )
    found = train(problem, EXACT, until=end, max_steps=3000)
    if found.outcome.code == "max-steps" and np.min(np.linalg.norm(found.network.w, axis=1)) <= 1e-9:
        raise Inconclusive("a neuron rests at the origin, on more boundaries than there are dimensions")
    assert found.outcome.code == "horizon"  # no ridge: who arrives at a boundary meets none
    reference.run(end)
    assert difference(found.network, reference) <= 1e-8, problem


@pytest.mark.parametrize("name", CASES)
def test_reference_flows(name):
    case = CASES[name]
    Y = np.array(case["Y"])
    b = np.zeros(Y.shape[1]) if case["output_bias"] else None
    problem = problem_of(np.array(case["X"]), Y, case["loss"], case["w"], case["v"], leak=case["leak"], b=b)
    wanted = [moment for moment in case["snapshots"] if moment["t"] > 0.0]
    found = train(problem, EXACT, times=[moment["t"] for moment in wanted], until=wanted[-1]["t"])
    assert len(found.snapshots) == len(wanted)
    for snapshot, moment in zip(found.snapshots, wanted, strict=True):
        assert snapshot.time == moment["t"]
        h = np.array(moment["h"])
        assert np.allclose(snapshot.outputs.reshape(h.shape), h, rtol=0.0, atol=1e-8)
        assert np.allclose(snapshot.network.w, moment["w"], rtol=0.0, atol=1e-8)
        assert np.allclose(snapshot.network.v, moment["v"], rtol=0.0, atol=1e-8)
        if b is not None:
            assert np.allclose(snapshot.network.b, moment["b"], rtol=0.0, atol=1e-8)
        assert snapshot.loss == pytest.approx(moment["loss"], abs=1e-8)
    assert len(found.events) == case["events"]


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_an_event_splitting_integrator(seed):
    agrees_with_the_integrator(*at_random(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_agrees_with_an_event_splitting_integrator_on_many(first):
    """200 problems. One of them, seed 209, is left out: a neuron comes to rest at the origin, where steps shrink."""
    conclusive = 0
    for seed in range(100 + first, 120 + first):
        try:
            agrees_with_the_integrator(*at_random(seed))
        except Inconclusive:
            continue
        conclusive += 1
    assert conclusive >= 19


def test_conserved_quantities():
    """|v|^2 - |w|^2 of every neuron, and under softmax the sum of v."""
    problem, _ = at_random(1, loss="softmax", num_outputs=4, bias="train")
    found = train(problem, CollocationFlow(), until=30.0)
    start, end = problem.network, found.network
    assert found.balancedness_drift <= 1e-14
    assert np.allclose(end.balancedness(), start.balancedness(), rtol=0.0, atol=1e-13)
    assert np.allclose(np.sum(end.v, axis=1), np.sum(start.v, axis=1), rtol=0.0, atol=1e-12)
    assert np.sum(end.b) == pytest.approx(np.sum(start.b), abs=1e-12)


@pytest.mark.parametrize("loss", ["softmax", "square"])
def test_permuted_outputs(loss):
    problem, Y = at_random(7, loss=loss, num_outputs=3, bias="train")
    network, order = problem.network, np.array([2, 0, 1])
    other = problem_of(
        problem.dataset.X, Y[:, order], loss, network.w, network.v[:, order], leak=network.leak, b=network.b[order]
    )
    one, two = (train(each, EXACT, until=5.0).network for each in (problem, other))
    assert np.allclose(two.w, one.w, rtol=0.0, atol=1e-9)
    assert np.allclose(two.v, one.v[:, order], rtol=0.0, atol=1e-9)
    assert np.allclose(two.b, one.b[order], rtol=0.0, atol=1e-9)


def test_rotated_outputs_of_the_square_loss():
    problem, Y = at_random(10, loss="square", num_outputs=4, bias="train")
    network = problem.network
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    other = problem_of(
        problem.dataset.X,
        Y @ rotation,
        "square",
        network.w,
        network.v @ rotation,
        leak=network.leak,
        b=network.b @ rotation,
    )
    one, two = (train(each, EXACT, until=5.0).network for each in (problem, other))
    assert np.allclose(two.w, one.w, rtol=0.0, atol=1e-9)
    assert np.allclose(two.v, one.v @ rotation, rtol=0.0, atol=1e-9)


def test_one_output_embedded_in_two():
    """The second output has target 0 and output weights 0: nothing ever moves it, and the first is the flow of one."""
    rng = np.random.default_rng(3)
    X, y, w, a = rng.normal(size=(6, 3)), rng.normal(size=6), rng.normal(size=(5, 3)), rng.normal(size=5)
    a *= 1.2 * np.linalg.norm(w, axis=1) / np.abs(a)
    zero = np.zeros((6, 1))
    single = TrainingProblem(Dataset(X, y), SquareLoss(), Network(w, a, leak=0.2))
    double = problem_of(
        X, np.hstack([y[:, None], zero]), "square", w, np.hstack([a[:, None], np.zeros((5, 1))]), leak=0.2
    )
    one, two = train(single, EventDrivenFlow(), until=6.0), train(double, EXACT, until=6.0)
    assert np.allclose(two.network.v[:, 0], one.network.a, rtol=0.0, atol=1e-8)
    assert not np.any(two.network.v[:, 1])
    assert np.allclose(two.network.w, one.network.w, rtol=0.0, atol=1e-8)
    assert [event.kind for event in two.events] == [event.kind for event in one.events]


def test_softmax_of_two_classes_is_the_logistic_loss_of_their_difference():
    """With v = (a, -a)/sqrt(2) that difference is sqrt(2) a s(<w, x>): the logistic flow of (w, a) on sqrt(2) X.

    h_1 - h_2 has the output weights v_1 - v_2 = sqrt(2) a; dw/dt = sqrt(2) a D and da/dt = sqrt(2) <w, D>.
    """
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(6, 2)), np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    w, a = rng.normal(size=(4, 2)), rng.normal(size=4)
    a *= 1.3 * np.linalg.norm(w, axis=1) / np.abs(a)
    v = np.column_stack([a, -a]) / np.sqrt(2.0)
    double = problem_of(X, np.eye(2)[(y < 0).astype(int)], "softmax", w, v)
    single = TrainingProblem(Dataset(np.sqrt(2.0) * X, y), LogisticLoss(), Network(w, a))
    one, two = train(single, EventDrivenFlow(), until=4.0), train(double, EXACT, until=4.0)
    assert np.allclose(two.network.w, one.network.w, rtol=0.0, atol=1e-8)
    assert np.allclose(two.network.v[:, 0] * np.sqrt(2.0), one.network.a, rtol=0.0, atol=1e-8)


def test_descent_tends_to_the_flow():
    problem, _ = at_random(2, loss="softmax", num_outputs=3, bias="train")
    exact = train(problem, EXACT, until=2.0).network
    errors = []
    for rate in (4e-3, 2e-3, 1e-3):
        iterates = train(problem, GradientDescent(lr=rate, iterations=round(2.0 / rate)), until=2.0)
        errors.append(np.max(np.abs(iterates.network.v - exact.v)))
    assert errors[2] < 2e-3
    assert 1.7 < errors[0] / errors[1] < 2.3
    assert 1.7 < errors[1] / errors[2] < 2.3


@pytest.mark.parametrize(("loss", "seed"), [("square", 6), ("softmax", 11)])  # of twelve draws those with few steps
def test_from_a_scale_below_all_doubles(loss, seed):
    """The same shape from 1e-100 and from 1e-400: what grows is the same, later by the ratio of the scales."""
    problem, _ = at_random(seed, loss=loss, num_outputs=3, bias="none")
    ends = []
    for log_scale in (-100.0 * np.log(10.0), -400.0 * np.log(10.0)):
        start = problem.network.replace(log_scale=log_scale)
        tiny = TrainingProblem(problem.dataset, problem.loss, start)
        found = train(tiny, CollocationFlow())
        assert found.outcome.code == ("stationary" if loss == "square" else "direction-converged")
        ends.append(found.loss)
    assert ends[1] == pytest.approx(ends[0], rel=1e-5, abs=1e-10)


def test_a_classifier_is_followed_to_infinity():
    rng = np.random.default_rng(0)
    centres = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    X = np.vstack([centre + 0.3 * rng.normal(size=(5, 2)) for centre in centres])
    problem = problem_of(
        X, np.repeat(np.eye(3), 5, axis=0), "softmax", *[0.3 * rng.normal(size=(9, k)) for k in (2, 3)]
    )
    found = train(problem, CollocationFlow())
    assert found.outcome.code == "direction-converged"
    assert found.log_time > 50.0
    assert np.array_equal(np.argmax(found.predictions, axis=1), problem.dataset.y)
    assert found.balancedness_drift <= 1e-13


@pytest.mark.parametrize("fields", [{"weight_decay": 0.05}, {"trains_output_layer": False}])
@pytest.mark.parametrize("loss", ["square", "softmax"])
def test_weight_decay_and_a_frozen_output_layer(loss, fields):
    plain, Y = at_random(6, loss=loss, num_outputs=3, bias="train")
    agrees_with_the_integrator(replace(plain, **fields), Y)


def test_a_checkpoint_goes_on_bit_by_bit(tmp_path):
    problem, _ = at_random(1, loss="softmax", num_outputs=3, bias="train")
    whole = train(problem, EXACT, until=4.0)
    kept = Checkpoint(tmp_path / "run.ckpt")
    cut = train(problem, EXACT, until=4.0, max_steps=whole.steps // 2, checkpoint=kept)
    assert cut.outcome.code == "max-steps"
    ended = train(problem, EXACT, until=4.0, checkpoint=kept)
    assert np.array_equal(ended.network.v, whole.network.v)
    assert np.array_equal(ended.network.b, whole.network.b)


def test_a_neuron_that_starts_with_output_weights_zero():
    """Its v takes the direction of D^T w, and walls count along that from the first moment on."""
    problem, Y = at_random(9, loss="square", num_outputs=3, bias="none")
    network = problem.network
    started = network.replace(v=np.where(np.arange(network.num_neurons)[:, None] == 0, 0.0, network.v))
    agrees_with_the_integrator(replace(problem, network=started), Y)


@pytest.mark.parametrize("loss", [pytest.param("square", marks=pytest.mark.slow), "softmax"])
def test_the_largest_modes_of_a_kernel_that_is_not_made_steer_as_well_as_all(loss, monkeypatch):
    """480 forces and 720 weights: Newton's matrix from modes and from the whole kernel end at the same network."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 4)), np.eye(8)[rng.integers(0, 8, 60)]
    problem = problem_of(X, Y, loss, *[0.4 * rng.normal(size=(60, k)) for k in (4, 8)], b=np.zeros(8))
    solver, asked = CollocationFlow(rtol=1e-7), []
    search = newton_matrices.NewtonMatrices._largest_modes_of_outputs
    monkeypatch.setattr(
        newton_matrices.NewtonMatrices,
        "_largest_modes_of_outputs",
        lambda self, *given: (asked.append(1), search(self, *given))[1],
    )
    by_modes = train(problem, solver, until=0.3).network
    assert asked
    asked.clear()
    monkeypatch.setattr(newton_matrices, "MODES_FROM_SAMPLES", 10**9)
    whole = train(problem, solver, until=0.3).network
    assert not asked
    assert np.allclose(by_modes.w, whole.w, rtol=0.0, atol=1e-6)
    assert np.allclose(by_modes.v, whole.v, rtol=0.0, atol=1e-6)


def test_auto_takes_collocation_and_event_driven_refuses():
    problem, _ = at_random(1, loss="softmax", num_outputs=3, bias="none")
    chosen = choose_flow(problem)
    assert chosen.solver == CollocationFlow(rtol=1e-10)
    assert "3 outputs" in chosen.reason
    with pytest.raises(InvalidInputError, match="'collocation' or 'auto' for a problem with 3 outputs"):
        choose_flow(problem, solver="event-driven")
    with pytest.raises(InvalidInputError, match="one output"):
        train(problem, EventDrivenFlow())
