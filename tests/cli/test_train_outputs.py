"""`reluflow train` with several outputs and an output bias: its JSON."""

import numpy as np
import pytest


def printed(reluflow, *words):
    result = reluflow("train", *words, "--json")
    assert result.status == 0, result.err
    return result.json


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 2)), np.array([0, 1, 2, 0, 1, 2])
    np.savez(tmp_path / "data.npz", X=X, y=y)
    np.savez(tmp_path / "network.npz", w=rng.normal(size=(4, 2)), v=rng.normal(size=(4, 3)), b=[0.1, 0.0, -0.1])
    return tmp_path / "data.npz", tmp_path / "network.npz"


def test_classes(files, reluflow):
    data, network = files
    found = printed(reluflow, data, "--init", network, "--times", "0.5,2", "--until", "2")
    assert found["solver"] == "collocation"
    assert found["classes"] == ["0", "1", "2"]
    assert np.shape(found["predictions"]) == (6, 3)
    assert [snapshot["t"] for snapshot in found["snapshots"]] == [0.5, 2.0]
    for snapshot in found["snapshots"]:
        assert (np.shape(snapshot["v"]), np.shape(snapshot["b"])) == ((4, 3), (3,))
        assert "a" not in snapshot
        assert sum(snapshot["b"]) == pytest.approx(0.0, abs=1e-14)


def test_a_fixed_bias_stays(files, reluflow):
    data, network = files
    found = printed(reluflow, data, "--init", network, "--output-bias", "fixed", "--times", "2", "--until", "2")
    assert found["snapshots"][0]["b"] == [0.1, 0.0, -0.1]


def test_one_output_with_a_trained_bias(tmp_path, reluflow):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", X=rng.normal(size=(5, 2)), y=rng.normal(size=5))
    found = printed(
        reluflow,
        tmp_path / "data.npz",
        "--width",
        4,
        "--output-bias",
        "train",
        "--scale",
        "0.5",
        "--times",
        "3",
        "--until",
        "3",
    )
    assert np.shape(found["predictions"]) == (5,)
    assert np.shape(found["snapshots"][0]["a"]) == (4,)
    assert np.shape(found["snapshots"][0]["b"]) == (1,)
    assert found["snapshots"][0]["b"] != [0.0]


def test_event_driven_steps_refuse_several_outputs(files, reluflow):
    data, network = files
    result = reluflow("train", data, "--init", network, "--solver", "event-driven")
    assert result.status == 2
    assert "must be 'collocation' or 'auto'" in result.err
