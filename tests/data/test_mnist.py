"""MNIST pairs: the bundled subset, and full files in their several dresses."""

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from data.idx_files import fake_digits, idx_bytes, write_fake
from reluflow.data.mnist import BUNDLED_DIGITS, mnist_digits, mnist_folder, mnist_pair
from reluflow.errors import InvalidInputError

BUNDLE = resources.files("reluflow.data") / "bundled"


def test_bundle_is_what_its_notice_says() -> None:
    assert len((BUNDLE / "mnist_01378.npz").read_bytes()) < 1_000_000
    notice = (BUNDLE / "NOTICE.txt").read_text()
    assert "LeCun" in notice
    assert "Cortes" in notice
    assert "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db" in notice
    with np.load(str(BUNDLE / "mnist_01378.npz")) as archive:
        images, labels = archive["images"], archive["labels"]
    assert images.shape == (5000, 28, 28)
    assert images.dtype == np.uint8
    digits, counts = np.unique(labels, return_counts=True)
    assert tuple(digits) == BUNDLED_DIGITS
    np.testing.assert_array_equal(counts, 1000)
    # The MNIST training labels begin 5 0 4 1 9 2 1 3 1 4 3 5 3 6 1 7 2 8 6 9: of these, the digits kept are
    np.testing.assert_array_equal(labels[:10], [0, 1, 1, 3, 1, 3, 3, 1, 7, 8])


@pytest.mark.parametrize(("positive", "negative"), [(0, 1), (3, 8), (1, 7)])
def test_bundled_pairs(positive: int, negative: int) -> None:
    dataset = mnist_pair(positive, negative)
    assert (dataset.n, dataset.d) == (2000, 784)
    np.testing.assert_array_equal(dataset.y, np.repeat([1.0, -1.0], 1000))
    np.testing.assert_allclose(dataset.X.mean(axis=0), 0.0, atol=1e-13)
    dataset.check_samples()
    raw = mnist_pair(positive, negative, centred=False)
    assert raw.X.min() == 0.0
    assert raw.X.max() == 1.0
    np.testing.assert_allclose(raw.X - raw.X.mean(axis=0), dataset.X, atol=1e-15)
    np.testing.assert_allclose(raw.X * 255, np.round(raw.X * 255), atol=1e-12)
    # Min et al. (2024): centring makes the class sums opposite, and few pairs of 0/1 have the wrong sign.
    np.testing.assert_allclose(dataset.y @ dataset.X / 2, dataset.X[:1000].sum(axis=0), atol=1e-9)
    right = np.mean((dataset.X @ dataset.X.T) * np.outer(dataset.y, dataset.y) > 0)
    low, high = {(0, 1): (0.91, 0.95), (3, 8): (0.6, 0.72), (1, 7): (0.75, 0.85)}[positive, negative]
    assert low < right < high


def test_size_takes_the_first_of_each_digit() -> None:
    small, large = mnist_pair(3, 8, size=7, centred=False), mnist_pair(3, 8, centred=False)
    np.testing.assert_array_equal(small.y, [1, 1, 1, 1, -1, -1, -1])
    np.testing.assert_array_equal(small.X, large.X[[0, 1, 2, 3, 1000, 1001, 1002]])
    swapped = mnist_pair(8, 3, centred=False)
    np.testing.assert_array_equal(swapped.X[:1000], large.X[1000:])


def test_several_digits_are_classes() -> None:
    three = mnist_digits([3, 0, 8], size=8, centred=False)
    assert three.classes == ("3", "0", "8")
    np.testing.assert_array_equal(three.y, [0, 0, 0, 1, 1, 1, 2, 2])
    pair = mnist_pair(3, 8, centred=False)
    np.testing.assert_array_equal(three.X[[0, 1, 2, 6, 7]], pair.X[[0, 1, 2, 1000, 1001]])
    np.testing.assert_allclose(mnist_digits([3, 0, 8], size=8).X, three.X - three.X.mean(axis=0))
    assert mnist_digits(BUNDLED_DIGITS).n == 5000


@pytest.mark.parametrize("digits", [[3], [3, 3], [3, 10], [0, 1.5]])
def test_digits_that_are_no_classes_are_refused(digits) -> None:
    with pytest.raises(InvalidInputError, match="two or more different digits"):
        mnist_digits(digits)


def test_each_digit_needs_an_image() -> None:
    with pytest.raises(InvalidInputError, match="`size` must be at least 3"):
        mnist_digits([0, 1, 3], size=2)


@pytest.mark.parametrize("dress", [{}, {"compressed": True}, {"dotted": True}, {"compressed": True, "dotted": True}])
def test_full_files_in_a_folder(tmp_path: Path, dress: dict[str, bool]) -> None:
    write_fake(tmp_path, **dress)
    dataset = mnist_pair(2, 5, source="full", folder=tmp_path, centred=False)
    images, labels = fake_digits()
    expected = np.concatenate([images[labels == 2], images[labels == 5]]).reshape(-1, 784) / 255
    np.testing.assert_array_equal(dataset.X, expected)
    np.testing.assert_array_equal(dataset.y, [1, 1, 1, -1, -1, -1])


def test_test_split_and_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELUFLOW_DATA", str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"test images of MNIST were looked for in .* \$RELUFLOW_DATA"):
        mnist_pair(0, 1, source="full", split="test")
    write_fake(tmp_path, stem="t10k", compressed=True)
    assert mnist_pair(0, 1, source="full", split="test").n == 6
    images, labels = fake_digits()
    np.savez_compressed(tmp_path / "mnist_train_some.npz", images=images, labels=labels)
    from_archive = mnist_pair(0, 1, source="full")
    assert from_archive == mnist_pair(0, 1, source="full", split="test")
    assert "mnist_train_some.npz" in from_archive.provenance


def test_folder_is_argument_then_variable_then_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELUFLOW_DATA", str(tmp_path / "variable"))
    assert mnist_folder(tmp_path / "argument") == tmp_path / "argument"
    assert mnist_folder() == tmp_path / "variable"
    monkeypatch.delenv("RELUFLOW_DATA")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert mnist_folder() == tmp_path / "cache" / "reluflow"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert mnist_folder() == tmp_path / ".cache" / "reluflow"


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    write_fake(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx_bytes(np.zeros(29, dtype=np.uint8)))
    with pytest.raises(InvalidInputError, match="one 28 x 28 image for each of the 29 labels"):
        mnist_pair(0, 1, source="full", folder=tmp_path)
    archives = tmp_path / "archives"
    archives.mkdir()
    for arrays, words in (
        ({"images": np.zeros((2, 28, 28))}, "`images` and `labels`"),
        ({"images": np.zeros((2, 28, 28)), "labels": np.zeros(2)}, "unsigned bytes"),
        ({"images": np.zeros((2, 28, 28), dtype=np.uint8), "labels": np.zeros(3)}, "unsigned bytes"),
    ):
        np.savez(archives / "mnist_train.npz", **arrays)
        with pytest.raises(InvalidInputError, match=words):
            mnist_pair(0, 1, source="full", folder=archives)
    (archives / "mnist_train.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(InvalidInputError, match="`images` and `labels`"):
        mnist_pair(0, 1, source="full", folder=archives)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((0, 0), {}, "two different digits, got 0 twice"),
        ((0, 10), {}, "`negative` must be a digit from 0 to 9, got 10"),
        ((0, 2), {}, "no images of the digit 2 in the bundled subset of the training images, only of 0, 1, 3, 7, 8"),
        ((0, 1), {"size": 1}, "`size` must be at least 2"),
        ((0, 1), {"size": 2001}, "asks for 1,001 images of the digit 0, but the bundled .* holds 1,000"),
        ((0, 1), {"source": "web"}, "`source` must be 'bundled' or 'full', got 'web'"),
        ((0, 1), {"split": "validation"}, "`split` must be 'train' or 'test'"),
        ((0, 1), {"split": "test"}, "need source='full'"),
    ],
)
def test_refusals(arguments: tuple[int, int], options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        mnist_pair(*arguments, **options)  # type: ignore[arg-type]
