"""Files: round trips bit by bit, and one clear sentence for everything a file can be instead of a dataset."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reluflow.data import Dataset, Task, read_dataset, write_dataset
from reluflow.errors import InvalidInputError

GOOD = "x1,x2,y\n1,2,1\n3,-4.5,-1\n"


def text_file(folder: Path, content: str | bytes, name: str = "points.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read_dataset(path, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert path.name in message
    return message


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.rstrip("\n"),
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        GOOD + "\n\n   \n",
        " x1 , x2 , y \n 1 ,\t2, 1 \n\n 3.0 , -45e-1 , -1 \n",
    ],
    ids=["plain", "no last newline", "windows", "byte order mark", "blank lines", "spaces"],
)
def test_read_csv_in_every_common_dress(tmp_path: Path, content: str) -> None:
    dataset = read_dataset(text_file(tmp_path, content))
    assert dataset == Dataset([[1.0, 2.0], [3.0, -4.5]], [1.0, -1.0])
    assert dataset.name == "points"
    assert dataset.task is Task.CLASSIFICATION
    assert "points.csv" in dataset.provenance


def test_read_with_bias_and_task(tmp_path: Path) -> None:
    dataset = read_dataset(text_file(tmp_path, GOOD), bias=True, task="regression")
    assert dataset.task is Task.REGRESSION
    np.testing.assert_array_equal(dataset.X[:, 2], [1.0, 1.0])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["a header", "empty file"]),
        ("x1,x2,y\n", ["at least one row", "got none"]),
        ("x1,x2,y\n\n  \n", ["at least one row"]),
        ("y\n1\n", ["at least one feature besides its label column y"]),
        ("x1,x2,y\n1,2,1\n1,abc,1\n", ["line 3", "column x2", "a number", "'abc'"]),
        ("x1,x2,y\n\n1,2,1\n\n1,abc,1\n", ["line 5", "column x2"]),
        ("x1,x2,y\n1,,1\n", ["1 in x2", "line 2", "`drop_missing` leaves out the row that has it"]),
        ("x1,x2,y\n1,1_0,1\n", ["line 2", "column x2", "'1_0'"]),
        ("x1,x2,y\n1,\uff11,1\n", ["line 2", "column x2", "a number"]),
        ("x1,x2,y\n1,0x10,1\n", ["line 2", "column x2", "'0x10'"]),
        ("x1,x2,y\n1,2\n", ["line 2", "3 cells", "got 2"]),
        ("x1,x2,y\n1,2,3\n1,2,3,4\n", ["line 3", "3 cells", "got 4"]),
        ("x1,x2,y\n1,2,3\n\n1,2,3,\n", ["line 4", "3 cells", "got 4"]),
        ("x1,x2,y\n1,2,3\n1,nan,3\n", ["missing", "1 in x2", "line 3"]),
        ("x1,x2,y\n1,2,-inf\n", ["line 2", "column y", "finite", "-inf"]),
        ("x1,x2,y\n1,1e999,1\n", ["line 2", "column x2", "finite", "inf"]),
        (b"x1,x2,y\n1,\xff,1\n", ["UTF-8", "0xff"]),
        (b"\xff\xfex\x001\x00", ["UTF-8"]),
        (b"\x1f\x8b not gzip", ["gzip"]),
        ("x1,colour,y\n1,red,3\n2,blue,4\n3,red,5\n", ["words in column colour", "'red'", "`drop='colour'`"]),
        ("x1,y\n1,a\n2,a\n", ["got only 'a'"]),
    ],
)
def test_faulty_table_is_refused_with_its_place(tmp_path: Path, content: str | bytes, words: list[str]) -> None:
    message = refusal(text_file(tmp_path, content))
    for word in words:
        assert word in message, message


def test_fault_far_down_is_found(tmp_path: Path) -> None:
    path = text_file(tmp_path, "x1,y\n" + "0.5,1\n" * 10_000 + "oops,1\n" + "0.5,1\n" * 10)
    assert "line 10002, column x1 must be a number, got 'oops'" in refusal(path)


def test_missing_folder_and_ending(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "nowhere.csv")
    assert "does not exist" in refusal(tmp_path / "nowhere.npz")
    (tmp_path / "folder.csv").mkdir()
    assert "got a folder" in refusal(tmp_path / "folder.csv")
    assert ".parquet, .npy, .npz or one of these and .gz, got '.docx'" in refusal(
        text_file(tmp_path, GOOD, "points.docx")
    )
    assert "no ending" in refusal(text_file(tmp_path, GOOD, "points"))


@pytest.mark.parametrize("name", ["points.csv", "points.npz"])
def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = text_file(tmp_path, GOOD, name)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    # The administrator may read anything, so the refusal of the system is staged.
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "could not be read: Permission denied" in refusal(path)


def test_wrong_task_and_labels(tmp_path: Path) -> None:
    path = text_file(tmp_path, "x1,y\n1,0.5\n2,1\n")
    assert "labels -1 and 1" in refusal(path, task="classification")
    with pytest.raises(InvalidInputError, match="`task` must be classification or regression, got 'ranking'"):
        read_dataset(path, task="ranking")


def test_npz_refusals(tmp_path: Path) -> None:
    path = tmp_path / "points.npz"
    np.savez(path, X=np.eye(2))
    assert "`X` and `y`, got X;" in refusal(path)
    np.savez(path, X=np.array([["a"]], dtype=object), y=np.ones(1))
    assert "pickle" in refusal(path)
    np.savez(path, X=np.array([["1", "2"]]), y=np.ones(1))
    assert "real numbers in `X`" in refusal(path)
    np.savez(path, X=np.ones((1, 2), dtype=complex), y=np.ones(1))
    assert "real numbers in `X`" in refusal(path)
    np.savez(path, X=np.ones((3, 2)), y=np.ones(2))
    assert "one label for each of the 3 rows" in refusal(path)
    np.savez(path, X=np.ones((0, 2)), y=np.ones(0))
    assert "n and d at least 1" in refusal(path)
    np.savez(path, X=np.array([[1.0, np.nan]]), y=np.ones(1))
    assert "must be finite, without missing values, got 1 in x2" in refusal(path)
    np.save(tmp_path / "single.npy", np.eye(2))
    (tmp_path / "single.npy").rename(path)
    assert "got a single array" in refusal(path)
    path.write_bytes(b"")
    assert "whole .npz archive" in refusal(path)
    path.write_bytes(b"this is no archive at all")
    assert "whole .npz archive" in refusal(path)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_truncated_npz_is_refused(tmp_path: Path, share: float) -> None:
    path = write_dataset(Dataset(np.random.default_rng(0).random((50, 3)), np.ones(50)), tmp_path / "points.npz")
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    refusal(path)


def test_damaged_npz_is_refused(tmp_path: Path) -> None:
    path = write_dataset(Dataset(np.random.default_rng(0).random((50, 3)), np.ones(50)), tmp_path / "points.npz")
    content = bytearray(path.read_bytes())
    content[300:340] = bytes(40)
    path.write_bytes(content)
    refusal(path)


finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@pytest.mark.parametrize("ending", ["csv", "npz"])
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_round_trip_keeps_every_bit(tmp_path: Path, ending: str, data: st.DataObject) -> None:
    n, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    dataset = Dataset(
        data.draw(arrays(np.float64, (n, d), elements=finite)), data.draw(arrays(np.float64, n, elements=finite))
    )
    # labels 0 and 1 read as classes unless they are said to be numbers
    back = read_dataset(write_dataset(dataset, tmp_path / f"points.{ending}"), task=dataset.task)
    assert back.X.tobytes() == dataset.X.tobytes()
    assert back.y.tobytes() == dataset.y.tobytes()
    assert back.task is dataset.task


def test_integers_and_booleans_in_npz_are_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "points.npz", X=np.array([[1, 2], [3, 4]]), y=np.array([True, True]))
    assert read_dataset(tmp_path / "points.npz") == Dataset([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])


def test_writing_replaces_follows_links_and_leaves_nothing_behind(tmp_path: Path) -> None:
    real = write_dataset(Dataset([[1.0]], [1.0]), tmp_path / "real.csv")
    (tmp_path / "link.csv").symlink_to(real)
    write_dataset(Dataset([[2.0]], [2.0]), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert read_dataset(real) == Dataset([[2.0]], [2.0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "real.csv"]


def test_writing_where_one_cannot(tmp_path: Path) -> None:
    dataset = Dataset([[1.0]], [1.0])
    with pytest.raises(InvalidInputError, match=r"could not be written: No such file or directory"):
        write_dataset(dataset, tmp_path / "nowhere" / "points.csv")
    with pytest.raises(InvalidInputError, match=r"must end in .csv or .npz"):
        write_dataset(dataset, tmp_path / "points.json")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidInputError, match="got a folder"):
        write_dataset(dataset, tmp_path / "folder.csv")


FULL_DISK = """
import resource, sys
import numpy as np
from reluflow.data import Dataset, write_dataset
from reluflow.errors import InvalidInputError
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    write_dataset(Dataset(np.random.default_rng(0).random((5_000, 3)), np.ones(5_000)), sys.argv[1])
except InvalidInputError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
@pytest.mark.parametrize("name", ["points.csv", "points.npz"])
def test_disk_that_fills_up_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    """A file-size limit stops the writing half way, as a full disk does."""
    old = Dataset([[1.0]], [1.0])
    path = write_dataset(old, tmp_path / name)
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2, done.stderr
    assert "could not be written" in done.stdout
    assert "nothing was changed" in done.stdout
    assert read_dataset(path) == old
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
