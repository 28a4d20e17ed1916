"""Datasets whose labels are classes or rows of numbers."""

import numpy as np
import pytest

from reluflow.data import Dataset
from reluflow.errors import InvalidInputError

X = np.arange(6.0).reshape(3, 2) + 1.0
PETS = Dataset(X, [0, 2, 1], classes=("cat", "dog", "hen"))


def test_classes_keep_their_names_and_order():
    assert (PETS.num_outputs, PETS.task, PETS.default_loss) == (3, "classification", "softmax")
    assert not PETS.is_binary
    assert PETS.zero_outputs().shape == (3, 3)
    assert PETS.subset([0, 1]).classes == PETS.classes  # a class that is not seen stays an output
    assert PETS.with_bias().classes == PETS.classes
    assert PETS.replace(classes=("cat", "dog", "cow")) != PETS


def test_rows_of_numbers_are_vector_regression():
    rows = Dataset(X, [[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    assert (rows.num_outputs, rows.task, rows.is_binary, rows.default_loss) == (2, "regression", False, "square")
    assert np.array_equal(rows.target(1).y, [-1.0, 1.0, 1.0])
    assert Dataset(X, [[1.0], [2.0], [3.0]]).y.shape == (3,)


def test_classes_in_other_forms():
    assert np.array_equal(PETS.with_one_hot_targets().y, np.eye(3)[[0, 2, 1]])
    assert np.array_equal(PETS.one_against_rest("hen").y, [-1.0, 1.0, -1.0])
    binary = Dataset(X, [1.0, -1.0, 1.0]).with_class_indices()
    assert (binary.classes, binary.y.tolist()) == (("-1", "1"), [1.0, 0.0, 1.0])
    numbers = Dataset(X, [2.5, 0.5, 2.5]).with_class_indices()
    assert (numbers.classes, numbers.y.tolist()) == (("0.5", "2.5"), [1.0, 0.0, 1.0])
    one_sided = Dataset(X, [1.0, 1.0, 1.0]).with_class_indices()
    assert (one_sided.classes, one_sided.y.tolist()) == (("-1", "1"), [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Dataset(X, [0, 1, 3], classes=("a", "b", "c")), "one index 0, ..., 2 of the 3 `classes`"),
        (lambda: Dataset(X, [0, 1, 0.5], classes=("a", "b")), "got 0.5"),
        (lambda: Dataset(X, [0, 0, 0], classes=("a",)), "at least two different classes"),
        (lambda: Dataset(X, [0, 0, 1], classes=("a", "a")), "at least two different classes"),
        (lambda: Dataset(X, np.eye(3), classes=("a", "b", "c")), "one index"),
        (lambda: Dataset(X, [0, 1, 1], classes=("a", "b"), task="regression"), "must be classification"),
        (lambda: Dataset(X, np.eye(3), task="classification"), "one class per sample"),
        (lambda: Dataset(X, np.zeros((3, 0))), "one label for each"),
        (lambda: PETS.one_against_rest("cow"), "one of the classes cat, dog, hen"),
        (PETS.with_flipped_labels, "a sign to flip"),
        (PETS.symmetrized, "a sign to flip"),
        (lambda: PETS.refuse_several_outputs("a margin"), "--labels CLASS"),
        (lambda: Dataset(X, np.eye(3)).refuse_several_outputs("a margin"), "--target NAME"),
        (lambda: Dataset(X, [0.5, 1.0, 2.0]).one_against_rest("1"), "with_class_indices"),
    ],
)
def test_what_makes_no_sense_is_refused(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()
