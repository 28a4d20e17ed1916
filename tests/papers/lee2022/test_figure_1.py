"""Figure 1 of Lee, Sim & Ye (2022): the claims at quick size, the run behind Figures 1 and 2, and the scaling law.

Seeds 0 to 5 at quick size. Bounds on the angle: never left (allowed 0.01 rad). Two layers, spread of the steps to 175
degrees: 0.014 to 0.13 (allowed 0.2). Three layers, lag of the small start: 43 to 83 degrees (20 asked). Descent on
samples against the flow: 0.026 to 0.087 rad (allowed 1.5 sqrt(d/n) = 0.15); on the population: 0.035 to 0.097 % of pi
(allowed 0.2).
"""

from dataclasses import replace

import numpy as np
import pytest

from reluflow.errors import BackendError
from reluflow.papers.lee2022.figures import nine_starts_run
from reluflow.papers.lee2022.figures.figure_1 import FIGURE, bounds_on_gap, claims, start_of, turning_steps
from reluflow.papers.lee2022.figures.nine_starts_run import (
    LAYERS,
    QUICK,
    SCALING_STARTS,
    NineStarts,
    compute,
    scaling_times,
)
from reluflow.papers.lee2022.figures.published_settings import recorded_steps, samples, start_direction
from reluflow.papers.lee2022.single_neuron import (
    BalancedNeuron,
    balanced_columns,
    balanced_flow,
    balanced_orbit,
    sample_descent,
)
from reluflow.papers.store import ResultStore
from reluflow.papers.workbench import Workbench

TINY = replace(QUICK, n=300, d=5, steps=120, rebuilt_at=30, chunk=50, rates=(1e-2, 1e-3, 1e-3), teacher_stds=(1, 1, 1))


def the(judged, words):
    found = [claim for claim in judged if words in claim.text]
    assert len(found) == 1, words
    return found[0]


def test_claims(nine_starts):
    judged = claims(QUICK, nine_starts)
    assert [claim.text for claim in judged if claim.holds is not True and not claim.finding] == []
    reading = the(judged, "with $k$ as a variance")
    assert reading.holds is False
    assert reading.measured < 10_000


def test_claims_notice_what_is_wrong(nine_starts):
    """Every claim about the run fails on results that break it."""
    sampled, population, flow = nine_starts.sampled, nine_starts.population, nine_starts.flow
    gap = sampled.gap

    def verdict(words, **changes):
        return the(claims(QUICK, replace(nine_starts, **changes)), words).holds

    slow = gap.copy()
    slow[1:, 4] = gap[0, 4]  # a neuron that never turns leaves its lower bound
    assert verdict("hold in all nine panels, $n$", sampled=replace(sampled, gap=slow)) is False
    assert verdict("makes no difference", sampled=replace(sampled, gap=slow)) is False
    assert verdict("follows the exact flow", population=replace(population, gap=slow)) is False
    assert verdict("and on $n$ = 4,000", sampled=replace(sampled, gap=slow)) is False
    drift = flow.gap.copy()
    drift[1:, 0] = flow.gap[0, 0]
    assert verdict("along the exact flow", flow=replace(flow, gap=drift)) is False
    assert verdict("on infinitely many samples, up to", population=replace(population, gap=drift)) is False
    assert verdict("the smaller the start", sampled=replace(sampled, gap=gap[:, [2, 1, 0, *range(3, 9)]])) is False
    assert verdict("small start is the slowest", sampled=replace(sampled, gap=gap[:, [*range(6), 7, 6, 8]])) is False
    turned = gap.copy()
    turned[1:, 6] = 0.01
    assert verdict("has not turned", sampled=replace(sampled, gap=turned)) is False
    assert verdict("and none at all", flow=replace(flow, gap=flow.gap[:, [*range(4), 0, *range(5, 9)]])) is False
    assert verdict("what they assume", sampled=replace(sampled, magnitude=0.4 * sampled.magnitude)) is False
    assert verdict("$q$ = 2", scaling_times=np.sqrt(nine_starts.scaling_times)) is False


def test_bounds_start_where_the_theorem_says(nine_starts):
    """At T = 0 they are 2 y and 2 y - (2/3) y^3 with y = cot(phi_0/2)."""
    band = bounds_on_gap(QUICK, nine_starts, 7)
    y = 1.0 / np.tan(0.5 * (np.pi - nine_starts.sampled.gap[0, 7]))
    assert band.upper[0] == pytest.approx(2 * y)
    assert band.lower[0] == pytest.approx(2 * y - 2 * y**3 / 3)


def test_flow_by_quadrature(nine_starts):
    """The flow that the figures draw is integrated; the orbit is two integrals and no integrator."""
    for column, q in enumerate(LAYERS):
        exact = balanced_orbit(start_of(nine_starts, column)).at_times(QUICK.rates[q] * nine_starts.steps)
        np.testing.assert_allclose(nine_starts.flow.gap[:, column], exact.gap, rtol=1e-8, atol=1e-11)
        np.testing.assert_allclose(nine_starts.flow.magnitude[:, column], exact.magnitude, rtol=1e-9)


def test_nine_columns_are_three_runs_of_sample_descent():
    """The run keeps one v per column and all depths in one product; `sample_descent` knows neither shortcut."""
    results = compute(TINY, Workbench("lee2022/fig1", TINY))
    steps = recorded_steps(TINY.steps, kept=(TINY.rebuilt_at,))
    direction = start_direction(TINY.d, TINY.seed)
    for q in range(3):
        data = samples(n=TINY.n, d=TINY.d, layers=q, std=1.0, seed=TINY.seed)
        columns = balanced_columns(np.outer(direction, TINY.start_factors), q=q)
        run = sample_descent(columns, data.dataset, data.teacher, steps, step_size=TINY.rates[q])
        own = q == LAYERS
        np.testing.assert_allclose(results.sampled.magnitude[:, own], run.magnitude, rtol=1e-11)
        np.testing.assert_allclose(results.sampled.gap[:, own], run.gap, rtol=1e-9)
        for layer in range(q):
            np.testing.assert_allclose(results.scalar[:, own], run.v[:, layer], rtol=1e-11)


def test_an_interrupted_run_goes_on_and_serves_both_figures(tmp_path, monkeypatch):
    whole = compute(replace(TINY, chunk=1_000), Workbench("lee2022/fig1", TINY))
    store, chunk, begun = ResultStore(tmp_path), nine_starts_run._chunk, []

    def watched(columns, teacher, begin, stops):
        if begin == 100 and 100 not in begun:
            begun.append(100)
            raise KeyboardInterrupt
        begun.append(begin)
        return chunk(columns, teacher, begin, stops)

    monkeypatch.setattr(nine_starts_run, "_chunk", watched)
    with pytest.raises(KeyboardInterrupt):
        compute(TINY, Workbench("lee2022/fig1", TINY, store=store))
    results = compute(TINY, Workbench("lee2022/fig2", TINY, store=store))
    assert begun == [0, 50, 100, 100]
    np.testing.assert_array_equal(results.steps, whole.steps)
    np.testing.assert_array_equal(results.sampled.magnitude, whole.sampled.magnitude)
    np.testing.assert_array_equal(results.sampled.gap, whole.sampled.gap)


def test_a_run_that_diverges_is_refused():
    wild = replace(TINY, rates=(1e-2, 1e-3, 10.0))
    with pytest.raises(BackendError, match="descent diverged before step"):
        compute(wild, Workbench("lee2022/fig1", wild))


def test_every_chunk_ends_at_a_recorded_step():
    """Else the steps between the last record of a chunk and its end would be left out."""
    odd = replace(TINY, steps=4_001, rebuilt_at=1_000, chunk=1_777, n=40)
    one, many = (compute(item, Workbench("lee2022/fig1", item)) for item in (replace(odd, chunk=10_000), odd))
    assert {1_777, 3_554, 4_001} <= set(many.steps.tolist())
    np.testing.assert_array_equal(one.sampled.magnitude[-1], many.sampled.magnitude[-1])


def test_scaling_law():
    """Reference values of an earlier, separate integration; and the integrator is at 0.95 pi after the time found."""
    times = scaling_times()
    expected = [
        [1.633, 0.2378, 0.0251, 0.00252],
        [6.643] * 4,
        [30.24, 297.6, 2976, 29760],
        [188, 1.872e4, 1.872e6, 1.872e8],
    ]
    np.testing.assert_allclose(times, expected, rtol=2e-3)
    for q in range(3):
        start = BalancedNeuron(q, SCALING_STARTS[0], phi=0.5 * np.pi)
        assert balanced_flow(start, [times[q, 0]]).phi[0] == pytest.approx(0.95 * np.pi, abs=1e-9)


def test_results_come_back_from_the_store(nine_starts, tmp_path):
    workbench = Workbench(FIGURE.key, QUICK, store=ResultStore(tmp_path))
    workbench.whole(NineStarts, lambda: nine_starts)
    found, _ = workbench.whole(NineStarts, lambda: pytest.fail("what was kept is not taken"))
    assert claims(QUICK, found) == claims(QUICK, nine_starts)


def test_files(nine_starts, tmp_path):
    files = FIGURE.draw(QUICK, nine_starts, tmp_path)
    assert [path.name for path in files] == ["fig1.png", "fig1-times.png"]
    assert all(path.stat().st_size > 20_000 for path in files)


def test_turning_steps_of_a_neuron_that_never_turns(nine_starts):
    steps = turning_steps(nine_starts.steps, nine_starts.sampled)
    assert steps[2, 0] == np.inf
    assert np.all(np.isfinite(steps[:2]))
