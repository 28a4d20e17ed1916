"""Wilson's interval, bisection and refinement find a boundary that is known."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binomtest

from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.sweep.boundary import find_boundary
from reluflow.sweep.refine import refine
from reluflow.sweep.run import sweep
from reluflow.sweep.values import Interval
from reluflow.wilson import wilson_interval
from sweep.sweep_cases import records

CASE = Experiment("three-points", width=4, until="0.5")


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 8), (3, 8), (8, 8), (17, 40), (39, 40)])
def test_wilson_s_interval_is_scipy_s(successes, trials):
    other = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(wilson_interval(successes, trials), (other.low, other.high), atol=1e-12)


def test_wilson_refuses_more_successes_than_trials():
    with pytest.raises(InvalidInputError, match="`successes` must lie between 0 and `trials`, got 3 of 2"):
        wilson_interval(3, 2)


def large(trajectory):
    """True from scale 2e-3 on, whatever the seed."""
    return bool(trajectory.problem.network.log_scale > np.log(2e-3 / 2.0))


def noisy(trajectory):
    """True with a probability that rises through one half at scale 1e-3."""
    scale = trajectory.problem.network.log_scale + np.log(2.0)
    draw = np.random.default_rng(abs(hash(trajectory.network.w.tobytes())) % 2**32).random()
    return bool(draw < 1.0 / (1.0 + np.exp(-(scale - np.log(1e-3)))))


def bisect(measure, **options):
    interval = Interval("1e-6", "1", is_log=True)
    return find_boundary(CASE, "scale", interval, event=measure.__name__, measure=measure, executor="serial", **options)


def test_a_sharp_boundary_is_bracketed_to_the_tolerance_with_few_seeds(tmp_path):
    found = bisect(large, rtol=0.01, first_seeds=6, seeds=6, out=tmp_path)
    assert not found.undecided
    low, high = float(found.low.value), float(found.high.value)
    assert low < 2e-3 < high
    assert np.log(high / low) <= 0.01 * np.log(1e6) * 1.0001
    assert all(count.trials == 6 for count in found.counts)
    assert (found.low.successes, found.high.successes) == (0, 6)


def test_seeds_are_added_only_where_they_are_needed(tmp_path):
    found = bisect(noisy, rtol=0.02, first_seeds=8, seeds=32, out=tmp_path)
    assert found.undecided
    assert float(found.low.value) <= 1e-3 <= float(found.high.value)  # a draw of 16 at 1e-3 itself may decide
    trials = {count.value: count.trials for count in found.counts}
    assert trials["1e-6"] == 8
    assert found.nearest.trials == 32
    low, high = found.nearest.interval
    assert low < 0.5 < high


def test_both_sides_are_narrowed_where_the_seeds_cannot_decide(tmp_path):
    """Bisection stopped at the first middle that 16 seeds left open, with a bracket of a factor of 16 around it."""
    found = bisect(noisy, rtol=0.05, first_seeds=8, seeds=16, out=tmp_path)
    assert found.undecided
    assert found.low.side(0.5) == -1
    assert found.high.side(0.5) == 1
    values = [float(count.value) for count in found.counts]
    low, high = float(found.low.value), float(found.high.value)
    assert low < float(found.nearest.value) < high
    step = 0.05 * np.log(1e6) * 1.0001
    assert any(0 < np.log(value / low) <= step for value in values), "the next value up was asked and is not decided"
    assert any(0 < np.log(high / value) <= step for value in values)


def test_an_interval_without_a_boundary_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="must have the event on one side and not on the other"):
        find_boundary(
            CASE, "scale", Interval("1e-6", "1e-5"), event="interpolates", executor="serial", first_seeds=5, seeds=5
        )


def test_failed_runs_are_not_counted_as_no():
    with pytest.raises(InvalidInputError, match="must run for every seed; 4 failed: `y` must hold only the labels"):
        find_boundary(
            Experiment("three-points", loss="logistic", width=4),
            "scale",
            Interval("1e-6", "1"),
            event="interpolates",
            executor="serial",
            first_seeds=4,
            seeds=4,
        )


def test_refinement_gathers_where_the_end_changes(tmp_path):
    frame = refine(
        Experiment("three-point-angle", width=12, scale="1e-4"),
        {"angle": Interval("60", "120")},
        event="end=interpolates",
        points=14,
        batch=2,
        seeds=1,
        executor="serial",
        out=tmp_path,
    )
    assert len(frame) == 14
    near = np.abs(frame["angle"] - 91.0) < 10.0
    assert near.mean() > 0.5, "an even grid would have a third of its points there"
    assert set(frame["share"]) == {0.0, 1.0}
    with pytest.raises(InvalidInputError, match="`over` must name one or two settings"):
        refine(CASE, {}, event="interpolates")


def test_refinement_of_a_setting_that_counts_takes_whole_numbers(tmp_path):
    """Widths were asked for at 17.3 and refused, and each point of a batch had a pool of processes of its own."""
    frame = refine(
        Experiment("three-points", scale="0.3"),
        {"width": Interval("2", "10")},
        event="end=least-squares",
        points=6,
        batch=3,
        seeds=2,
        executor="serial",
        out=tmp_path,
    )
    assert len(frame) == 6
    assert (frame["width"] == frame["width"].round()).all()
    kept = Counter(record.over for record in records(tmp_path))
    assert set(kept.values()) == {1}, "nothing is computed twice"
    for row in frame.itertuples():
        case = Experiment("three-points", scale="0.3", width=int(row.width))
        plain = sweep(case, over={"seed": "0..1"}, measure=["end"], executor="serial")
        assert row.successes == (plain.frame()["end"] == "least-squares").sum()


def test_refinement_refuses_to_count_failures():
    """A case that failed once counted as one in which the event did not happen."""
    with pytest.raises(InvalidInputError, match="must run for every value and seed; 2 cases failed: `y` must hold"):
        refine(
            Experiment("three-points", loss="logistic"),
            {"leak": Interval("0", "1")},
            event="end=interpolates",
            points=2,
            batch=1,
            seeds=2,
            executor="serial",
        )
