"""Figure 4 of Lee, Sim & Ye (2022): deep wide networks, the claims at quick size and where they fail."""

from dataclasses import replace

import numpy as np
import pytest

from reluflow.papers.lee2022.figures.figure_4 import FIGURE, DeepRuns, RunSettings, claims, one_run, plateau
from reluflow.papers.store import ResultStore
from reluflow.papers.workbench import Workbench

# half the samples and steps of the quick size; the claims and the printed rate's overshoot come out the same
SETTINGS = replace(FIGURE.quick, n=300, rates=(4e-2, 1e-4, 1e-5), steps=(600, 150, 200))


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(SETTINGS, Workbench(FIGURE.key, SETTINGS))


def test_claims(results):
    """Five seeds at n = 800: the large start at a tenth of the rate decreases between all moments in each; at the
    printed rate one of two rises in its first steps, as two of three do at the paper's n = 10,000: a finding."""
    judged = claims(SETTINGS, results)
    assert [judged[k].holds for k in (0, 1, 2, 3, 4, 6)] == [True] * 6
    assert not any(claim.is_failure for claim in judged)
    assert judged[6].measured > 100.0
    assert [claim.is_ours for claim in judged] == [False, True, True, True, False, True, False, True]


def test_small_grows_and_large_shrinks(results):
    assert [run.seed for run in results.small] == [run.seed for run in results.slow] == list(SETTINGS.seeds)
    for small_run, slow_run in zip(results.small, results.slow, strict=True):
        small, slow = (np.linalg.norm(run.norms, axis=1) for run in (small_run, slow_run))
        assert small[0] == pytest.approx(0.04 * np.sqrt(12_550), rel=0.03)
        assert slow[0] == pytest.approx(0.44 * np.sqrt(12_550), rel=0.03)
        assert small[-1] > 1.05 * small[0]
        assert slow[-1] < 0.999 * slow[0]
        assert plateau(small_run, SETTINGS.rates[0]) > 1.0


def test_a_run_that_diverges_is_counted_and_not_drawn(tmp_path, results):
    lost = one_run(RunSettings(n=200, seed=0, rate=1e-2, steps=50, std=0.44, teacher_std=0.2))
    assert lost.outcome == "diverged"
    assert np.all(np.isfinite(lost.losses))
    broken = replace(results, large=(lost, *results.large[1:]))
    judged = claims(SETTINGS, broken)
    assert (judged[7].measured, judged[7].holds, judged[7].is_failure) == (1, False, False)
    assert FIGURE.draw(SETTINGS, broken, tmp_path)[0].stat().st_size > 20_000


def test_without_any_finished_run_nothing_holds(results):
    small, large, slow = (
        tuple(replace(run, outcome="diverged") for run in runs) for runs in (results.small, results.large, results.slow)
    )
    none = DeepRuns(small, large, slow)
    assert [claim.holds for claim in claims(SETTINGS, none)] == [False] * 8


def test_a_dip_in_every_draw_is_noticed(results):
    """A small dip of one draw was counted against the paper, which shows one draw: every draw must dip for that."""
    runs = list(results.small)
    for count, run in enumerate(results.small):
        norms = run.norms.copy()
        norms[200] *= 0.9
        runs[count] = replace(run, norms=norms)
        judged = claims(SETTINGS, replace(results, small=tuple(runs)))
        assert (judged[0].holds, judged[1].holds) == (count + 1 < len(SETTINGS.seeds), False)


def test_results_come_back_from_the_store(results, tmp_path):
    workbench = Workbench(FIGURE.key, SETTINGS, store=ResultStore(tmp_path))
    workbench.whole(DeepRuns, lambda: results)
    found, _ = workbench.whole(DeepRuns, lambda: pytest.fail("what was kept is not taken"))
    assert claims(SETTINGS, found) == claims(SETTINGS, results)
