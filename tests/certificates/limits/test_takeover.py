"""Light neurons that can still change a limit, and samples that are ignored for ever."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import reluflow.certificates.limits.certified_limit as limit_module
import reluflow.certificates.limits.nearest_direction as search_module
from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.certificates.limits.nearest_direction import nearest_direction
from reluflow.certificates.limits.takeover import NO_PULL, Prospects, Takeover, _keeps_best, prospects
from reluflow.certificates.pattern_margin import max_margins_nearby
from reluflow.data import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import Exhausted, FirstOf, Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.geometry.alignment import align
from reluflow.losses import ExponentialLoss, LogisticLoss, SquareLoss
from reluflow.network import Network
from reluflow.theory.check import check
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind


def end_of(problem, *, max_steps=2000):
    return train(problem, EventDrivenFlow(max_steps=max_steps), until=FirstOf((LimitIdentified(), Stationary())))


def lopsided(size):
    """One heavy positive neuron and a light negative one, on the data of erratum E4."""
    return TrainingProblem(
        load("lyu-counterexample"), LogisticLoss(), Network([[6.0, 0.0], [0.0, -size]], [6.0, -size], leak=0.1)
    )


@pytest.mark.parametrize("size", [1e-1, 1e-3, 1e-6])
def test_a_light_neuron_that_takes_over_is_waited_for(size):
    """At 1e-6 the run stopped after one step as kkt-direction, margin 0.5, proof true; the limit has margin 0.66087."""
    limit = certified_limit(end_of(lopsided(size)))
    assert limit.certificate.kind is Kind.MAX_MARGIN
    assert limit.certificate.margin == pytest.approx(0.66087, abs=5e-6)
    assert limit.is_proof


def test_a_takeover_too_far_away_is_said_and_not_proved():
    """At 1e-300 nobody can wait: the direction is KKT, but it is not the limit, and the neuron is named."""
    trajectory = end_of(lopsided(1e-300))
    limit = certified_limit(trajectory)
    assert trajectory.outcome.code == "takeover-ahead"
    assert not limit.is_proof
    assert "Neuron 2" in limit.reason
    assert "takes over later" in limit.reason


@pytest.mark.parametrize("size", [1e-3, 1e-6])
def test_theorem_3_1_does_not_fail_at_a_wrong_limit(size):
    """`check lyu2021:thm3.1` said `fails` of a proven theorem at 1e-6, and `holds` at the wrong limit at 1e-3."""
    verdict = check(theorem_named("lyu2021:thm3.1"), lopsided(size), max_steps=3000)
    assert verdict.kind is not VerdictKind.FAILS


@pytest.mark.slow
@pytest.mark.parametrize("block", range(6))
def test_what_is_called_proved_is_where_the_run_goes(block):
    """Lopsided networks at random (sizes 1 to 1e-12, two losses, leaks): what is proved is where a longer run is."""
    num_proved = 0
    for seed in range(20 * block, 20 * block + 20):
        problem = random_problem(seed)
        trajectory = end_of(problem, max_steps=600)
        limit = certified_limit(trajectory)
        if not limit.is_proof:
            continue
        num_proved += 1
        ahead = {"log_horizon": min(550.0, 2.5 * max(trajectory.log_time, 10.0))}
        longer = train(problem, EventDrivenFlow(max_steps=1500), until=Exhausted(), **ahead)
        if limit.certificate.kind in (Kind.KKT_DIRECTION, Kind.MAX_MARGIN, Kind.PARTIAL_DIRECTION):
            near = nearest_direction(longer.network, problem)
            X = problem.dataset.X
            assert near is not None, seed
            np.testing.assert_allclose(near.solved.outputs(X), limit.network.outputs(X), atol=1e-6, err_msg=str(seed))
        else:
            assert longer.loss >= trajectory.loss * (1.0 - 1e-6), seed
    assert num_proved >= 3


def random_problem(seed):
    rng = np.random.default_rng(seed)
    d, n, m = int(rng.integers(2, 4)), int(rng.integers(2, 6)), int(rng.integers(2, 6))
    X = rng.standard_normal((n, d)) * np.exp(rng.normal(size=(n, 1)))
    y = np.sign(X @ rng.standard_normal(d)) if seed % 3 else rng.choice([-1.0, 1.0], n)
    sizes = 10.0 ** rng.uniform(-12, 0, m)
    sizes[0] = rng.uniform(0.5, 3.0)
    w = rng.standard_normal((m, d))
    w *= (sizes / np.linalg.norm(w, axis=1))[:, None]
    network = Network(w, rng.choice([-1.0, 1.0], m) * sizes, leak=[0.0, 0.0, 0.1, 0.5][seed % 4])
    loss = [LogisticLoss(), ExponentialLoss(), LogisticLoss(reduction="sum")][seed % 3]
    return TrainingProblem(Dataset(X, y), loss, network)


def test_a_saddle_with_a_light_neuron_that_grows_is_not_the_end_of_a_square_loss():
    """The heavy neuron fits its sample at once; the light one, 1e-9 of it, still fits the other."""
    data = Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    network = Network([[1.0, -1.0], [-1e-9, 1e-9]], [1.0, np.sqrt(2) * 1e-9])
    limit = certified_limit(end_of(TrainingProblem(data, SquareLoss(), network)))
    assert limit.certificate.kind is Kind.GLOBAL_MINIMUM


class TestIgnoredSamples:
    """A kind was missing: "local minimum, proved" was said where the norm grows for ever past ignored samples."""

    DATA = Dataset([[1.0, 0.2], [0.8, -0.1], [-1.0, 0.1]], [1, 1, -1])
    START = Network([[0.1, 0.02], [0.05, 0.0]], [0.1, 0.06])  # no neuron is active on the last sample

    def test_a_run_names_them(self):
        problem = TrainingProblem(self.DATA, LogisticLoss(), self.START)
        trajectory = end_of(problem)
        limit = certified_limit(trajectory)
        assert trajectory.outcome.code == "direction-converged"
        assert limit.certificate.kind is Kind.PARTIAL_DIRECTION
        assert limit.certificate.ignored == (2,)
        assert limit.is_proof
        assert limit.certificate.residuals["loss_at_infinity"] == pytest.approx(np.log(2) / 3)
        assert trajectory.loss == pytest.approx(np.log(2) / 3, abs=1e-4)
        assert "sample 3" in limit.certificate.reasons[0]

    def test_the_loss_falls_along_the_direction(self):
        problem = TrainingProblem(self.DATA, LogisticLoss(), self.START)
        network = certified_limit(end_of(problem)).network
        losses = [LogisticLoss().total(network.scaled(s).outputs(self.DATA.X), self.DATA.y) for s in (0.0, 1.0, 2.0)]
        assert losses[0] > losses[1] > losses[2] > np.log(2) / 3

    def test_a_direction_that_is_no_kkt_point_of_the_others_is_none(self):
        certificate = certify(Network([[0.3, 1.0]], [1.0]), self.DATA, LogisticLoss())
        assert certificate.kind is Kind.NOT_STATIONARY
        assert not certificate.is_proved

    def test_a_neuron_on_the_boundary_of_an_ignored_sample_leaves_it_open(self):
        """It would be pulled in on one side and is dead on the other."""
        solved = certified_limit(end_of(TrainingProblem(self.DATA, LogisticLoss(), self.START))).network
        w, a = np.vstack([solved.w, [0.01, 0.1]]), np.append(solved.a, -0.1)
        certificate = certify(Network(w, a), Dataset(self.DATA.X[[0, 2]], [1, -1]), LogisticLoss())
        assert certificate.kind is not Kind.PARTIAL_DIRECTION or certificate.open_points

    def test_a_leak_ignores_nothing(self):
        problem = TrainingProblem(self.DATA, LogisticLoss(), self.START.replace(leak=0.1))
        assert certified_limit(end_of(problem)).certificate.ignored == ()


@pytest.mark.parametrize(
    ("sample", "crossings", "keeps"),
    [
        (1, 1, True),  # pulls, but far from the smallest margin with the neuron off it
        (2, 1, True),  # pushes: the problem is convex on both sides
        (0, 1, False),  # of smallest margin: on the other side another direction may be best
        (1, 2, False),  # something else was crossed as well
    ],
)
def test_a_way_is_allowed_only_through_patterns_with_the_same_best_direction(sample, crossings, keeps):
    """Two neurons along (1, 0) and one along (-1, 0); the first crosses the boundary of one sample, as if."""
    data = Dataset([[1.0, 0.0], [5.0, 1.0], [-1.0, 0.0]], [1.0, 1.0, -1.0])
    half = np.sqrt(0.5)
    limit = Network([[half, 0.0], [half, 0.0], [-1.0, 0.0]], [half, half, -1.0])
    kkt = kkt_certificate(limit, data)
    assert kkt.residual < 1e-12
    way = align(data.X, kkt.multipliers * data.y, limit.w, limit.a)
    patterns = np.sign(limit.w @ data.X.T).astype(np.int8)
    patterns[0, sample] *= -1
    forged = replace(way, patterns=patterns, crossings=np.array([crossings, 0, 0]))
    assert _keeps_best(forged, limit, limit, np.arange(3), data, kkt) is keeps


def crowded(rng):
    """The same with a dozen light neurons, and with twenty samples far out, of which none pulls."""
    data, heavy = load("lyu-counterexample"), lopsided(1e-6).network
    place = rng.integers(0, data.n, 20)
    far = Dataset(np.vstack([data.X, rng.uniform(3.0, 9.0, (20, 1)) * data.X[place]]), np.append(data.y, data.y[place]))
    w, a = 1e-9 * rng.standard_normal((12, 2)), rng.choice([-1e-9, 1e-9], 12)
    network = Network(np.vstack([heavy.w, w]), np.append(heavy.a, a), leak=heavy.leak)
    return TrainingProblem(far, LogisticLoss(), network)


@pytest.mark.parametrize("seed", range(6))
def test_who_takes_over_is_seen_without_the_samples_that_do_not_pull(seed, monkeypatch):
    """Following 50 neurons past 12,665 images of which 92 pull took 78 s; under these alone it takes half a second."""
    problem = crowded(np.random.default_rng(seed))
    network, data = problem.network, problem.dataset
    _, solved = max_margins_nearby(network, data, np.exp(-data.y * network.outputs(data.X)))
    assert np.abs(solved.w[1:]).max() < 1e-6  # nobody was let in
    near = replace(nearest_direction(network, problem), solved=solved, kkt=kkt_certificate(solved, data))
    assert 0 < np.count_nonzero(near.kkt.multipliers) < 0.5 * data.n
    quick = near.prospects()
    monkeypatch.setattr("reluflow.certificates.limits.takeover._FEW_PULL", 0.0)
    assert quick.takeovers == near.prospects().takeovers


def test_a_direction_of_the_heavy_neurons_alone_names_who_leaves_it(monkeypatch):
    """On 12,665 images no direction was found for seven bundles, two of them heavy, and the run had no end."""
    problem = lopsided(1e-6)
    real = search_module.max_margins_nearby

    def only_heavy(*given, **settings):
        _, alone = real(*given, **settings)
        return iter((None, alone))

    monkeypatch.setattr(search_module, "max_margins_nearby", only_heavy)
    near = nearest_direction(problem.network, problem, is_hasty=True)
    assert near.kkt.residual < 1e-12
    assert near.kkt.margin == pytest.approx(0.5)
    assert not near.solved.w[1].any()
    assert [takeover.neuron for takeover in near.prospects().takeovers] == [1]


@pytest.mark.parametrize(
    ("distance", "outputs_then", "farthest", "ends"),
    [
        (0.01, 1e5, 1e4, True),
        (0.01, 1e3, 1e4, False),  # waited for
        (0.01, 1e5, 1e250, False),  # by a method that goes so far
        (0.08, 1e5, 1e4, False),  # the run may yet turn
    ],
)
def test_a_takeover_ends_a_run_where_it_is_far_and_foreseen_from_near(
    distance, outputs_then, farthest, ends, monkeypatch
):
    problem, margin = lopsided(1e-6), 200.0
    growth = float(np.log(outputs_then / margin))
    takeover = Takeover(neuron=1, share=float(np.exp(-0.5 * growth)), gain=2.0)
    assert takeover.log_growth == pytest.approx(growth)
    near = SimpleNamespace(
        distance=distance,
        kkt=SimpleNamespace(residual=0.0),
        prospects=lambda: Prospects((takeover,), (), False),
    )
    monkeypatch.setattr(limit_module, "nearest_direction", lambda *_, **__: near)
    run = SimpleNamespace(
        problem=problem,
        outputs=lambda: margin * problem.dataset.y,
        network=lambda: problem.network,
        gradient=lambda: SimpleNamespace(turning=1.0),
        farthest_margin=farthest,
    )
    assert LimitIdentified().start()(run) is (Outcome.TAKEOVER_AHEAD if ends else None)


def test_where_no_sample_pulls_nothing_is_known_of_the_way_ahead():
    """A direction without multipliers has no forces to follow neurons under; they were followed under no samples."""
    data = load("lyu-counterexample")
    network = Network([[6.0, 0.0], [0.0, -1.0]], [6.0, -1.0], leak=0.1)
    kkt = replace(kkt_certificate(network, data), multipliers=np.zeros(data.n))
    found = prospects(network, network, data, kkt, np.asarray(data.y), None)
    assert found == Prospects((), (NO_PULL,), False)
    assert not found.is_final
