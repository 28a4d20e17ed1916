"""Tables and arrays with more than two classes, or several targets: what was taken, and how to say otherwise."""

import numpy as np
import pytest

from reluflow.data import Dataset, as_dataset, load, read_dataset, write_dataset
from reluflow.data.choice import TableChoice, labels_under
from reluflow.data.files import read_file
from reluflow.errors import InvalidInputError

WORDS = "a,b,kind\n1,2,hen\n3,1,cat\n0.5,2,dog\n2,2,cat\n1,3,hen\n"
NUMBERS = "a,b,y\n1,2,1.0\n3,1,2.0\n0.5,2,3.0\n2,2,1.0\n1,3,2.0\n4,4,3.0\n"
TARGETS = "a,u,v\n1,0.5,2\n3,1,2.5\n0.5,2,1\n"
ONE_HOT = "a,u,v,w\n1,0,1,0\n3,1,0,0\n0.5,0,0,1\n2,0,0,1\n"


def reading(tmp_path, text, *, loss=None, **options):
    path = tmp_path / "table.csv"
    path.write_text(text)
    options["labels"] = labels_under(options.get("labels"), loss)
    return read_file(path, TableChoice(**options, loss=loss))


def test_words_of_three_kinds_are_classes(tmp_path):
    found = reading(tmp_path, WORDS)
    assert found.dataset.classes == ("cat", "dog", "hen")
    assert found.dataset.y.tolist() == [2.0, 0.0, 1.0, 0.0, 2.0]
    assert "3 classes (2 cat, 1 dog, 2 hen)" in found.summary
    assert "class dog has one member" in found.remarks


def test_an_order_of_classes_may_be_asked_for(tmp_path):
    found = reading(tmp_path, WORDS, labels="hen,dog,cat")
    assert found.dataset.classes == ("hen", "dog", "cat")
    assert found.dataset.y.tolist() == [0.0, 2.0, 1.0, 2.0, 0.0]
    two = reading(tmp_path, WORDS, labels="hen,cat", loss="softmax")
    assert (two.dataset.classes, two.dataset.n) == (("hen", "cat"), 4)
    assert "1 row of other classes is left out" in two.remarks
    assert reading(tmp_path, WORDS, labels="hen").dataset.is_binary


def test_numbers_that_may_be_classes_say_which_was_taken(tmp_path):
    found = reading(tmp_path, NUMBERS)
    assert found.dataset.classes == ("1", "2", "3")
    assert "are taken as 3 classes (softmax)" in found.notice
    assert "`labels='numbers'` or the square loss fits the numbers instead" in found.notice
    for said in ({"loss": "square"}, {"labels": "numbers"}, {"task": "regression"}):
        numbers = reading(tmp_path, NUMBERS, **said)
        assert numbers.dataset.y.tolist() == [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
        assert numbers.notice == ""
    few = reading(tmp_path, "a,y\n1,1\n2,2\n3,3\n")
    assert few.dataset.task == "regression"


def test_several_targets_are_rows_of_numbers(tmp_path):
    found = reading(tmp_path, TARGETS, target="u,v")
    assert np.array_equal(found.dataset.y, [[0.5, 2.0], [1.0, 2.5], [2.0, 1.0]])
    assert (found.dataset.d, found.dataset.default_loss) == (1, "square")
    assert "2 targets from 0.5 to 2.5" in found.summary


def test_one_hot_columns_are_classes_unless_numbers_are_asked_for(tmp_path):
    found = reading(tmp_path, ONE_HOT, target="u,v,w")
    assert (found.dataset.classes, found.dataset.y.tolist()) == (("u", "v", "w"), [1.0, 0.0, 2.0, 2.0])
    assert "hold one 1 per row and are taken as 3 classes" in found.notice
    assert reading(tmp_path, ONE_HOT, target="u,v,w", loss="square").dataset.y.shape == (4, 3)


def test_two_classes_become_softmax_where_that_is_asked_for(tmp_path):
    text = "a,kind\n1,yes\n2,no\n3,yes\n"
    assert reading(tmp_path, text).dataset.is_binary
    found = reading(tmp_path, text, loss="softmax").dataset
    assert (found.classes, found.y.tolist()) == (("no", "yes"), [1.0, 0.0, 1.0])
    assert reading(tmp_path, text, labels="classes").dataset.classes == ("no", "yes")


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array([0, 1, 2, 1]), ("0", "1", "2")),
        (np.array(["b", "a", "c", "c"]), ("a", "b", "c")),
        (np.array([[0, 1], [1, 0], [1, 0], [0, 1]]), ("y1", "y2")),
        (np.array([[0.5, 1], [1, 0], [1, 0], [0, 1]]), None),
    ],
)
def test_archives_of_labels_and_rows(tmp_path, y, classes):
    X = np.arange(8.0).reshape(4, 2) + 1.0
    if y.ndim == 1 and y.dtype.kind == "i":
        X, y = np.vstack([X, X + 10.0]), np.tile(y, 2)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    found = read_dataset(tmp_path / "data.npz")
    assert found.classes == classes
    assert np.array_equal(found.X, X)
    assert as_dataset(X, y) == found


def test_what_is_written_reads_back(tmp_path):
    X = np.arange(6.0).reshape(3, 2) + 1.0
    rows = Dataset(X, [[0.1, 2.0], [1 / 3, 1.0], [4.0, 5.0]])
    pets = Dataset(X, [2, 0, 1], classes=("a cat", "dog, or cow", "hen"))
    for name in ("data.csv", "data.npz"):
        assert read_dataset(write_dataset(rows, tmp_path / name)) == rows
        assert read_dataset(write_dataset(pets, tmp_path / name)) == pets


def test_a_registered_dataset_under_softmax():
    from reluflow.data.registry import open_reading

    found = open_reading("min-toy", TableChoice(loss="softmax")).dataset
    assert found.classes == ("-1", "1")
    assert np.array_equal(2.0 * found.y - 1.0, load("min-toy").y)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (TARGETS, {"target": "u,v", "loss": "softmax"}, "no one-hot code"),
        (TARGETS, {"target": "u,v", "labels": "1,2"}, "names values of one label column"),
        (TARGETS, {"target": "u,z"}, "must name a column"),
        (WORDS, {"target": "b,kind"}, "words in kind"),
        (WORDS, {"labels": "hen", "loss": "softmax"}, "at least two classes for the softmax loss"),
        (NUMBERS, {"labels": "numbers", "loss": "softmax"}, "must be classes for the softmax loss"),
        ("a,y\n1,x\n2,x\n", {}, "at least two classes"),
        ("a,y\n" + "".join(f"{k},name{k}\n" for k in range(60)), {}, "60 different words"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, text, options, words):
    with pytest.raises(InvalidInputError, match=words):
        reading(tmp_path, text, **options)
