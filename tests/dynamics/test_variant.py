"""Weight decay and a frozen output layer: closed forms, DOP853, small steps of descent, descent in groups."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import reluflow
from reluflow.dynamics import EventDrivenFlow, GradientDescent, TrainingProblem
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent
from reluflow.dynamics.flow_choice import choose_flow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.reading import gradient_of
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.dynamics.train import train
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.network import Network

SOLVERS = [EventDrivenFlow(rtol=1e-11), CollocationFlow(rtol=1e-10)]
VARIANTS = [(0.05, True), (0.3, True), (0.0, False), (0.1, False)]


def random_problem(seed, *, loss="square", m=6, decay=0.0, trains=True, leak=0.0):
    rng = np.random.default_rng(seed)
    X, w, a = rng.standard_normal((5, 3)), 0.5 * rng.standard_normal((m, 3)), 0.5 * rng.standard_normal(m)
    y = rng.standard_normal(5) if loss == "square" else np.sign(rng.standard_normal(5))
    network = Network(w, a, leak=leak, weight=rng.uniform(0.5, 2.0, m))
    return TrainingProblem(reluflow.Dataset(X, y), loss, network, weight_decay=decay, trains_output_layer=trains)


def velocity(problem):
    """theta' written out once more, from the definition."""
    X, y, network = problem.dataset.X, problem.dataset.y, problem.network
    m, d = network.w.shape

    def at(t, theta):
        w, a = theta[: m * d].reshape(m, d), theta[m * d :]
        heights = w @ X.T
        outputs = (network.weight * a) @ np.where(heights > 0, heights, network.leak * heights)
        pulls = (np.where(heights > 0, 1.0, network.leak) * problem.loss.forces(outputs, y)) @ X
        turned = a[:, None] * pulls - problem.weight_decay * w
        grown = np.einsum("jd,jd->j", w, pulls) - problem.weight_decay * a
        return np.concatenate([turned.ravel(), grown if problem.trains_output_layer else np.zeros(m)])

    return at


def parameters(network):
    plain = network.materialized()
    return np.concatenate([plain.w.ravel(), plain.a])


@pytest.mark.parametrize(("decay", "trains"), VARIANTS)
@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_against_dop853(solver, loss, decay, trains):
    """Draws in which no neuron slides, which a general solver cannot follow."""
    compared = 0
    for seed in range(12):
        problem = random_problem(seed, loss=loss, decay=decay, trains=trains, leak=0.2 * (seed % 2))
        run = train(problem, solver, until=AtTime(2.0), keep=Keep(times=[1.0, 2.0]))
        if run.slides:
            continue
        start = parameters(problem.network)
        oracle = solve_ivp(velocity(problem), (0.0, 2.0), start, method="DOP853", rtol=1e-11, atol=1e-13, max_step=0.05)
        assert parameters(run.network) == pytest.approx(oracle.y[:, -1], abs=1e-8)
        compared += 1
        if compared == 1:
            return
    assert compared


@pytest.mark.parametrize(("decay", "trains"), VARIANTS)
def test_descent_tends_to_the_flow(decay, trains):
    """The difference falls with the step, through slides too; and descent in groups has the same iterates."""
    problem = random_problem(3, decay=decay, trains=trains, m=40)
    flow = parameters(train(problem, EventDrivenFlow(rtol=1e-9), until=AtTime(2.0)).network)
    differences = []
    for lr in (4e-3, 1e-3):
        solver = GradientDescent(lr=lr, iterations=round(2.0 / lr))
        plain = parameters(train(problem, solver, until=Exhausted()).network)
        differences.append(np.max(np.abs(plain - flow)))
        grouped = GroupedGradientDescent(lr=lr, iterations=solver.iterations)
        assert parameters(train(problem, grouped, until=Exhausted()).network) == pytest.approx(plain, abs=1e-11)
    assert differences[1] < 2e-3
    assert differences[1] < 0.5 * differences[0]


def one_neuron(w, a, **options):
    """x = 1, y = 2 and one active neuron: w' = a (2 - a w) - lambda w in one dimension."""
    return TrainingProblem(reluflow.Dataset([[1.0]], [2.0]), SquareLoss(), Network(w=[[w]], a=[a]), **options)


@pytest.mark.parametrize("solver", SOLVERS)
def test_closed_form_of_a_frozen_output_layer(solver):
    """w' = a (y - a w): w = y/a + (w0 - y/a) exp(-a^2 t)."""
    problem = one_neuron(0.3, 0.7, trains_output_layer=False)
    run = train(problem, solver, until=AtTime(2.5))
    assert run.network.w[0, 0] == pytest.approx(2 / 0.7 + (0.3 - 2 / 0.7) * np.exp(-(0.7**2) * 2.5), rel=1e-9)
    assert run.network.a[0] == 0.7


@pytest.mark.parametrize("solver", SOLVERS)
def test_closed_form_of_weight_decay(solver):
    """Balanced, p = a w has p' = 2 p (2 - lambda - p): a logistic curve to 2 - lambda, the regularised minimum."""
    decay, start = 0.5, 1e-3
    problem = one_neuron(start, start, weight_decay=decay)
    run = train(problem, solver, until=AtTime(4.0))
    top, first = 2.0 - decay, start**2
    expected = top / (1.0 + (top / first - 1.0) * np.exp(-2.0 * top * 4.0))
    assert run.network.w[0, 0] * run.network.a[0] == pytest.approx(expected, rel=1e-8)
    end = train(problem, solver)
    assert end.outcome.code == "stationary"
    assert end.predictions[0] == pytest.approx(top, rel=1e-7)
    assert "weight decay 0.5" in end.limit.reason


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_decay_above_every_pull_ends_at_zero(solver):
    """|D| = 2 at zero output: with a decay of 3 the network vanishes, and the run says so instead of waiting."""
    run = train(one_neuron(0.5, 0.4, weight_decay=3.0), solver)
    assert run.outcome.code == "stationary"
    assert abs(run.predictions[0]) < 1e-14


@pytest.mark.parametrize("scale", [1e-3, 1e-30])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_small_start_escapes_where_the_pull_exceeds_the_decay(solver, scale):
    """e-folds at the rate |D| - lambda: the frozen start jumps in closed form and decays with it."""
    problem = one_neuron(scale, scale, weight_decay=0.5)
    run = train(problem, solver)
    half = run.times[np.argmax(run.losses < 0.5 * run.losses[0])]
    assert run.predictions[0] == pytest.approx(1.5, rel=1e-7)
    assert half == pytest.approx(np.log(1.0 / scale) / 1.5, abs=1.5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_light_neuron_that_will_grow_is_waited_for(solver):
    """At the stationary point of the first neuron a second, of size 1e-9, still has |D| = 2 against a decay of 0.5."""
    data = reluflow.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, 2.0])
    network = Network(w=[[1.0, -0.1], [-1e-10, 1e-9]], a=[1.0, 1e-9])
    problem = TrainingProblem(data, SquareLoss(reduction="sum"), network, weight_decay=0.5)
    run = train(problem, solver)
    assert run.predictions == pytest.approx([1.5, 1.5], rel=1e-6)


@pytest.mark.parametrize(("decay", "trains"), VARIANTS)
@pytest.mark.parametrize("solver", [EventDrivenFlow(rtol=1e-9), CollocationFlow(rtol=1e-8)])
def test_the_objective_never_rises_and_its_gradient_is_the_difference_quotient(solver, decay, trains):
    problem = random_problem(8, decay=decay, trains=trains)
    run = train(problem, solver, until=AtTime(5.0), keep=Keep(times=np.linspace(0.1, 5.0, 20)))
    heights = [problem.objective(moment.network) for moment in run.snapshots]
    assert np.max(np.diff([problem.objective(problem.network), *heights])) <= 1e-12
    network = problem.network
    gradient = gradient_of(problem, network, network.outputs(problem.dataset.X))
    square, step = 0.0, 1e-6
    for name in ("w", "a") if trains else ("w",):
        values = np.array(getattr(network, name))
        for index in np.ndindex(values.shape):
            ends = []
            for sign in (1.0, -1.0):
                moved = values.copy()
                moved[index] += sign * step
                ends.append(problem.objective(network.replace(**{name: moved})))
            # weights: a neuron of weight m moves like each of m equal ones
            square += ((ends[0] - ends[1]) / (2.0 * step)) ** 2 / network.weight[index[0]]
    assert gradient.norm == pytest.approx(np.sqrt(square), rel=1e-6)


@pytest.mark.parametrize("solver", [EventDrivenFlow(rtol=1e-6), CollocationFlow()])
def test_decay_keeps_the_quadric(solver):
    run = train(random_problem(2, decay=0.2), solver, until=AtTime(10.0))
    ratio = run.network.balancedness() / random_problem(2).network.balancedness()
    assert ratio == pytest.approx(np.full(6, np.exp(-2 * 0.2 * 10.0)), rel=1e-9)
    assert run.balancedness_drift < 1e-12


def test_who_takes_it():
    """Groups have no frames in these runs: many neurons in few patterns gain nothing from the event-driven solver."""
    problem = random_problem(0, decay=0.1, m=600)
    assert choose_flow(random_problem(0, m=600)).name == "event-driven"
    assert choose_flow(problem).name == "collocation"
    few = random_problem(0, decay=0.1)
    assert choose_flow(few).name == "event-driven"
    stiff = choose_flow(few, to_the_end=True)
    assert stiff.name == "collocation"
    assert stiff.reason == "Collocation of the forces: the end of a run with weight decay 0.1 may be stiff."
    with pytest.raises(InvalidInputError, match="`weight_decay` must be finite and at least 0, got -1"):
        random_problem(0, decay=-1.0)
    with pytest.raises(InvalidInputError, match="`lr` must be below 1 / weight decay = 10"):
        train(problem, GradientDescent(lr=20.0, iterations=1))
