"""Numbers of runs computed elsewhere, by a piecewise DOP853 at 1e-13 and a stiff solver in log time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from papers.min2025.piecewise_flow import descend, follow, loss
from reluflow.data.registry import load
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.dynamics.train import train
from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.papers.min2025 import starts
from reluflow.papers.min2025.alignments import Alignments
from reluflow.papers.min2025.class_geometry import ClassGeometry, force_length, pseudo_labels
from reluflow.papers.min2025.collapse import (
    collapse_metrics,
    limit_metrics,
    limit_network,
    margin_one_multipliers,
    margin_one_network,
)
from reluflow.papers.min2025.starts import STARTS

FLOW = CollocationFlow(rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "mu_s", "mu_d", "gammas", "shares", "tql", "nc1"),
    [
        ("a", 2 / 3, 0.0890870806, (5**0.5, 3, 13**0.5), (0.2113691522, 0.1575452643, 0.1310855835), 0.4318846527,
         0.02141848047),
        ("b", 0.0493218624, 0.0049505102, (1.4585941031, 1.4560040923, 1.4560219779),
         (0.1664699330, 0.1667660578, 0.1667640092), 0.8406672348, 0.0),
        ("c", 16 / 17, 0.4550245628, (4.0620192023, 4.0983601056, 4.0509258201),
         (0.1670078470, 0.1655269581, 0.1674651948), 0.3008953870, 1.661283694e-5),
        ("d", 0.9284766909, 0.1485562705, (2.5, 7**0.5, 7.25**0.5, 7**0.5),
         (0.1309483602, 0.1237345699, 0.1215825001, 0.1237345699), 0.6613487963, 0.01923798147),
    ],
)  # fmt: skip
def test_constants_of_the_sets(name, mu_s, mu_d, gammas, shares, tql, nc1):
    geometry = ClassGeometry.of(load(f"min2025-{name}"))
    assert geometry.mu_s == pytest.approx(mu_s, abs=6e-11)
    assert geometry.mu_d == pytest.approx(mu_d, abs=6e-11)
    np.testing.assert_allclose(geometry.gammas, gammas, atol=6e-11)
    np.testing.assert_allclose(geometry.shares, shares, atol=6e-11)
    assert geometry.growth / 2 == pytest.approx(tql, abs=6e-11)
    assert limit_metrics(geometry).within == pytest.approx(nc1, rel=1e-9, abs=1e-15)


def test_closed_forms_of_a():
    geometry = ClassGeometry.of(load("min2025-a"))
    expected = np.array(
        [np.array([2, 0, 0, 1]) / 5**0.5, np.array([-2, 2, 0, -1]) / 3, np.array([-2, -3, 0, 0]) / 13**0.5]
    )
    np.testing.assert_allclose(geometry.directions, expected, atol=1e-9)
    np.testing.assert_allclose(
        force_length(3) / geometry.gammas, [0.3651483717, 0.2721655270, 0.2264554068], atol=6e-11
    )
    assert 1.0 / (2.0 * geometry.growth) == pytest.approx(0.5788582632, abs=6e-11)
    metrics = limit_metrics(geometry)
    assert metrics.self_dual == pytest.approx(0.09913885315, rel=1e-9)
    assert metrics.self_dual_means == pytest.approx(0.2460966365, rel=1e-9)
    assert metrics.self_dual_printed == pytest.approx(0.2500953361, rel=1e-9)


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_the_limit_network_has_the_metrics_in_closed_form(name):
    """Two ways: the metrics of the limit network, and their closed forms."""
    geometry = ClassGeometry.of(load(f"min2025-{name}"))
    measured, closed = collapse_metrics(limit_network(geometry), geometry), limit_metrics(geometry)
    for field in vars(closed):
        assert getattr(measured, field) == pytest.approx(getattr(closed, field), abs=1e-9), field


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_the_closed_multipliers_certify_the_limit(name):
    """Stationarity and complementarity written out here."""
    data = load(f"min2025-{name}")
    geometry = ClassGeometry.of(data)
    network, lam = margin_one_network(geometry), margin_one_multipliers(geometry)
    assert np.all(lam >= 0.0)
    h, K = network.outputs(data.X), geometry.num_classes
    forces = np.zeros((data.n, K))
    for k in range(data.n):
        y = geometry.labels[k]
        for c in range(K):
            if c != y:
                forces[k] += lam[k, c] * (np.eye(K)[y] - np.eye(K)[c])
                assert lam[k, c] * (h[k, y] - h[k, c] - 1.0) == pytest.approx(0.0, abs=1e-10)
    for j in range(K):
        active = data.X @ network.w[j] > 0.0
        np.testing.assert_allclose((active * (forces @ network.v[j])) @ data.X, network.w[j], atol=1e-10)
        np.testing.assert_allclose((active * (data.X @ network.w[j])) @ forces, network.v[j], atol=1e-10)
    assert min(h[k, geometry.labels[k]] - np.delete(h[k], geometry.labels[k]).max() for k in range(data.n)) == (
        pytest.approx(1.0, abs=1e-10)
    )


@pytest.fixture(scope="module")
def run_a():
    return train(starts.golden_a(), FLOW, until=Exhausted(), times=[0.5, 1, 2, 5, 20, 100], horizon=100.0)


def test_g1(run_a):
    losses = [9.098345595, 2.442832676, 0.1010714410, 0.01889158916, 0.003091060117, 4.797543314e-4]
    norms = [0.1610735784, 3.753088356, 8.192167627, 10.89990669, 13.92910396, 17.08512212]
    np.testing.assert_allclose([s.loss for s in run_a.snapshots], losses, rtol=6e-10)
    np.testing.assert_allclose([s.network.squared_norm() for s in run_a.snapshots], norms, rtol=6e-10)
    assert len(run_a.events) == 0


def test_g1_by_descent_as_its_step_goes_to_0(run_a):
    """Three steps, each half of the one before, extrapolated twice: what is left is of their third order."""
    data, network = run_a.problem.dataset, run_a.problem.network.materialized()
    labels = data.y.astype(int)
    for time, golden in ((1.0, 2.442832676), (5.0, 0.01889158916)):
        steps = (1e-3, 5e-4, 2.5e-4)
        found = [loss(data.X, labels, *descend(data.X, labels, network.w, network.v, lr, round(time / lr)))
                 for lr in steps]  # fmt: skip
        first, second = (2.0 * fine - coarse for coarse, fine in pairwise(found))
        assert (4.0 * second - first) / 3.0 == pytest.approx(golden, rel=3e-7)


@pytest.mark.parametrize(
    ("log_t", "shares", "off_w", "off_v", "tql", "within", "self_dual"),
    [
        (np.log(100.0), (0.213295, 0.156345, 0.130360), 7.35e-2, 2.1e-3, 0.46922, 0.027137, 0.102609),
        (100.0, (0.211692, 0.157356, 0.130951), 2.43e-2, 3.5e-4, 0.43588, 0.022970, 0.099732),
    ],
)
def test_g1_on_the_way_to_its_limit(log_t, shares, off_w, off_v, tql, within, self_dual):
    """Two rows of the table, to the digits given: the others, log t = 1000 and 10000, are no times in doubles.

    The distances are the largest over the classes, and q is the mean over them of the smallest margin.
    """
    time = float(np.exp(log_t))
    run = train(starts.golden_a(), CollocationFlow(rtol=1e-11), until=Exhausted(), times=[time], horizon=time)
    (snapshot,), data = run.snapshots, run.problem.dataset
    geometry = ClassGeometry.of(data)
    size = np.sqrt(np.sum(snapshot.network.w**2) + np.sum(snapshot.network.v**2))
    W, V = snapshot.network.w / size, snapshot.network.v / size
    groups = [slice(2 * c, 2 * c + 2) for c in range(3)]
    np.testing.assert_allclose([np.sum(W[group] ** 2) for group in groups], shares, atol=6e-7)
    distances_w, distances_v, margins = [], [], []
    for c, group in enumerate(groups):
        along = W[group] @ geometry.directions[c]
        lengths = np.sqrt(geometry.shares[c]) * along / np.linalg.norm(along)
        distances_w.append(np.linalg.norm(W[group] - np.outer(lengths, geometry.directions[c])))
        distances_v.append(np.linalg.norm(V[group] - np.outer(lengths, pseudo_labels(3)[c])))
        outputs = snapshot.outputs[geometry.labels == c]
        margins.append(np.min(outputs[:, c] - np.delete(outputs, c, axis=1).max(axis=1)))
    assert max(distances_w) == pytest.approx(off_w, rel=2e-3)
    assert max(distances_v) == pytest.approx(off_v, rel=2e-2)
    assert time * np.mean(margins) * snapshot.loss == pytest.approx(tql, abs=6e-6)
    metrics = collapse_metrics(snapshot.network, geometry)
    assert metrics.within == pytest.approx(within, abs=6e-7)
    assert metrics.self_dual == pytest.approx(self_dual, abs=6e-7)
    assert metrics.between <= 1e-14


def test_the_printed_nc3_cannot_vanish():
    """Its target is sqrt(K/(K-1)) long: at least 0.2247 on set b, whatever the network (erratum E10)."""
    geometry = ClassGeometry.of(load("min2025-b"))
    assert limit_metrics(geometry).self_dual_printed == pytest.approx(0.224745, abs=2e-6)
    assert limit_metrics(geometry).self_dual == pytest.approx(0.0004174043539, rel=1e-6)
    assert 1.0 / (2.0 * geometry.growth) == pytest.approx(0.2973828284, abs=6e-11)


@pytest.fixture(scope="module")
def run_b():
    return train(starts.golden_b(), FLOW, until=Exhausted(), times=[1, 2, 4, 8, 20, 100], horizon=100.0)


def test_g2(run_b):
    losses = [6.573999592, 5.552401587, 0.1777253107, 0.03307619525, 0.007915716529, 0.001057488135]
    np.testing.assert_allclose([s.loss for s in run_b.snapshots], losses, rtol=6e-10)
    found = [(e.neuron + 1, e.sample + 1) for e in run_b.events]
    assert found == [(4, 6), (1, 2), (3, 4), (5, 5), (2, 1)]
    expected = [1.332336572, 1.346523947, 1.354663418, 1.450558476, 1.474016388]
    np.testing.assert_allclose(run_b.events.times, expected, atol=2e-9)


def test_g2_by_another_integrator(run_b):
    network, data = run_b.problem.network.materialized(), run_b.problem.dataset
    labels = data.y.astype(int)
    states, crossings = follow(data.X, labels, network.w, network.v, [1.0, 2.0, 4.0])
    np.testing.assert_allclose(
        [loss(data.X, labels, *z) for z in states], [s.loss for s in run_b.snapshots[:3]], rtol=1e-9
    )
    np.testing.assert_allclose([t for t, *_ in crossings], run_b.events.times, atol=2e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e-9])
def test_g2_as_the_scale_vanishes(scale):
    run = train(starts.golden_b(scale), FLOW, until=2.0)
    expected = [1.330628072, 1.344688016, 1.352840326, 1.448444700, 1.471672905]
    np.testing.assert_allclose(run.events.times, expected, atol=3e-9)


def test_s_slides_and_joins_class_1():
    """With three classes a neuron may slide even on orthogonally separable data; with two it never does."""
    times = (0.1, 0.2, 0.5, 1.0)
    run = train(starts.sliding(), FLOW, until=Exhausted(), times=times, horizon=1.0)
    assert next((e.sample + 1, str(e.kind)) for e in run.events) == (5, "slide-entry")
    assert run.events.times[0] == pytest.approx(0.1336334428, abs=2e-10)
    found = [Alignments.of(s.network, ClassGeometry.of(run.problem.dataset)) for s in run.snapshots]
    np.testing.assert_allclose(
        [a.A[0, 0] for a in found], [4.022802113, 3.451884673, 5.663162305, 7.341591666], rtol=2e-9
    )
    np.testing.assert_allclose(
        [a.B[0, 0] for a in found], [-0.4176412887, -0.1478381542, 0.6947555828, 0.9988075746], rtol=2e-9
    )
    sizes = [np.linalg.norm(s.network.materialized().w) / 1e-6 for s in run.snapshots]
    np.testing.assert_allclose([sizes[1], sizes[3]], [0.7409702101, 15.01070259], rtol=2e-9)


@pytest.mark.parametrize("start", [start for start in STARTS if start.dataset], ids=lambda start: start.name)
def test_every_start_has_a_name(start):
    """A start was a function of a module only: run S on set A could not be asked for from the command line."""
    functions = {
        "min2025-g1": starts.golden_a,
        "min2025-g2": starts.golden_b,
        "min2025-s": starts.sliding,
        "min2025-ce1": starts.counterexample_1,
        "min2025-ce2": starts.counterexample_2,
    }
    own = functions[start.name](1e-6)
    width, data = own.network.num_neurons, own.dataset.name
    assert start.dataset == data
    asked = Experiment(data=data, init=start.name, width=width, scale="1e-6", reduction="sum").problem()
    np.testing.assert_array_equal(asked.network.w, own.network.w)
    np.testing.assert_array_equal(asked.network.v, own.network.v)
    assert asked.network.log_scale == pytest.approx(own.network.log_scale, rel=1e-14)
    assert asked.loss == own.loss
    with pytest.raises(InvalidInputError, match=f"`width` must be {width} for init {start.name}, got {width + 1}"):
        Experiment(data=data, init=start.name, width=width + 1).problem()
    with pytest.raises(InvalidInputError, match=f"`init` {start.name} is a start on {data}, got the data min2025-d"):
        Experiment(data="min2025-d", init=start.name, width=width).problem()


def test_s_by_its_name_has_its_golden_numbers():
    asked = Experiment(data="min2025-a", init="min2025-s", width=1, scale="1e-6", reduction="sum")
    run = train(asked.problem(), FLOW, until=AtTime(1.0), times=(1.0,))
    assert run.events.times[0] == pytest.approx(0.1336334428, abs=2e-10)
    found = Alignments.of(run.snapshots[-1].network, ClassGeometry.of(run.problem.dataset))
    assert (found.A[0, 0], found.B[0, 0]) == pytest.approx((7.341591666, 0.9988075746), rel=2e-9)


HALF_LOSS_TIMES = {1e-4: (1.4407937, 0.9683384, 0.7764048), 1e-6: (2.2083220, 1.4965880, 1.2064630)}


@pytest.mark.parametrize(("scale", "times"), HALF_LOSS_TIMES.items())
def test_when_each_class_is_learnt(scale, times):
    """At its half-loss time the loss of a class is half of what it was at output 0; the last class comes first."""
    run = train(starts.golden_a(scale), FLOW, until=Exhausted(), times=sorted(times), horizon=max(times))
    labels = ClassGeometry.of(run.problem.dataset).labels
    for c, snapshot in zip((2, 1, 0), run.snapshots, strict=True):
        own = snapshot.outputs[labels == c]
        lost = np.sum(np.log(np.sum(np.exp(own), axis=1)) - own[:, c])
        assert lost == pytest.approx(0.5 * 3.0 * np.log(3.0), rel=1e-5)


def test_slopes_of_the_learning_times():
    """Half-loss times of set a at scales 1e-4 and 1e-6 are 1/(kappa |S_c|) log(100) apart, to seven digits."""
    golden = np.array(list(HALF_LOSS_TIMES.values()))
    rates = ClassGeometry.of(load("min2025-a")).learning_rates
    np.testing.assert_allclose((golden[1] - golden[0]) / np.log(100.0), 1.0 / rates, rtol=3e-6)
    np.testing.assert_allclose(1.0 / rates, [1 / 6, 0.11470787, 0.09338592], atol=6e-9)


def test_pseudo_labels_are_a_simplex():
    for K in (2, 3, 4, 10):
        gram = pseudo_labels(K) @ pseudo_labels(K).T
        np.testing.assert_allclose(gram, np.where(np.eye(K) == 1, 1.0, -1.0 / (K - 1)), atol=1e-14)


def test_the_binary_limit_is_that_of_the_toy_of_phuong2021():
    """Shares of |theta|^2 in closed form, and the run of one neuron of each sign at log t = 300."""
    from reluflow.losses import LogisticLoss
    from reluflow.network import Network

    data = load("phuong-toy")
    shares = ClassGeometry.of(data).shares
    np.testing.assert_allclose(np.sort(shares), [0.2171665356, 0.2828334644], atol=6e-11)
    means = [data.X[data.y == sign].sum(axis=0) for sign in (1.0, -1.0)]
    w = np.array([mean / np.linalg.norm(mean) for mean in means])
    problem = TrainingProblem(data, LogisticLoss(reduction="sum"), Network(w, [1.0, -1.0], log_scale=np.log(1e-3)))
    times = [np.exp(75.0), np.exp(150.0), np.exp(300.0)]
    run = train(problem, CollocationFlow(rtol=1e-9), until=Exhausted(), times=times, horizon=times[-1])
    found = []
    for snapshot in run.snapshots:
        squares = np.sum(snapshot.network.w**2, axis=1)
        found.append(squares[0] / (squares.sum() + np.sum(snapshot.network.a**2)))
    off = np.abs(np.array(found) - shares[0])
    assert off[2] < 1e-3
    np.testing.assert_allclose(off[:2] / off[1:], 2.0, rtol=0.05)  # like 1/log t, to the closed form
