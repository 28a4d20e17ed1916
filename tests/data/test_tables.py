"""Tables as people have them, in files and in Python: what is understood, what is said, what is refused."""

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest

from reluflow.data import Dataset, TableChoice, Task, as_dataset, load, read_dataset
from reluflow.data.files import read_file
from reluflow.errors import InvalidInputError

POINTS = Dataset([[1.5, 2.0], [3.0, -4.5], [0.25, 1.0]], [1.0, -1.0, -1.0])


def written(folder: Path, content: str | bytes, name: str = "points.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comma.csv", "a,b,y\n1.5,2,1\n3,-4.5,-1\n0.25,1,-1\n"),
        ("semicolon.csv", "a;b;y\n1.5;2;1\n3;-4.5;-1\n0.25;1;-1\n"),
        ("decimal_comma.csv", "a;b;y\n1,5;2;1\n3;-4,5;-1\n,25;1;-1\n"),
        ("tab.tsv", "a\tb\ty\n1.5\t2\t1\n3\t-4.5\t-1\n0.25\t1\t-1\n"),
        ("tab_decimal_comma.tsv", "a\tb\ty\n1,5\t2\t1\n3\t-4,5\t-1\n2,5e-1\t1\t-1\n"),
        ("spaces.dat", "a  b y\n1.5 2 1\n3  -4.5 -1\n0.25 1   -1\n"),
        ("quoted.csv", '"a","b, the second","y"\n"1.5","2","1"\n"3","-4.5","-1"\n"0.25","1","-1"\n'),
        ("bom.csv", b"\xef\xbb\xbfa,b,y\r\n1.5,2,1\r\n3,-4.5,-1\r\n0.25,1,-1\r\n"),
        (
            "zipped.csv.gz",
            gzip.compress(b"a,b,y\n1.5,2,1\n3,-4.5,-1\n0.25,1,-1\n", mtime=0),
        ),  # one name of the test in every process
        ("pandas_index.csv", ",a,b,y\n0,1.5,2,1\n1,3,-4.5,-1\n2,0.25,1,-1\n"),
        ("r_row_names.csv", "a,b,y\nr1,1.5,2,1\nr2,3,-4.5,-1\nr3,0.25,1,-1\n"),
        ("named_index.csv", "id,a,b,y\n1,1.5,2,1\n2,3,-4.5,-1\n3,0.25,1,-1\n"),
        ("no_header.csv", "1.5,2,1\n3,-4.5,-1\n0.25,1,-1\n"),
        ("label_first.csv", "class,a,b\n1,1.5,2\n-1,3,-4.5\n-1,0.25,1\n"),
        ("words.csv", "a,b,kind\n1.5,2,cat\n3,-4.5,dog\n0.25,1,dog\n"),
        ("truth.csv", "a,b,label\n1.5,2,TRUE\n3,-4.5,FALSE\n0.25,1,FALSE\n"),
        ("zero_one.csv", "a,b,target\n1.5,2,1\n3,-4.5,0\n0.25,1,0\n"),
        ("two_classes.csv", "a,b,class\n1.5,2,2\n3,-4.5,1\n0.25,1,1\n"),
    ],
)
def test_one_table_in_many_dresses(tmp_path: Path, name: str, content: str | bytes) -> None:
    dataset = read_dataset(written(tmp_path, content, name))
    assert dataset == POINTS, dataset.X
    assert dataset.task is Task.CLASSIFICATION


def test_binary_formats(tmp_path: Path) -> None:
    table = np.column_stack([POINTS.X, POINTS.y])
    np.save(tmp_path / "points.npy", table)
    assert read_dataset(tmp_path / "points.npy") == POINTS
    written(tmp_path, gzip.compress((tmp_path / "points.npy").read_bytes(), mtime=0), "points.npy.gz")
    assert read_dataset(tmp_path / "points.npy.gz") == POINTS
    np.savez(tmp_path / "points.npz", X=POINTS.X, y=np.array(["cat", "dog", "dog"]))
    assert read_dataset(tmp_path / "points.npz") == POINTS
    named = np.array([(1.5, 2.0, 1), (3.0, -4.5, 0), (0.25, 1.0, 0)], dtype=[("a", "f8"), ("b", "f8"), ("y", "i4")])
    np.save(tmp_path / "named.npy", named)
    assert read_dataset(tmp_path / "named.npy") == POINTS


def test_parquet(tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame({"a": POINTS.X[:, 0], "b": POINTS.X[:, 1], "kind": ["cat", "dog", "dog"]}, index=[5, 7, 9])
    frame.to_parquet(tmp_path / "points.parquet")
    assert read_dataset(tmp_path / "points.parquet") == POINTS
    written(tmp_path, b"no parquet", "broken.parquet")
    with pytest.raises(InvalidInputError, match="whole Parquet file"):
        read_dataset(tmp_path / "broken.parquet")


@pytest.mark.parametrize(
    ("content", "options", "summary"),
    [
        (
            "a,b,diagnosis\n1,2,malignant\n2,1,benign\n3,3,benign\n",
            {},
            "3 samples, 2 features, 1 malignant (-1), 2 benign (+1), from points.csv (labels: diagnosis)",
        ),
        ("a,y\n1,0\n2,1\n3,1\n", {}, "3 samples, 1 feature, 1 of label 0 (-1), 2 of label 1 (+1), from points.csv"),
        ("a,y\n1,-1\n2,1\n", {}, "2 samples, 1 feature, 1 of label -1, 1 of label 1, from points.csv"),
        ("a,y\n1,0\n2,1\n", {"labels": "numbers"}, "2 samples, 1 feature, labels from 0 to 1, from points.csv"),
        ("a,b,c\n1,7,no\n2,8,yes\n", {}, "2 samples, 2 features, 1 no (-1), 1 yes (+1), from points.csv (labels: c)"),
        (
            "a,b,digit\n1,7,3\n2,8,8\n3,9,5\n",
            {"labels": "8,3"},
            "2 samples, 2 features, 1 of label 3 (-1), 1 of label 8 (+1), from points.csv (labels: digit)",
        ),
        (
            "a,b,kind\n1,7,cat\n2,8,dog\n3,9,cow\n",
            {"labels": "cow"},
            "3 samples, 2 features, 2 others (-1), 1 cow (+1), from points.csv (labels: kind)",
        ),
        (
            "kind,a,b\ncat,7,1\ndog,8,2\n",
            {"target": "kind", "features": "b"},
            "2 samples, 1 feature, 1 dog (-1), 1 cat (+1), from points.csv (labels: kind)",
        ),
    ],
)
def test_one_line_says_what_was_understood(tmp_path: Path, content: str, options: dict, summary: str) -> None:
    assert read_file(written(tmp_path, content), TableChoice(**options)).summary == summary


def test_choosing_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "name,a,b,c,out\nann,1,2,3,0.5\nbob,4,5,6,1.5\n")
    with pytest.raises(InvalidInputError, match="words in column name"):
        read_dataset(path)
    np.testing.assert_array_equal(read_dataset(path, drop="name").X, [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(read_dataset(path, features="c,A").X, [[3, 1], [6, 4]])
    swapped = read_dataset(path, target="b", drop=["name", "c"])
    np.testing.assert_array_equal(swapped.X, [[1, 0.5], [4, 1.5]])
    np.testing.assert_array_equal(swapped.y, [2, 5])
    for options, words in (
        ({"target": "nothing"}, r"`target` must name a column of `.*`, which has name, a, b, c, out; got 'nothing'"),
        ({"features": "a,out", "target": "out"}, "must not hold the label column"),
        ({"features": "a,a"}, "name each column once"),
        ({"features": ""}, "`features` must be names"),
        ({"drop": "z"}, "`drop` must name a column"),
        ({"drop": "name", "labels": "1,2,1"}, "POSITIVE,NEGATIVE"),
        ({"drop": "name", "target": "a,a"}, "name each column once"),
        ({"drop": "name", "labels": "7,8"}, "which holds 0.5, 1.5; got '7'"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            read_dataset(path, **options)


def test_missing_values_are_counted_and_dropped_on_request(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,y\n1,NA,0.5\n2,3,1.5\n?,,2.5\n4,5,\n")
    with pytest.raises(InvalidInputError) as caught:
        read_dataset(path)
    assert "1 in a, 2 in b, 1 in y (first in line 2)" in str(caught.value)
    assert "`drop_missing` leaves out the 3 rows" in str(caught.value)
    assert read_dataset(path, drop_missing=True) == Dataset([[2.0, 3.0]], [1.5])
    assert read_dataset(path, drop="b", drop_missing=True).n == 2
    nothing = written(tmp_path, "a,b,y\n1,,0.5\n,3,1.5\n", "nothing.csv")
    with pytest.raises(InvalidInputError, match="leaves none"):
        read_dataset(nothing, drop_missing=True)


def remarks(path: Path, **options: object) -> str:
    return "; ".join(read_file(path, TableChoice(**options)).remarks)  # type: ignore[arg-type]


def test_columns_of_zeros_are_no_biases(tmp_path: Path) -> None:
    """Of the digits it was said that columns of zeros "are constant, kept: it acts as a hidden bias"."""
    said = remarks(written(tmp_path, "a,b,c,d,e,y\n1,0,2,0,3,0.5\n4,0,2,0,3,0.7\n2,0,2,0,3,0.9\n"))
    assert "columns b, d are zero for every sample, kept, without effect on the outputs" in said
    assert "columns c, e are constant, kept: they act as hidden biases" in said


def test_what_should_be_known_is_said_and_nothing_is_done_silently(tmp_path: Path) -> None:
    raw = written(tmp_path, "area,smooth,one,y\n120000,0.001,1,0.5\n90000,0.004,1,0.7\n90000,0.004,1,0.9\n")
    said = remarks(raw)
    assert "from 0.0033 (smooth) to 1e+05 (area)" in said
    assert "`standardise` gives each mean 0 and variance 1" in said
    assert "column one is constant, kept: it acts as a hidden bias" in said
    assert "1 row repeats another one" in said
    assert read_dataset(raw).X[0, 0] == 120000
    standardised = read_dataset(raw, standardise=True)
    np.testing.assert_allclose(standardised.X[:, :2].mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(standardised.X[:, :2].std(axis=0), 1)
    np.testing.assert_array_equal(standardised.X[:, 2], 1)
    assert "standardise" not in remarks(raw, standardise=True).replace("is constant", "")
    pair = written(tmp_path, "a,y\n1,3\n2,8\n3,8\n", "pair.csv")
    notice = read_file(pair, TableChoice()).notice
    assert "`labels='8,3'` makes them the classes 1 and -1" in notice
    notice = read_file(pair, TableChoice(is_command_line=True)).notice
    assert "`--labels 8,3` makes them the classes 1 and -1" in notice
    assert "no header" in remarks(written(tmp_path, "1,2\n3,4\n", "bare.csv"))
    assert "index column" in remarks(written(tmp_path, ",a,y\n0,1,2\n1,3,4\n", "index.csv"))


def test_standardising_keeps_columns_that_differ_by_rounding_only() -> None:
    column = np.array([0.1 + 0.2, 0.3, 0.3])
    dataset = Dataset(np.column_stack([column, [1.0, 2.0, 3.0]]), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(dataset.standardised().X[:, 0], column)


class Tensor:
    """What a torch tensor shows of itself: it must be detached and brought home before NumPy sees it."""

    def __init__(self, values, is_home=False):
        self.values, self.is_home = values, is_home

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.values, is_home=True)

    def numpy(self):
        assert self.is_home
        return np.asarray(self.values)

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on a tensor that requires grad.")


def test_what_people_hold_in_python() -> None:
    import pandas
    import polars
    import pyarrow
    from scipy import sparse

    columns = {"a": POINTS.X[:, 0].tolist(), "b": POINTS.X[:, 1].tolist(), "kind": ["cat", "dog", "dog"]}
    held = [
        (POINTS.X, POINTS.y),
        [POINTS.X.tolist(), POINTS.y.tolist()],
        {"X": POINTS.X, "y": ["cat", "dog", "dog"]},
        pandas.DataFrame(columns),
        pandas.DataFrame(columns).astype({"kind": "category"}),
        polars.DataFrame(columns),
        pyarrow.table(columns),
        (Tensor(POINTS.X), Tensor([1, 0, 0])),
        (Tensor(POINTS.X), Tensor([[1.0], [0.0], [0.0]])),
        (pandas.DataFrame(POINTS.X), pandas.Series([True, False, False])),
        (sparse.csr_array(POINTS.X), POINTS.y),
    ]
    for given in held:
        assert as_dataset(given) == POINTS, type(given)
        assert load(given) == POINTS
    assert as_dataset(POINTS) is POINTS
    assert as_dataset(Tensor(POINTS.X), Tensor([1, 0, 0])) == POINTS
    assert as_dataset(POINTS.X, POINTS.y, bias=True) == POINTS.with_bias()
    missing = pandas.DataFrame({"a": [1.0, np.nan], "y": [0.5, 0.7]})
    with pytest.raises(InvalidInputError, match=r"the data frame.*1 in a \(first in row 2\)"):
        as_dataset(missing)
    for nonsense in (None, 3, object(), {"a": 1}):
        with pytest.raises(InvalidInputError, match="`data` must be a dataset"):
            as_dataset(nonsense)
    with pytest.raises(InvalidInputError, match="one label for each of the 3 rows"):
        as_dataset(POINTS.X, [1.0])
    with pytest.raises(InvalidInputError, match="has its labels"):
        as_dataset(POINTS, POINTS.y)


def test_scikit_learns_own_data() -> None:
    from sklearn import datasets

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cancer, iris, diabetes = datasets.load_breast_cancer(), datasets.load_iris(), datasets.load_diabetes()
    found = as_dataset(cancer)
    assert (found.n, found.d, int(np.sum(found.y > 0))) == (569, 30, 357)
    assert "label benign is +1, label malignant is -1" in found.provenance
    assert as_dataset(datasets.load_breast_cancer(as_frame=True)) == found
    assert as_dataset(datasets.load_breast_cancer(as_frame=True).frame) == found
    assert as_dataset(*datasets.load_breast_cancer(return_X_y=True)) == found
    three = as_dataset(iris)
    assert three.classes == ("setosa", "versicolor", "virginica")
    np.testing.assert_array_equal(three.y, iris.target)
    two = as_dataset(iris, labels=("virginica", "versicolor"))
    assert (two.n, two.num_repeated) == (100, 1)
    regression = as_dataset(diabetes)
    assert regression.task is Task.REGRESSION
    np.testing.assert_array_equal(regression.y, diabetes.target)


def test_load_takes_paths_and_names(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,kind\n1.5,2,cat\n3,-4.5,dog\n0.25,1,dog\n")
    assert load(str(path)) == load(path) == POINTS
    assert load(path, bias=True).d == 3
    assert load("three-points", standardise=True).n == 3
    with pytest.raises(InvalidInputError, match="`target` is for tables, and `three-points` is a registered dataset"):
        load("three-points", target="y")
    with pytest.raises(InvalidInputError, match="`y` comes with arrays"):
        load("three-points", [1, 2])
    with pytest.raises(InvalidInputError, match="no zero sample"):
        load([[0.0], [1.0]], [1.0, 2.0])


def test_a_first_row_like_the_others_is_no_header(tmp_path):
    """Without a header, the first sample became the names of the columns and was lost where the labels are words."""
    path = written(tmp_path, "5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,versicolor\n6.4,3.2,versicolor\n")
    reading = read_file(path, TableChoice())
    assert reading.dataset.n == 4
    assert "there is no header, so the last column is the label" in reading.remarks
    named = written(tmp_path, "1,2,species\n5.1,3.5,setosa\n4.9,3.0,versicolor\n", "named.csv")  # names of numbers
    assert read_file(named, TableChoice()).dataset.n == 2


def test_words_beside_a_guessed_label_may_be_the_label(tmp_path):
    """The label stood before the last column, and the way out named was to leave it out."""
    path = written(tmp_path, "a,animal,b\n1,dog,3\n2,cat,4\n3,dog,5\n")
    with pytest.raises(
        InvalidInputError, match="make it the label with `target='animal'`, for b was taken as the last"
    ):
        read_file(path, TableChoice())
    named = written(tmp_path, "a,who,y\n1,ann,1\n2,bob,-1\n3,ann,1\n", "named.csv")
    with pytest.raises(InvalidInputError) as refusal:
        read_file(named, TableChoice())
    assert "target" not in str(refusal.value)
