"""`assess`: what a network is, how far along, where it goes; each number against one found another way."""

import numpy as np
import pytest

import reluflow
from reluflow.dynamics.stopping import AtTime
from reluflow.errors import InvalidInputError
from reluflow.geometry.extremal import extremal_vectors

DATA = reluflow.load("three-points")


def assessed(network, **options):
    return reluflow.assess(reluflow.TrainingProblem(DATA, "square", network), **options)


@pytest.fixture(scope="module")
def run():
    start = reluflow.balanced_initialization(DATA, width=40, scale=1e-3, rng=0)
    problem = reluflow.TrainingProblem(DATA, "square", start)
    return reluflow.train(problem, reluflow.EventDrivenFlow(), times=[0.0, 9.0, 12.0, 40.0])


def test_phases_are_those_of_the_run(run):
    for snapshot in run.snapshots:
        phase = next(p.name for p in run.phases if p.start <= snapshot.time <= p.end)
        assert assessed(snapshot.network).phase == phase


def test_flow_from_here_ends_where_the_whole_run_does(run):
    place = assessed(run.snapshots[1].network)
    assert place.trajectory.loss == pytest.approx(run.loss, abs=1e-12)
    assert place.limit.is_proof
    assert str(place.limit.certificate.kind) == "local-minimum"
    assert "The exact flow reaches loss 0.0875214" in repr(place)


def test_shares_are_counted(run):
    early, late = run.snapshots[0].network, run.snapshots[1].network  # at the start, and when alignment is over
    pre = DATA.X @ late.w.T
    place = assessed(late, flow=False)
    # one neuron died on a boundary and stands 7e-21 beyond it: rounding, so it is dead
    assert place.dead_share == pytest.approx(np.mean(np.all(pre <= 1e-15, axis=0)))
    assert place.aligned_share > 0.99 > assessed(early, flow=False).aligned_share
    assert place.imbalance < 1e-6
    assert assessed(reluflow.Network([[1.0, 0.0]], [3.0]), flow=False).imbalance == pytest.approx(0.8)


def test_the_end_is_known_for_what_it_is(run):
    end = reluflow.certified_limit(run).network
    assert str(assessed(end, flow=False).certificate.kind) == "local-minimum"


def test_dead_network_has_nowhere_to_go():
    dead = assessed(reluflow.Network([[0.0, -1.0]], [1.0]))
    assert dead.dead_share == 1.0
    assert np.isnan(dead.aligned_share)
    assert "no force acts on the others" in repr(dead)


def test_run_cut_short_says_so():
    place = assessed(reluflow.Network([[0.01, 0.05]], [0.05]), max_steps=2)
    assert "has not ended there" in repr(place)
    assert place.phase in ("alignment", "growth", "fitting or convergence")


def test_rows_and_refusals():
    network = reluflow.Network([[0.1, 0.8]], [0.8])
    frame = assessed(network, flow=False).to_frame()
    assert list(frame.columns) == ["quantity", "value"]
    with pytest.raises(InvalidInputError, match=r"`dataset.with_bias\(\)`"):
        reluflow.assess(reluflow.TrainingProblem(([[1.0], [2.0]], [1.0, 2.0]), "square", network))


def test_one_line_calls(run):
    """Each of these ended in a traceback once."""
    import pandas

    frame = pandas.DataFrame({"a": DATA.X[:, 0], "b": DATA.X[:, 1], "y": DATA.y})
    assert reluflow.diagnose(frame)["boursier-a5"].margin == reluflow.diagnose(DATA)["boursier-a5"].margin
    assert extremal_vectors(frame, "square").kinds == ("maximum",)
    short = reluflow.train(run.problem, reluflow.EventDrivenFlow(), until=5.0)
    assert short.time == reluflow.train(run.problem, reluflow.EventDrivenFlow(), until=AtTime(5.0)).time == 5.0
    with pytest.raises(InvalidInputError, match="`until` must be a time or a stopping rule"):
        reluflow.train(run.problem, reluflow.EventDrivenFlow(), until="stationary")
    with pytest.raises(InvalidInputError, match="`rng` must be"):
        reluflow.balanced_initialization(DATA, width=3, scale=1e-3, rng="zero")
    with pytest.raises(InvalidInputError, match="`loss` must be a loss such as"):
        reluflow.TrainingProblem(DATA, 3, run.network)
    with pytest.raises(InvalidInputError, match="`network` must be a Network"):
        reluflow.TrainingProblem(DATA, "square", 3)
    assert reluflow.diagnose(DATA).to_frame().loc[0, "key"] == "linearly-separable"
    labelled = run.to_xarray()
    assert set(labelled.coords) >= {"record", "time", "sample", "neuron", "dimension", "snapshot_time", "event_time"}
    assert float(labelled.loss.isel(record=-1)) == run.losses[-1]


def test_seed_of_the_command_line_is_rng(capsys):
    import json

    from reluflow.cli.main import run as command

    with pytest.raises(SystemExit):
        command(["train", "three-points", "--width", "4", "--until", "0.1", "--times", "0", "--seed", "7", "--json"])
    drawn = np.array(json.loads(capsys.readouterr().out)["snapshots"][0]["w"])
    ours = reluflow.balanced_initialization(DATA, width=4, scale=1e-3, rng=7).to_numpy()["w"]
    np.testing.assert_allclose(drawn, ours, rtol=1e-12)


def test_study_in_one_line_however_it_was_imported():
    from reluflow.study.whole_study import Study

    found = reluflow.study(DATA.X, DATA.y, width=10, seeds=0, theorems=())
    assert isinstance(found, Study)
