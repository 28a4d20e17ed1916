"""Results come back bit by bit, or not at all."""

import os
import stat
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reluflow.errors import InvalidInputError
from reluflow.papers.store import ResultStore, cache_folder, canonical_json, fingerprint


@dataclass(frozen=True)
class Settings:
    width: int
    scales: tuple[float, ...] = (1e-3, 1e-400)


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "kept")


RESULTS = {
    "losses": np.array([[0.1, np.nan], [np.inf, -0.0]]),
    "names": np.array(["flow", "descent ✓"]),
    "is_on": np.array([True, False]),
    "loss": 0.1 + 0.2,
    "width": 200_000,
    "holds": True,
    "words": 'quotes " and \\ and ✓',
    "nothing": None,
    "file": np.arange(3),  # a name that numpy's own function takes
    "far": float("inf"),
}


def same(found, expected):
    assert set(found) == set(expected)
    for key, value in expected.items():
        if isinstance(value, np.ndarray):
            assert found[key].dtype == value.dtype
            np.testing.assert_array_equal(found[key], value)
            assert found[key].tobytes() == value.tobytes()
        else:
            assert found[key] == value
            assert type(found[key]) is type(value)


def test_everything_comes_back(store):
    assert store.load("lyu2021/fig1", Settings(5)) is None
    assert store.save("lyu2021/fig1", Settings(5), RESULTS)
    same(store.load("lyu2021/fig1", Settings(5)), RESULTS)


@settings(deadline=None, max_examples=25)
@given(
    array=hnp.arrays(
        st.sampled_from([np.float64, np.int64, np.complex128, np.bool_]), hnp.array_shapes(min_dims=0, min_side=0)
    ),
    number=st.floats(allow_nan=False) | st.integers() | st.text() | st.booleans(),
    name=st.text(min_size=1, max_size=40),
)
def test_any_value_comes_back(tmp_path_factory, array, number, name):
    store = ResultStore(tmp_path_factory.mktemp("any"))
    store.save("figure", {"name": name}, {"array": array, "number": number})
    same(store.load("figure", {"name": name}), {"array": array, "number": number})


@pytest.mark.parametrize(
    "other", [Settings(6), Settings(5, (1e-3,)), {"width": 5}], ids=["number", "tuple", "fewer fields"]
)
def test_other_settings_are_another_result(store, other):
    store.save("lyu2021/fig1", Settings(5), {"x": 1})
    assert store.load("lyu2021/fig1", other) is None
    assert store.load("lyu2021/fig2", Settings(5)) is None


def test_names_that_differ_in_odd_letters_do_not_meet(store):
    store.save("seed/a b", {}, {"x": 1})
    assert store.load("seed/a-b", {}) is None
    assert store.load("seed/a b", {}) == {"x": 1}


def test_lists_and_dictionaries_come_back(store):
    store.save("figure", {}, {"runs": [{"w": np.arange(3), "n": 1}, {"w": np.zeros((0, 2)), "n": 2}], "array": {}})
    found = store.load("figure", {})
    assert [run["n"] for run in found["runs"]] == [1, 2]
    assert found["runs"][0]["w"].tolist() == [0, 1, 2]
    assert found["runs"][1]["w"].shape == (0, 2)
    assert found["array"] == {}  # a name like that of a note in the file


@pytest.mark.parametrize("keep", [0, 1, 30, 0.5, 0.98])
def test_a_file_cut_short_counts_as_absent(store, keep):
    store.save("figure", {}, RESULTS)
    path = store.path_of("figure", {})
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if isinstance(keep, int) else int(keep * len(whole))])
    assert store.load("figure", {}) is None
    store.save("figure", {}, RESULTS)
    same(store.load("figure", {}), RESULTS)


def test_a_flipped_bit_counts_as_absent(store):
    """Every eleventh byte in turn: either the file is refused or what it holds is untouched (padding, dates).

    A bit of the archive's method of compression ended the command with a NotImplementedError.
    """
    results = {"values": np.arange(20.0), "n": 3}
    store.save("figure", {}, results)
    path = store.path_of("figure", {})
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 11):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        found = store.load("figure", {})
        if found is None:
            refused += 1
        else:
            same(found, results)
    assert refused > len(whole) / 11 / 3


def test_a_pickle_is_not_read(store):
    path = store.path_of("figure", {})
    path.parent.mkdir(parents=True)
    np.savez(
        path,
        plain=np.array('{"items": {"x": {"array": "arrays/0"}}}'),
        **{"arrays/0": np.array([{"a": 1}], dtype=object)},
    )
    assert store.load("figure", {}) is None


def test_an_interrupted_save_leaves_the_old_file(store, monkeypatch):
    store.save("figure", {}, {"x": 1})

    def broken(handle, **members):
        handle.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(KeyboardInterrupt):
        store.save("figure", {}, {"x": 2})
    monkeypatch.undo()
    assert store.load("figure", {}) == {"x": 1}
    assert [path.name for path in store.folder.iterdir()] == [store.path_of("figure", {}).name]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom permissions stop")
def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.warns(UserWarning, match="is not kept"):
        assert not ResultStore(tmp_path / "kept").save("figure", {}, {"x": 1})


def test_a_file_in_the_way_is_a_warning(tmp_path):
    (tmp_path / "kept").write_text("a file")
    with pytest.warns(UserWarning, match="RELUFLOW_CACHE names another folder"):
        assert not ResultStore(tmp_path / "kept").save("figure", {}, {"x": 1})
    assert ResultStore(tmp_path / "kept").load("figure", {}) is None


def test_refusals(store):
    with pytest.raises(InvalidInputError, match="'run' in results of figure must be an array"):
        store.save("figure", {}, {"run": object()})
    with pytest.raises(InvalidInputError, match="must be an array of numbers"):
        store.save("figure", {}, {"run": np.array([None, "x"], dtype=object)})
    with pytest.raises(InvalidInputError, match="settings must hold numbers"):
        canonical_json({"rng": np.random.default_rng(0)})


def test_canonical_json_and_fingerprints():
    assert canonical_json(Settings(5)) == '{"scales":[0.001,0.0],"width":5}'
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": np.float64(0.1)}) == fingerprint({"a": 0.1})
    assert fingerprint({"a": 0.1}) != fingerprint({"a": 0.1 + 2e-17 + 1e-16})


def test_the_folder_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("RELUFLOW_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    assert cache_folder(tmp_path / "there") == tmp_path / "there"
    monkeypatch.delenv("RELUFLOW_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "reluflow" / "results"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder().parts[-4:] == ("Library", "Caches", "reluflow", "results")
