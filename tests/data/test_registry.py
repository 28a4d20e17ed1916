"""The registry: the listing tells the truth, specs are read strictly, and one seed fixes everything."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reluflow.data import REGISTRY, load, open_dataset, registered_datasets, suggested_settings, write_dataset
from reluflow.errors import InvalidInputError
from reluflow.found_papers import found_papers

NAMES = [entry.name for entry in registered_datasets()]
PAPERS = set(found_papers())


def test_every_paper_is_there_and_names_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {entry.paper for entry in registered_datasets()} == PAPERS | {"general"}
    assert NAMES[0] == "three-points"


@pytest.mark.parametrize("name", NAMES)
def test_listing_is_true(name: str) -> None:
    entry, dataset = REGISTRY[name], load(name)
    assert (dataset.n, dataset.d, dataset.task, dataset.name) == (entry.n, entry.d, entry.task, name)
    dataset.check_samples()
    assert entry.summary
    assert entry.settings.loss in ("square", "logistic", "exponential", "softmax")
    assert entry.settings.reduction in ("mean", "sum")
    assert (entry.settings.leak is None) == (entry.paper == "general")
    assert (entry.settings.loss == "square") == (entry.task == "regression")
    if entry.paper != "general" and not name.startswith("mnist"):
        assert f"[{entry.paper}]" in dataset.provenance
    if entry.is_random:
        assert dataset.provenance.endswith("seed 0")
        assert dataset == load(name, seed=0)
        assert dataset != load(name, seed=1)
    else:
        assert dataset == load(name, seed=1)


def test_parameters_reach_the_factory() -> None:
    assert load("phuong-orthants:n=7,d=4", seed=3).X.shape == (7, 4)
    assert load("stewart:n=11").n == 11
    assert load("mnist-3-8:size=12").n == 12
    assert load("lyu-symmetric:leak=0").X[0, 1] == pytest.approx(1.0)
    assert load("lee-single-neuron:n=5,d=3,layers=0,std=0.2").d == 3
    assert load("linear-teacher:task=regression,n=9,noise=0.5").task == "regression"
    box = load("three-point-box:eta=0.01", seed=2)
    assert box.y[1] <= 0.01
    assert box.name == "three-point-box:eta=0.01"
    assert box != load("three-point-box:eta=0.02", seed=2)


def test_suggestions_follow_the_spec() -> None:
    assert suggested_settings("three-points").loss == "square"
    assert suggested_settings("lyu-counterexample").leak == 0.1
    assert suggested_settings("lyu-hinted:leak=0.25").leak == 0.25
    assert suggested_settings("phuong-toy").reduction == "sum"
    assert suggested_settings("linear-teacher").loss == "logistic"
    assert suggested_settings("linear-teacher:task=regression").loss == "square"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("three-point", "did you mean `three-points`"),
        ("zebra", "neither a registered dataset nor a .csv or .npz file; `reluflow datasets` lists"),
        ("three-points:eta=1", "`three-points` has no parameters, got 'eta'"),
        ("three-point-box:eat=1", "has the parameters eta=0.09, got 'eat'; did you mean `eta`"),
        ("three-point-box:eta=big", "`eta` must be a number, got 'big'"),
        ("three-point-box:eta=nan", "`eta` must be a number, got nan"),
        ("three-point-box:eta=2", r"`eta` must be in \(0, 1\], got 2"),
        ("three-point-box:eta", "must read name:key=value,key=value, got 'eta'"),
        ("three-point-box:", "must read name:key=value,key=value, got ''"),
        ("three-point-box:eta=0.1,eta=0.2", "'eta' twice"),
        ("stewart:n=4.5", "`n` must be a whole number, got '4.5'"),
        ("stewart:n=0", "`n` must be at least 1, got 0"),
        ("random-labels:n=1000000000000", "at most 1,000,000,000 numbers in `X`, got 10,000,000,000,000"),
        ("mnist-0-1:source=web", "`source` must be one of bundled, full, got 'web'"),
        ("mnist-0-1:sise=10", "has the parameters size, source=bundled, got 'sise'; did you mean `size`"),
        ("linear-teacher:task=ranking", "`task` must be one of classification, regression"),
    ],
)
def test_bad_specs(spec: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as caught:
        load(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "one"])
def test_bad_seeds(seed: object) -> None:
    with pytest.raises(InvalidInputError, match="`seed` must be a whole number of at least 0"):
        load("stewart", seed=seed)  # type: ignore[arg-type]


def test_open_dataset_takes_names_and_paths(tmp_path: Path) -> None:
    assert open_dataset("three-points") == load("three-points")
    assert open_dataset("min-toy", bias=True).d == 3
    path = write_dataset(load("three-points"), tmp_path / "points.csv")
    assert open_dataset(str(path)) == load("three-points")
    np.testing.assert_array_equal(open_dataset(str(path), bias=True).X[:, -1], 1.0)
    with pytest.raises(InvalidInputError, match="does not exist"):
        open_dataset("nowhere.csv")
    with pytest.raises(InvalidInputError, match="got a folder"):
        open_dataset(str(tmp_path))
    for nonsense in ("", "z" * 300):
        with pytest.raises(InvalidInputError, match="neither a registered dataset nor"):
            open_dataset(nonsense)
    with pytest.raises(InvalidInputError, match="could not be read: File name too long"):
        open_dataset("z" * 300 + ".csv")
    with pytest.raises(InvalidInputError, match="did you mean `min-toy`"):
        open_dataset("mintoy")
    path.write_text("x1,y\n1,2\n2,3\n1,4\n")
    assert open_dataset(str(path)).num_repeated == 1
    path.write_text("x1,y\n1,2\n0,3\n")
    with pytest.raises(InvalidInputError, match="zero sample, got one in row 2"):
        open_dataset(str(path))
    assert open_dataset(str(path), bias=True).n == 2


def test_listing_is_light() -> None:
    """Importing and listing loads no SciPy, no networking, and reads no image."""
    code = (
        "import sys; from reluflow.data import registered_datasets; registered_datasets(); "
        "heavy = {'scipy', 'numba', 'matplotlib', 'urllib.request', 'http.client'} & set(sys.modules); "
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
