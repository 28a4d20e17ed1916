"""Figure 3 of Lee, Sim & Ye (2022): the claims at quick size.

Seeds 0 to 5 at quick size. Bounds missed by 0.0007 to 0.006 of |w*| (allowed 2/sqrt(n) = 0.032); nesting never. The
order of the two bounds: 8 restarts of 8, but 7 for seed 4, whose last one begins at 4 degrees, where samples decide.
Minimum of |w| against the flow's: 0.001 to 0.016 of |w*| (allowed 0.05). Descent on samples against the flow: 0.007
to 0.033 (allowed 0.1); on the population 3 to 11 % of eta R^(2q) (allowed 20 %).
"""

from dataclasses import replace

import numpy as np
import pytest

from reluflow.errors import BackendError
from reluflow.papers.lee2022.figures.figure_3 import FIGURE, bands_of, claims, nesting_breach, rows_of, turn_of
from reluflow.papers.lee2022.figures.neuron_curves import NeuronCurves
from reluflow.papers.lee2022.figures.restarts_run import FULL, QUICK, OneDepth, Restarts, RestartSettings, one_depth
from reluflow.papers.store import ResultStore
from reluflow.papers.workbench import Workbench


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(QUICK, Workbench(FIGURE.key, QUICK))


def the(judged, words):
    found = [claim for claim in judged if words in claim.text]
    assert len(found) == 1, words
    return found[0]


def test_claims(results):
    judged = claims(QUICK, results)
    assert [claim.text for claim in judged if claim.holds is not True and not claim.finding] == []
    assert -0.01 < the(judged, "Theorem A.3").measured < 0.0
    assert the(judged, "convex").measured < 16


def test_claims_notice_what_is_wrong(results):
    def fail(*words, q, **changes):
        depths = list(results.depths)
        depths[q] = replace(depths[q], **changes)
        judged = claims(QUICK, replace(results, depths=tuple(depths)))
        return [the(judged, word).holds for word in words] == [False] * len(words)

    for q, name in enumerate(("one layer", "two layers")):
        depth = results.depths[q]
        late = np.arange(depth.steps.size) > 20
        high = np.where(late, 1.2, 1.0) * depth.sampled.magnitude
        away = np.where(late, 2.5, depth.sampled.gap)  # a neuron that turns away
        off = ("all eight pairs", "lower bound is the closer", f"{name}: the magnitude turns", f"{name}: and on $n$")
        assert fail(*off, q=q, sampled=replace(depth.sampled, magnitude=high))
        flow = replace(depth.flow, magnitude=high)
        assert fail("and so along the exact flow", f"{name}: descent at this step", q=q, flow=flow)
        assert fail("improve as training goes on", q=q, sampled=replace(depth.sampled, gap=away))
    population = results.depths[0].population
    long = replace(population, magnitude=1.2 * population.magnitude)
    assert fail("Theorem A.1 holds", q=0, population=long)


def test_turning_steps_from_a_right_angle():
    """Steps 3,253 and 132 for |w_0| = |w*| and phi_0 = pi/2: t = 1.95174438 with one layer, whatever |w*|."""
    right = NeuronCurves(np.array([12.0]), np.array([0.5 * np.pi]))
    one, two = (turn_of(OneDepth(q, np.array([0]), 12.0, right, right, right)) for q in (0, 1))
    assert one.time == pytest.approx(1.95174438, abs=1e-8)
    assert one.time / FULL.rates[0] == pytest.approx(3253, abs=1)
    assert two.time / FULL.rates[1] == pytest.approx(132, abs=1)


def test_restarts_are_recorded(results):
    assert [depth.layers for depth in results.depths] == [0, 1]
    for depth, restarts in zip(results.depths, QUICK.restarts, strict=True):
        assert depth.steps[rows_of(QUICK, depth)].tolist() == list(restarts)


def test_bands_in_the_wrong_order_are_not_nested(results):
    depth = results.depths[0]
    rows, bands = rows_of(QUICK, depth), bands_of(QUICK, depth, depth.sampled)
    assert nesting_breach(bands, rows) <= 0.0
    cut = rows[1] - rows[0]
    wide = type(bands[0])(bands[0].lower[cut:], bands[0].upper[cut:])
    assert nesting_breach([bands[1], wide], [rows[1], rows[1]]) > 1.0


def test_a_run_that_diverges_is_refused():
    with pytest.raises(BackendError, match="2 scalar layers diverged at rate 1"):
        one_depth(RestartSettings(n=50, d=3, layers=2, rate=1.0, steps=50, restarts=(0,), teacher_std=3.0, seed=0))


def test_results_come_back_from_the_store(results, tmp_path):
    workbench = Workbench(FIGURE.key, QUICK, store=ResultStore(tmp_path))
    workbench.whole(Restarts, lambda: results)
    found, _ = workbench.whole(Restarts, lambda: pytest.fail("what was kept is not taken"))
    assert claims(QUICK, found) == claims(QUICK, results)


def test_files(results, tmp_path):
    files = FIGURE.draw(QUICK, results, tmp_path)
    assert [path.name for path in files] == ["fig3.png"]
    assert files[0].stat().st_size > 20_000
