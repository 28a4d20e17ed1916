"""MNIST digits as two or more classes: a bundled subset of 0, 1, 3, 7, 8, or the full files in a data folder."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IndexArray
from reluflow.data.dataset import Dataset, Task
from reluflow.data.idx import read_idx
from reluflow.errors import InvalidInputError

Source = Literal["bundled", "full"]
Split = Literal["train", "test"]

FOLDER_VARIABLE = "RELUFLOW_DATA"
BUNDLED_DIGITS = (0, 1, 3, 7, 8)
BUNDLED_PER_DIGIT = 1_000
NUM_PIXELS = 28 * 28

_STEMS = {"train": "train", "test": "t10k"}  # how the standard IDX files are called


def mnist_pair(
    positive: int,
    negative: int,
    *,
    size: int | None = None,
    source: Source = "bundled",
    split: Split = "train",
    centred: bool = True,
    folder: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Images of two digits as a classification dataset in R^784, pixels divided by 255.

    The first digit named has label 1 and stands first, then the second with label -1, each in the order of the files.

    Parameters
    ----------
    positive, negative
        The digit with label 1 and the digit with label -1.
    size
        Number of images to keep, the first (size + 1) // 2 of `positive` and the first size // 2 of `negative`; by
        default all there are.
    source
        "bundled" for the first 1,000 training images of each of 0, 1, 3, 7, 8; "full" for the files in `folder`.
    split
        "train" or "test"; only training images are bundled.
    centred
        Subtract the mean of the images kept, as the papers do.
    folder
        Where the full files are; by default `mnist_folder()`.

    Returns
    -------
    Dataset
        n images in dimension 784.

    Notes
    -----
    The papers name their pairs without saying which digit is positive; relabelling flips the sign of every y.

    References
    ----------
    Min et al. (2024), Sec. 4, App. A.4 (0/1, 3/8, 1/7) [min2024]; Phuong & Lampert (2021), App. D (0/1) [phuong2021].

    Examples
    --------
    >>> mnist_pair(0, 1, size=10)
    Dataset('mnist-0-1', n=10, d=784, classification)
    """
    for name, digit in (("positive", positive), ("negative", negative)):
        if digit not in range(10):
            raise InvalidInputError(f"`{name}` must be a digit from 0 to 9, got {digit!r}.")
    if positive == negative:
        raise InvalidInputError(f"`positive` and `negative` must be two different digits, got {positive} twice.")
    if size is not None and size < 2:
        raise InvalidInputError(f"`size` must be at least 2, one image of each digit, got {size}.")
    parts, origin = _images_of((positive, negative), size, source, split, folder)
    dataset = Dataset(
        np.concatenate(parts),
        np.repeat([1.0, -1.0], [len(part) for part in parts]),
        task=Task.CLASSIFICATION,
        name=f"mnist-{positive}-{negative}",
        provenance=f"MNIST ({origin}), pixels/255, {positive} is +1 and {negative} is -1",
    )
    return dataset.centered() if centred else dataset


def mnist_digits(
    digits: Sequence[int],
    *,
    size: int | None = None,
    source: Source = "bundled",
    split: Split = "train",
    centred: bool = True,
    folder: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Images of several digits, each a class, in R^784, pixels divided by 255.

    The digits stand one after the other as they are named, each in the order of the files.

    Parameters
    ----------
    digits
        Two or more different digits.
    size
        Number of images to keep, shared between the digits as evenly as can be; by default all there are.
    source, split, centred, folder
        As of `mnist_pair`.

    Returns
    -------
    Dataset
        n images in dimension 784, with a class for each digit.

    Examples
    --------
    >>> mnist_digits([0, 1, 3], size=20)
    Dataset('mnist-0-1-3', n=20, d=784, classification, 3 outputs)
    """
    if len(digits) < 2 or len(set(digits)) < len(digits) or not set(digits) <= set(range(10)):
        raise InvalidInputError(f"`digits` must be two or more different digits from 0 to 9, got {list(digits)}.")
    if size is not None and size < len(digits):
        raise InvalidInputError(f"`size` must be at least {len(digits)}, one image of each digit, got {size}.")
    parts, origin = _images_of(digits, size, source, split, folder)
    dataset = Dataset(
        np.concatenate(parts),
        np.repeat(np.arange(float(len(digits))), [len(part) for part in parts]),
        classes=[str(digit) for digit in digits],
        name="mnist-" + "-".join(str(digit) for digit in digits),
        provenance=f"MNIST ({origin}), pixels/255",
    )
    return dataset.centered() if centred else dataset


def _images_of(
    digits: Sequence[int], size: int | None, source: Source, split: Split, folder: str | os.PathLike[str] | None
) -> tuple[list[FloatArray], str]:
    """The images of each digit as rows of numbers from 0 to 1, and where they are from."""
    if source not in get_args(Source):
        raise InvalidInputError(f"`source` must be 'bundled' or 'full', got {source!r}.")
    if split not in get_args(Split):
        raise InvalidInputError(f"`split` must be 'train' or 'test', got {split!r}.")
    images, labels, origin = _bundled(split) if source == "bundled" else _full(mnist_folder(folder), split)
    number = len(digits)
    counts = [None if size is None else (size + number - 1 - at) // number for at in range(number)]
    chosen = [_first(labels, digit, count, origin) for digit, count in zip(digits, counts, strict=True)]
    return [images[index].reshape(-1, NUM_PIXELS) / 255.0 for index in chosen], origin


def mnist_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Where the full MNIST files are looked for: `folder`, else $RELUFLOW_DATA, else the user's cache folder."""
    if folder is not None:
        return Path(folder).expanduser()
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "reluflow"


def _bundled(split: Split) -> tuple[NDArray[np.uint8], NDArray[np.uint8], str]:
    if split != "train":
        raise InvalidInputError("`split` must be 'train' for the bundled images; the test images need source='full'.")
    with resources.as_file(resources.files("reluflow.data") / "bundled" / "mnist_01378.npz") as path:
        images, labels = _read_archive(path)
    return images, labels, "bundled subset of the training images"


def has_full_mnist(split: Split = "train") -> bool:
    """Whether the full files are where they are looked for."""
    folder = mnist_folder()
    is_raw = all(_existing(folder, f"{_STEMS[split]}-{name}-ubyte") for name in ("images-idx3", "labels-idx1"))
    return is_raw or any(folder.glob(f"mnist_{split}*.npz"))


def _full(folder: Path, split: Split) -> tuple[NDArray[np.uint8], NDArray[np.uint8], str]:
    stem = _STEMS[split]
    image_file = _existing(folder, f"{stem}-images-idx3-ubyte")
    label_file = _existing(folder, f"{stem}-labels-idx1-ubyte")
    if image_file is not None and label_file is not None:
        images, labels = read_idx(image_file), read_idx(label_file)
        if images.shape != (labels.size, 28, 28) or labels.ndim != 1:
            raise InvalidInputError(
                f"`{image_file}` must hold one 28 x 28 image for each of the {labels.size} labels beside it, "
                f"got shape {images.shape}."
            )
        return images, labels, f"full {split} set"
    archives = sorted(folder.glob(f"mnist_{split}*.npz"))
    if archives:
        images, labels = _read_archive(archives[0])
        return images, labels, f"full {split} set, {archives[0].name}"
    raise InvalidInputError(
        f"The {split} images of MNIST were looked for in `{folder}` and not found; `download_mnist()` fetches them, "
        f"${FOLDER_VARIABLE} names another folder, and source='bundled' needs none."
    )


def _existing(folder: Path, name: str) -> Path | None:
    """The raw or gzipped file of this name, with the hyphen or the dot that mirrors use before `idx`."""
    for candidate in (name, name.replace("-idx", ".idx")):
        for path in (folder / candidate, folder / f"{candidate}.gz"):
            if path.is_file():
                return path
    return None


def _read_archive(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            images: NDArray[Any] = archive["images"]
            labels: NDArray[Any] = archive["labels"]
    except (OSError, KeyError, ValueError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"`{path}` must be an .npz archive with `images` and `labels`: {error}.") from error
    if images.dtype != np.uint8 or labels.ndim != 1 or images.shape != (labels.size, 28, 28):
        raise InvalidInputError(
            f"`{path}` must hold `images` as unsigned bytes of shape (n, 28, 28) and `labels` of shape (n,), "
            f"got {images.dtype} {images.shape} and {labels.shape}."
        )
    return images, labels.astype(np.uint8)


def _first(labels: NDArray[np.uint8], digit: int, count: int | None, origin: str) -> IndexArray:
    """Indices of the first `count` images of a digit."""
    index = np.flatnonzero(labels == digit)
    if index.size == 0:
        held = ", ".join(str(value) for value in np.unique(labels))
        raise InvalidInputError(f"There are no images of the digit {digit} in the {origin}, only of {held}.")
    if count is not None and count > index.size:
        raise InvalidInputError(
            f"`size` asks for {count:,} images of the digit {digit}, but the {origin} holds {index.size:,}; "
            "a smaller `size` or source='full' will do."
        )
    return index[:count]
