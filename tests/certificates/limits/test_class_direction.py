"""Limiting directions of networks with several classes: closed forms, one output, the run itself, forgeries."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

import reluflow
from reluflow import CollocationFlow, Dataset, LogisticLoss, Network, SoftmaxLoss, TrainingProblem, train
from reluflow.certificates.certificate import Kind
from reluflow.certificates.certify import certify
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.limits import certified_limit as certified_limit_module
from reluflow.certificates.limits import class_direction as class_direction_module
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.certificates.limits.class_direction import nearest_class_direction
from reluflow.certificates.limits.class_traps import is_orthogonally_separable, is_trapped
from reluflow.certificates.limits.nearest_direction import nearest_direction
from reluflow.certificates.pair_gradients import Pairs
from reluflow.certificates.pair_kkt import pair_kkt
from reluflow.dynamics.trajectory import Outcome

# dataset A and run G1 of Min, Zhu & Vidal (2025): s_c^2 and u_c of its limit, to ten digits
ROWS = [(3, 0, 1, 0), (2, 1, 0, 1), (2, -1, 0, 1), (-2, 3, -1, 0), (-2, 2, 0, -1)]
ROWS += [(-3, 3, 1, 0), (-2, -3, 0, 0), (-2, -4, 0, -1), (-3, -4, -1, 0)]
ORTHOGONAL = Dataset(np.array(ROWS, dtype=float), np.repeat([0, 1, 2], 3), classes=("a", "b", "c"))
SQUARES = (0.2113691522, 0.1575452643, 0.1310855835)
DIRECTIONS = ((2, 0, 0, 1), (-2, 2, 0, -1), (-2, -3, 0, 0))
OUTPUTS = [(3, -2, -1), (1, 0, 0), (-1, 2, 0), (0, 1, -1), (-1, -2, 3), (0, 0, 1)]


def unit(rows):
    rows = np.asarray(rows, dtype=float)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def orthogonal_run():
    network = Network(1e-3 * unit(ORTHOGONAL.X[[0, 2, 3, 5, 6, 8]]), v=1e-3 * unit(OUTPUTS))
    problem = TrainingProblem(ORTHOGONAL, SoftmaxLoss(reduction="sum"), network)
    return train(problem, CollocationFlow(), until=reluflow.end_of_training(problem))


def clouds(seed, spread=0.25, width=12, scale=1e-2):
    """Three classes in the plane with a constant coordinate: neurons share classes, and some end on boundaries."""
    rng = np.random.default_rng(seed)
    centres = 1.5 * unit([(1, 0.2), (-0.6, 0.8), (-0.4, -1)])
    X = np.vstack([centre + spread * rng.normal(size=(6, 2)) for centre in centres])
    data = Dataset(np.hstack([X, np.ones((18, 1))]), np.repeat([0, 1, 2], 6), classes=("a", "b", "c"))
    network = reluflow.balanced_initialization(data, width=width, scale=scale, rng=rng)
    return TrainingProblem(data, SoftmaxLoss(), network)


@pytest.fixture(scope="module")
def three_clouds():
    problem = clouds(3)
    return train(problem, CollocationFlow(), until=reluflow.end_of_training(problem))


def test_trapped_neurons_have_the_limit_in_closed_form(orthogonal_run):
    limit = certified_limit(orthogonal_run)
    assert limit.certificate.kind is Kind.KKT_DIRECTION
    assert limit.is_proof
    for c, (square, direction) in enumerate(zip(SQUARES, DIRECTIONS, strict=True)):
        w = limit.network.w[2 * c : 2 * c + 2]
        assert np.sum(w**2) == pytest.approx(square, abs=1e-10)
        np.testing.assert_allclose(unit(w), np.tile(unit(direction), (2, 1)), atol=1e-12)


def test_the_limit_of_random_trapped_data_is_the_max_margin_vector_of_every_class(rng):
    """By the nearest point of each class's convex hull to 0, a nonnegative least-squares problem."""
    signs = unit(np.eye(4) - 0.25)
    X = np.vstack([sign + 0.08 * rng.normal(size=(4, 4)) for sign in signs[:3]])
    data = Dataset(X * rng.uniform(0.5, 2.0, size=(12, 1)), np.repeat([0, 1, 2], 4), classes=("a", "b", "c"))
    assert is_orthogonally_separable(data)
    network = Network(0.01 * unit(signs[:3]), v=0.01 * unit(np.eye(3) - 1 / 3))
    problem = TrainingProblem(data, SoftmaxLoss(), network)
    limit = certified_limit(train(problem, CollocationFlow(), until=reluflow.end_of_training(problem)))
    assert limit.is_proof
    for c in range(3):
        rows = data.X[data.y == c]
        weights = nnls(np.vstack([rows.T, 1e4 * np.ones(len(rows))]), np.append(np.zeros(4), 1e4))[0]
        np.testing.assert_allclose(unit(limit.network.w[c]), unit(weights @ rows), atol=1e-6)


def test_classes_that_share_neurons_have_a_kkt_direction_that_is_not_a_proof(three_clouds):
    limit = certified_limit(three_clouds)
    assert three_clouds.outcome.code == "direction-converged"
    assert limit.certificate.kind is Kind.KKT_DIRECTION
    assert limit.certificate.residuals["kkt"] <= 1e-12
    assert not limit.is_proof
    assert "and to no other is not shown" in limit.reason


def test_the_run_itself_goes_on_towards_the_solved_direction(three_clouds):
    """Outputs over the squared norm, at margins of 1e2, 1e4 and 1e6: ever closer to those of the solved direction."""
    problem, found = three_clouds.problem, []
    expected = certified_limit(three_clouds).network.outputs(problem.dataset.X)
    run = CollocationFlow().start(problem)
    for margin in (1e2, 1e4, 1e6):
        while np.min(problem.loss.margins(run.outputs(), problem.dataset.y)) < margin:
            run.advance(np.inf, 1)
        network = run.network()
        unit_outputs = network.replace(log_scale=0.0).outputs(problem.dataset.X)
        found.append(np.max(np.abs(unit_outputs / network.replace(log_scale=0.0).squared_norm() - expected)))
    assert found[1] < 0.3 * found[0]
    assert found[2] < 0.3 * found[1]


@pytest.mark.parametrize(
    ("seed", "options", "first"),
    [
        (3, {}, 1e4),
        (20, {}, 1e4),
        (21, {"spread": 0.4}, 1e6),
        (24, {"width": 40, "scale": 1e-4}, 3e3),
        (26, {"spread": 0.4}, 1e15),
        (29, {"width": 40, "scale": 1e-4}, 1e4),
    ],
)
def test_the_same_direction_is_found_from_every_late_state(seed, options, first):
    """The search found a direction from some states of a run and none from the next, and which was a matter of
    rounding: neurons that vanish beside the others were led across boundaries without end, several bundles of one
    direction hid from each other, and one pair too many at the smallest margin left no solution.
    """
    problem, margins = clouds(seed, **options), []
    run = CollocationFlow().start(problem)
    for smallest in (first, first**2):
        while np.min(problem.loss.margins(run.outputs(), problem.dataset.y)) < smallest:
            run.advance(np.inf, 1)
        found = nearest_class_direction(run.network(), problem)
        assert found.kkt.residual <= 1e-10
        assert found.distance < 0.05
        again = nearest_class_direction(run.network(), problem, largest_residual=found.distance)
        assert again.distance == found.distance  # the network itself misses the conditions by less than its distance
        margins.append(found.kkt.margin)
    np.testing.assert_allclose(margins, margins[0], rtol=1e-9)


def test_a_search_that_has_lost_its_way_ends_unless_there_is_one_direction_alone(
    orthogonal_run, three_clouds, monkeypatch
):
    """On wine the search went on through 20 sets of pairs with directions 0.7 away; the run's own was at 0.01."""
    problem, network = three_clouds.problem, three_clouds.network
    assert nearest_class_direction(network, problem).distance < 0.05
    monkeypatch.setattr(class_direction_module, "_FARTHEST", 1e-3)
    assert nearest_class_direction(network, problem) is None
    found = nearest_class_direction(orthogonal_run.network, orthogonal_run.problem)  # however far, it is the limit
    assert found.is_only
    assert found.distance > 1e-3


def test_no_direction_is_solved_for_that_could_not_end_the_run(three_clouds, monkeypatch):
    """Standardised wine spent 2.3 of its 15 s at margins at which only trapped neurons let a run end."""
    margins = []

    def counted(network, problem, **options):
        margins.append(float(np.min(problem.loss.margins(network.outputs(problem.dataset.X), problem.dataset.y))))
        return nearest_class_direction(network, problem, **options)

    monkeypatch.setattr(certified_limit_module, "nearest_class_direction", counted)
    run = train(three_clouds.problem, CollocationFlow(), until=LimitIdentified())
    assert run.outcome is Outcome.DIRECTION_CONVERGED
    assert margins
    assert min(margins) >= 100.0 * (1.0 - 1e-9)


def test_no_direction_is_solved_for_that_could_not_be_near(three_clouds, monkeypatch):
    """Wine solved twice for directions while it missed the KKT conditions itself by more than how near one must be."""
    run = CollocationFlow().start(three_clouds.problem)
    while np.min(run.problem.loss.margins(run.outputs(), run.problem.dataset.y)) < 1e3:
        run.advance(np.inf, 1)
    network, problem = run.network(), three_clouds.problem
    own = pair_kkt(network, problem.dataset, active_rtol=1e-2).residual
    assert nearest_class_direction(network, problem, largest_residual=2.0 * own) is not None
    monkeypatch.setattr(class_direction_module, "solve_in_patterns", None)  # it is not even asked
    assert nearest_class_direction(network, problem, largest_residual=0.5 * own) is None


def test_one_output_has_the_direction_of_its_own_search():
    data = reluflow.load("min-toy")
    network = reluflow.balanced_initialization(data, width=10, scale=1e-3, rng=np.random.default_rng(0))
    problem = TrainingProblem(data, LogisticLoss(), network)
    last = train(problem, CollocationFlow(), until=reluflow.end_of_training(problem)).network
    ours, theirs = nearest_class_direction(last, problem), nearest_direction(last, problem)
    assert ours.kkt.residual <= 1e-12
    assert ours.kkt.margin == pytest.approx(theirs.kkt.margin, rel=1e-9)
    np.testing.assert_allclose(ours.solved.outputs(data.X), theirs.solved.outputs(data.X), rtol=1e-6)


def test_a_tampered_direction_is_refused(orthogonal_run, three_clouds):
    for run in (orthogonal_run, three_clouds):
        solved = certified_limit(run).network
        w = solved.w.copy()
        w[int(np.argmax(np.linalg.norm(w, axis=1)))] *= 1.01
        assert pair_kkt(solved.replace(w=w), run.problem.dataset, active_rtol=1e-6).residual > 1e-3


def test_what_is_not_trapped_is_not_taken_for_it(orthogonal_run):
    network, data = orthogonal_run.network, ORTHOGONAL
    assert is_trapped(network, data)
    both = network.w.copy()
    both[0] = data.X[0] / np.linalg.norm(data.X[0]) + data.X[4]
    assert not is_trapped(network.replace(w=both), data), "a neuron of two classes"
    turned = network.v.copy()
    turned[0] = turned[0, ::-1]
    assert not is_trapped(network.replace(v=turned), data), "a neuron that lowers its own class"
    assert not is_trapped(network.replace(leak=0.1), data)
    without = network.replace(w=network.w[:4], v=network.v[:4], weight=None)
    assert not is_trapped(without, data), "a class without a neuron"
    near = data.X.copy()
    near[0] = (0.1, 3, 1, 0)
    assert not is_trapped(network, data.replace(X=near)), "samples of two classes at an acute angle"


def test_a_network_that_classifies_wrongly_has_no_direction(orthogonal_run):
    problem = orthogonal_run.problem
    assert nearest_class_direction(orthogonal_run.network.replace(v=-orthogonal_run.network.v), problem) is None


# Sample 3 (class b) is ignored: neuron 0 of class a, pulled along (1, 0, 0, 0), is held at its boundary
IGNORING = Dataset(
    [[1.0, 0.0, 0.0, 0.0], [-0.3, 1.0, 0.0, 0.0], [-0.3, -0.2, 1.0, 0.0], [1.0, 0.0, 0.0, -1.0]],
    [0, 1, 2, 1],
    classes=("a", "b", "c"),
)
HELD = np.array([0.5, 0.0, 0.0, 0.5])  # what is left of (1, 0, 0, 0) across sample 3


def ignoring_direction():
    """Its KKT direction in closed form: every neuron alone has its class, |w|^2 = |v|^2 = 1 / (length sqrt(3/2))."""
    rows = np.vstack([HELD, IGNORING.X[1:3]])
    sizes = 1.0 / np.sqrt(np.linalg.norm(rows, axis=1) * np.sqrt(1.5))
    network = Network(sizes[:, None] * unit(rows), v=sizes[:, None] * unit(np.eye(3) - 1 / 3))
    return network.replace(w=network.w / np.sqrt(2 * np.sum(sizes**2)), v=network.v / np.sqrt(2 * np.sum(sizes**2)))


@pytest.fixture(scope="module")
def ignoring_run():
    start = Network(1e-2 * unit([[0.6, 0.0, 0.0, 0.8], [-0.3, 1, 0, 0.1], [0, 0, 1, 0.1]]), v=1e-2 * unit(OUTPUTS[:3]))
    start = start.replace(v=1e-2 * unit(np.eye(3) - 1 / 3))
    problem = TrainingProblem(IGNORING, SoftmaxLoss(), start)
    return train(problem, CollocationFlow(), until=reluflow.end_of_training(problem))


def test_a_neuron_held_at_the_boundary_of_an_ignored_sample_has_its_limit_in_closed_form(ignoring_run):
    """No direction was solved for between classes while a sample was ignored, and a neuron that an ignored sample holds
    at its boundary was no part of the KKT conditions: 2,000 digits of three classes, with two images that no neuron
    acts on, never came to a limit.
    """
    expected = ignoring_direction()
    assert ignoring_run.outcome is Outcome.DIRECTION_CONVERGED
    limit = certified_limit(ignoring_run)
    assert limit.certificate.kind is Kind.PARTIAL_DIRECTION
    assert limit.certificate.ignored == (3,)
    assert limit.certificate.residuals["kkt"] <= 1e-12
    assert not limit.certificate.open_points
    assert not limit.is_proof
    np.testing.assert_allclose(limit.network.w, expected.w, atol=1e-10)
    np.testing.assert_allclose(limit.network.v, expected.v, atol=1e-10)


def test_a_wall_holds_what_it_pushes_back_and_nothing_else():
    kept, walls, network = IGNORING.subset([0, 1, 2]), IGNORING.subset([3]), ignoring_direction()
    assert pair_kkt(network, kept, walls=walls).residual <= 1e-12
    assert pair_kkt(network, kept).residual > 0.1, "without the wall the neuron would go on"
    w = network.w.copy()
    w[0] = np.linalg.norm(w[0]) * unit([0.6, 0.0, 0.0, 0.8])
    assert pair_kkt(network.replace(w=w), kept, walls=walls).residual > 0.05, "off the wall"
    assert pair_kkt(network.replace(w=w * 1.01), kept, walls=walls).residual > 0.05
    assert certify(network, IGNORING, SoftmaxLoss()).kind is Kind.PARTIAL_DIRECTION
    assert certify(network.replace(w=w), IGNORING, SoftmaxLoss()).kind is Kind.NOT_STATIONARY
    own = walls.replace(y=np.array([0]))
    assert pair_kkt(network, kept, walls=own).residual > 0.1, "a sample of its own class pulls the neuron in"
    behind = walls.replace(X=-walls.X)
    assert pair_kkt(network, kept, walls=behind).residual > 0.1, "a wall presses to one side only"


def test_one_output_is_held_at_walls_as_it_is_by_its_own_certificate():
    data = Dataset(IGNORING.X[[0, 1, 3]], [1.0, -1.0, -1.0])
    kept, walls, rows = data.subset([0, 1]), data.subset([2]), np.vstack([HELD, data.X[1]])
    sizes = 1.0 / np.sqrt(np.linalg.norm(rows, axis=1))
    for forged in (1.0, 1.1):
        network = Network(sizes[:, None] * unit(rows), sizes * [forged, -1.0])
        ours, theirs = (
            pair_kkt(network, kept, walls=walls),
            kkt_certificate(network, kept, walls=walls, active_rtol=1.0),
        )
        assert ours.residual == pytest.approx(theirs.residual, abs=1e-9)
        assert (ours.residual <= 1e-12) == (forged == 1.0)
        np.testing.assert_allclose(ours.multipliers, theirs.multipliers, rtol=1e-9)


def test_the_way_uphill_ends_where_a_general_solver_finds_the_smallest_norm(ignoring_run):
    """By SLSQP on the margins and the wall themselves, from the last state of the run."""
    pairs, kept, wall = Pairs.of(IGNORING.subset([0, 1, 2])), IGNORING.subset([0, 1, 2]), IGNORING.X[3]
    run = CollocationFlow().start(ignoring_run.problem)
    while np.min(run.problem.loss.margins(run.outputs(), IGNORING.y)[:3]) < 100.0:
        run.advance(np.inf, 1)
    found = nearest_class_direction(run.network(), ignoring_run.problem)
    last = found.last

    def parts(theta):
        return theta[:12].reshape(3, 4), theta[12:].reshape(3, 3)

    def margins(theta):
        w, v = parts(theta)
        return pairs.margins(np.maximum(w @ kept.X.T, 0.0).T @ v) - 1.0

    start = np.concatenate([last.w.ravel(), last.v.ravel()]) / np.sqrt(found.kkt.margin)
    least = minimize(
        lambda theta: 0.5 * theta @ theta,
        start,
        jac=lambda theta: theta,
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": margins},
            {"type": "ineq", "fun": lambda theta: -(parts(theta)[0] @ wall)},
        ],
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert least.success
    assert 1.0 / (2.0 * least.fun) == pytest.approx(found.kkt.margin, rel=1e-7)
    norm = np.sqrt(2.0 * least.fun)
    np.testing.assert_allclose(parts(least.x)[0] / norm, found.solved.w, atol=1e-5)
    assert found.kkt.residual <= 1e-12
    assert found.ignored.tolist() == [3]


@pytest.mark.parametrize(
    ("seed", "options"), [(3, {}), (20, {}), (21, {"spread": 0.4}), (24, {"width": 40, "scale": 1e-4})]
)
def test_a_network_followed_from_afar_ends_where_the_run_comes_to(seed, options, monkeypatch):
    """Newton's method in the patterns of the state when the run is at last near its direction finds the same one."""
    problem = clouds(seed, **options)
    run, states = CollocationFlow().start(problem), []
    for smallest in (2e4, 1e18):
        while np.min(problem.loss.margins(run.outputs(), problem.dataset.y)) < smallest:
            run.advance(np.inf, 1)
        states.append(run.network())
    expected = nearest_class_direction(states[1], problem)
    assert expected.distance < 1e-2
    assert not expected.is_followed
    monkeypatch.setattr(class_direction_module, "MOST_UNKNOWNS", 0)
    found = nearest_class_direction(states[0], problem)
    assert found.is_followed
    assert found.kkt.residual <= 1e-10
    assert found.distance > 2.0 * expected.distance, "it was far away"
    assert found.kkt.margin == pytest.approx(expected.kkt.margin, rel=1e-9)
    np.testing.assert_allclose(
        found.solved.outputs(problem.dataset.X), expected.solved.outputs(problem.dataset.X), atol=1e-7
    )


def test_a_way_whose_end_depends_on_the_length_of_its_steps_is_not_taken(three_clouds, monkeypatch):
    """From one state of 2,000 digits steps of 0.01 and of 0.004 came to directions that are 0.003 apart."""
    monkeypatch.setattr(class_direction_module, "MOST_UNKNOWNS", 0)
    assert nearest_class_direction(three_clouds.network, three_clouds.problem).kkt.residual <= 1e-10
    followed, other = class_direction_module._uphill, clouds(4).network

    def unsteady(last, unit, kept, walls, stride):
        found = followed(last, unit, kept, walls, stride)
        return found if stride < 5e-3 else found.replace(w=found.w + 1e-3 * other.w / np.linalg.norm(other.w))

    monkeypatch.setattr(class_direction_module, "_uphill", unsteady)
    assert nearest_class_direction(three_clouds.network, three_clouds.problem) is None


def test_a_network_that_turns_towards_an_ignored_sample_is_near_no_direction():
    """A sample of the neuron's own class does not hold it: on the way to its direction it meets the sample."""
    data = IGNORING.replace(y=np.array([0, 1, 2, 0]))
    network = ignoring_direction()
    w = network.w.copy()
    w[0] = np.linalg.norm(w[0]) * unit([0.6, 0.0, 0.0, 0.8])  # inactive on sample 3 so far
    problem = TrainingProblem(data, SoftmaxLoss(), network.replace(w=1e3 * w, v=1e3 * network.v))
    assert nearest_class_direction(problem.network, problem) is None
    held = TrainingProblem(IGNORING, SoftmaxLoss(), problem.network)
    assert nearest_class_direction(held.network, held).ignored.tolist() == [3]
