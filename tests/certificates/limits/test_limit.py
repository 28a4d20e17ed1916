"""Limits of runs: directions solved for and certified, against the closed forms of the papers."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.limits import certified_limit as endings
from reluflow.certificates.limits import nearest_direction as search
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.certificates.limits.directions import direction_distance
from reluflow.certificates.limits.takeover import UNFADING, Prospects, Takeover
from reluflow.certificates.one_class import one_class_vectors
from reluflow.certificates.pattern_margin import max_margin_in_patterns, max_margin_nearby, max_margins_nearby
from reluflow.data import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AtTime, Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import INITIALIZATIONS, Network, balanced_initialization


def run(spec, *, leak=0.0, width=8, scale=1e-4, init="sphere", seed=0, loss=None, until=None):
    data = load(spec)
    network = INITIALIZATIONS[init](data, width=width, scale=scale, rng=np.random.default_rng(seed), leak=leak)
    problem = TrainingProblem(data, loss or LogisticLoss(reduction="sum"), network)
    return train(problem, EventDrivenFlow(), until=until or LimitIdentified())


@pytest.mark.parametrize("leak", [0.1, 0.5, 0.75])
def test_symmetric_data_end_at_the_global_margin(leak):
    """Lyu et al. (2021), Theorem 4.3 on Fig. 1 left: margin (1 + leak) gamma*/4, never the suboptimal KKT point."""
    limit = certified_limit(run(f"lyu-symmetric:leak={leak}", leak=leak, width=6, scale=1e-3, init="lyu-gaussian"))
    assert limit.certificate.kind == "max-margin"
    assert limit.is_proof
    assert limit.certificate.margin == pytest.approx((1 + leak) / 4, abs=1e-8)
    positive = limit.network.a > 0
    assert np.sum(limit.network.a[positive] ** 2) == pytest.approx(0.25, abs=1e-6)  # half of sum a^2 = 1/2


def test_hinted_data_end_at_one_neuron_with_a_suboptimal_margin():
    """Lyu et al. (2021), Theorem 6.2: margin eps/2 = 0.0309233 against a global 0.0543784."""
    limit = certified_limit(run("lyu-hinted", leak=0.5, width=4, init="lyu-balanced", seed=1))
    assert limit.certificate.kind == "kkt-direction"
    assert limit.certificate.margin == pytest.approx(0.0309233, abs=5e-8)
    assert limit.certificate.global_margin == pytest.approx(0.0543784, abs=5e-8)
    assert np.all(limit.network.a >= 0.0)


@pytest.mark.parametrize("spec", ["phuong-toy", "lyu-orthogonal"])
def test_orthogonally_separable_data_end_at_phuong_and_lampert_s_limit(spec):
    """Theorem 1 with the constants it leaves open: |u|^2 = 1/(|w_+|(|w_+| + |w_-|)), and the same for z."""
    limit = certified_limit(run(spec, width=12, seed=2))
    assert limit.certificate.kind == "max-margin"
    vectors = one_class_vectors(load(spec))
    plus, minus = vectors.positive, vectors.negative
    network = limit.network
    W, a = network.w / np.linalg.norm(network.w), network.a / np.linalg.norm(network.a)
    u = np.where(a > 0, W @ plus.w / plus.norm**2, 0.0)
    z = np.where(a < 0, W @ minus.w / minus.norm**2, 0.0)
    assert np.allclose(W, np.outer(u, plus.w) + np.outer(z, minus.w), atol=1e-6)
    assert np.allclose(a, u * plus.norm - z * minus.norm, atol=1e-6)
    assert np.sum(u**2) == pytest.approx(1 / (plus.norm * (plus.norm + minus.norm)), abs=1e-6)
    assert np.sum(z**2) == pytest.approx(1 / (minus.norm * (plus.norm + minus.norm)), abs=1e-6)
    assert limit.certificate.margin == pytest.approx(1 / (2 * (plus.norm + minus.norm)), abs=1e-9)


def test_light_neurons_that_are_bound_to_take_over_keep_the_run_going():
    """Erratum E4: on this set A.5 holds and one positive neuron looks like the limit, but negative neurons take over.

    A rule that only watched the direction of the whole network stopped at t = 3.4, with margin 0.005.
    """
    limit = certified_limit(run("lyu-counterexample", leak=0.1, width=2, init="lyu-balanced", seed=0, scale=0.1))
    assert limit.certificate.kind == "max-margin"
    assert limit.certificate.margin == pytest.approx(0.66087, abs=5e-6)


def test_a_run_cut_short_proves_nothing():
    limit = certified_limit(run("phuong-toy", until=AtTime(3.0)))
    assert not limit.is_proof
    assert "The requested time was reached" in limit.reason or "not settled" in limit.reason


def test_square_loss_end_point_is_certified():
    trajectory = run("three-points", loss=SquareLoss(), init="dominated", scale=1e-3, width=60, until=Stationary())
    limit = certified_limit(trajectory)
    assert limit.is_proof
    assert limit.certificate.kind == "local-minimum"
    assert limit.certificate.residuals["loss"] == pytest.approx(0.08752137, abs=1e-8)


class TestMaxMarginInPatterns:
    def test_moves_a_perturbed_optimum_back(self, rng):
        data = load("phuong-toy")
        vectors = one_class_vectors(data)
        w = np.array([vectors.positive.w, vectors.negative.w])
        exact = Network(w / np.sqrt(np.linalg.norm(w, axis=1))[:, None], [1, -1] * np.sqrt(np.linalg.norm(w, axis=1)))
        shaken = exact.replace(w=exact.w + 0.02 * rng.standard_normal((2, 2)))
        solved = max_margin_in_patterns(shaken, data)
        assert kkt_certificate(solved, data).residual < 1e-12
        assert solved.squared_norm() == pytest.approx(1.0, rel=1e-12)

    def test_shares_within_a_group_are_kept(self):
        data = load("phuong-toy")
        network = Network([[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]], [1.0, 2.0, -1.0])
        solved = max_margin_in_patterns(network, data)
        assert solved.a[1] ** 2 / solved.a[0] ** 2 == pytest.approx(4.0, rel=1e-12)

    def test_weights_count_like_copies(self):
        data = load("phuong-toy")
        two = Network([[1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], [1.0, 1.0, -1.0])
        one = Network([[1.0, 1.0], [-1.0, -1.0]], [1.0, -1.0], weight=[2.0, 1.0])
        split, heavy = max_margin_in_patterns(two, data), max_margin_in_patterns(one, data)
        assert np.allclose(split.w[0], heavy.w[0], atol=1e-10)
        assert np.allclose(split(data.X), heavy(data.X), atol=1e-10)

    def test_distance_is_between_parameters(self):
        one = Network([[1.0, 0.0]], [1.0], weight=[4.0])
        assert direction_distance(one, one.replace(a=[0.0])) == pytest.approx(2.0)

    def test_needs_binary_labels(self):
        with pytest.raises(InvalidInputError, match="labels"):
            max_margin_in_patterns(Network([[1.0]], [1.0]), Dataset([[1.0]], [0.3]))


def classifiers_at_random(seeds):
    """Runs to a direction on random data, half of it separable by a line, at three scales."""
    for seed in seeds:
        rng = np.random.default_rng(1000 + seed)
        n, d, width = int(rng.integers(6, 25)), int(rng.integers(2, 7)), int(rng.integers(5, 40))
        scale = [1e-3, 1e-1, 1.0][rng.integers(3)]
        X = rng.standard_normal((n, d))
        y = np.sign(X @ rng.standard_normal(d)) if seed % 2 else np.sign(rng.standard_normal(n))
        data = Dataset(X, y)
        network = balanced_initialization(data, width=width, scale=scale, rng=rng, leak=[0.0, 0.0, 0.3][seed % 3])
        problem = TrainingProblem(data, LogisticLoss(), network)
        yield train(problem, CollocationFlow(rtol=1e-6, max_steps=3000), until=LimitIdentified())


def proved_limits_change(seeds) -> tuple[int, int, float]:
    """How many limits are proved, how many of them from afar, and by how much the functions change when run on."""
    num_proved = num_far = 0
    largest = 0.0
    places = np.random.default_rng(5).standard_normal((200, 6))
    for first in classifiers_at_random(seeds):
        limit = certified_limit(first)
        if not limit.is_proof:
            continue
        num_proved += 1
        num_far += limit.distance > LimitIdentified().close
        problem = TrainingProblem(first.problem.dataset, LogisticLoss(), first.network)
        rule = LimitIdentified(smallest_margin=1e4, close=0.02)
        later = certified_limit(train(problem, CollocationFlow(rtol=1e-6, max_steps=3000), until=rule))
        Z = places[:, : first.problem.dataset.d]
        change = np.max(np.abs(limit.network.outputs(Z) - later.network.outputs(Z)))
        largest = max(largest, float(change / np.max(np.abs(limit.network.outputs(Z)))))
    return num_proved, num_far, largest


@pytest.mark.slow
def test_a_proved_direction_stays_when_the_run_goes_on():
    """Also where the run's own direction is far from it: every pattern on the way has the same best one."""
    num_proved, num_far, largest = proved_limits_change(range(4))
    assert num_proved >= 3
    assert num_far >= 2
    assert largest < 1e-9


@pytest.mark.slow
def test_ninety_proved_directions_stay_when_the_runs_go_on():
    """74 are proved, 59 of them from afar; a run to a margin of 1e5 has the same function at its limit."""
    num_proved, num_far, largest = proved_limits_change(range(90))
    assert num_proved >= 60
    assert num_far >= 40
    assert largest < 1e-6


def of_many_samples(seed):
    """A trained classifier of 300 samples of lengths 1 to 5, of which a few carry its direction."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 5))
    X[:, 0] += 0.5 * np.sign(X[:, 0])
    data = Dataset(X * rng.uniform(1.0, 5.0, (300, 1)), np.sign(X[:, 0]))
    network = balanced_initialization(data, width=10, scale=1e-2, rng=rng, leak=0.1)
    problem = TrainingProblem(data, LogisticLoss(), network)
    return train(problem, CollocationFlow(rtol=1e-6), until=AtTime(1e200))


@pytest.mark.parametrize("seed", range(4))
def test_the_best_direction_is_found_from_few_samples(seed, monkeypatch):
    """On 12,665 digits the active set of all samples goes astray; that of the 250 of smallest margin does not."""
    trajectory = of_many_samples(seed)
    network, problem = trajectory.network, trajectory.problem
    whole = endings.nearest_direction(network, problem)
    monkeypatch.setattr(search, "_MANY_SAMPLES", 20)
    monkeypatch.setattr(search, "_FIRST_SAMPLES", 6)  # fewer than carry it, so that others must be taken in
    asked = []

    def watched(solve, last, kept, strengths, **options):
        asked.append(kept.n)
        return solve(last, kept, strengths, **options)

    for solve in (max_margin_nearby, max_margins_nearby):
        monkeypatch.setattr(search, solve.__name__, partial(watched, solve))
    few = endings.nearest_direction(network, problem, is_hasty=True)
    assert asked[0] == 6
    assert 6 < asked[-1] < 100, "taken in, and never all of them"
    assert few.kkt.residual == pytest.approx(whole.kkt.residual, abs=1e-12)
    assert few.kkt.margin == pytest.approx(whole.kkt.margin, rel=1e-12)
    X = problem.dataset.X
    assert np.allclose(few.solved.outputs(X), whole.solved.outputs(X), rtol=0.0, atol=1e-10)


@pytest.mark.parametrize(("turning", "costly", "expected"), [
    (0.02, 0, Outcome.TAKEOVER_AHEAD),
    (1.0, 0, None),
    (0.02, 10**9, None),
])  # fmt: skip
def test_on_large_data_a_direction_that_is_left_later_is_not_waited_for_without_end(
    turning, costly, expected, monkeypatch
):
    """12,665 digits: 0.3 away from a KKT direction, turning by 0.025 per e-fold, two images to be met on the way."""
    data = load("phuong-toy")
    network = balanced_initialization(data, width=4, scale=1.0, rng=np.random.default_rng(0))
    met = Takeover(neuron=0, share=0.12, gain=UNFADING)
    near = SimpleNamespace(
        kkt=SimpleNamespace(residual=1e-15), distance=0.3, prospects=lambda: Prospects((met,), (), False)
    )
    monkeypatch.setattr(endings, "_COSTLY", costly)
    monkeypatch.setattr(endings, "nearest_direction", lambda *_, **__: near)
    seen = SimpleNamespace(
        problem=TrainingProblem(data, LogisticLoss(), network),
        outputs=lambda: 1e3 * data.y,
        network=lambda: network,
        gradient=lambda: SimpleNamespace(turning=turning),
        farthest_margin=AbstractRun.farthest_margin,
    )
    assert LimitIdentified().start()(seen) is expected
    assert "meets an ignored sample of its own sign" in met.sentence()


def test_attempts_where_the_run_has_hardly_moved_are_left_out(monkeypatch):
    """On 200 points in 784 dimensions 27 attempts took a third of the time; the run was 0.4 or more away at each."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 10))
    data = Dataset(X, np.sign(X @ rng.standard_normal(10)))
    network = balanced_initialization(data, width=10, scale=1e-2, rng=rng)
    problem = TrainingProblem(data, LogisticLoss(), network)
    monkeypatch.setattr(endings, "_COSTLY", 0)
    attempts, ends = [], []
    solve = endings.nearest_direction
    monkeypatch.setattr(
        endings, "nearest_direction", lambda *given, **options: attempts.append(1) or solve(*given, **options)
    )
    for share in (0.0, endings._SHARE_OF_WAY):
        monkeypatch.setattr(endings, "_SHARE_OF_WAY", share)
        attempts.clear()
        trajectory = train(problem, CollocationFlow(rtol=1e-6), until=LimitIdentified())
        ends.append((len(attempts), trajectory.outcome, trajectory.log_time))
    assert ends[1][0] < ends[0][0]
    assert ends[1][1:] == ends[0][1:]
