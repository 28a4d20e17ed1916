"""Small fake MNIST files for the tests."""

import gzip
import struct
from pathlib import Path

import numpy as np


def idx_bytes(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def fake_digits(count: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (count, 28, 28), dtype=np.uint8), np.arange(count, dtype=np.uint8) % 10


def write_fake(folder: Path, *, stem: str = "train", compressed: bool = False, dotted: bool = False) -> None:
    for kind, array in zip(("images-idx3", "labels-idx1"), fake_digits(), strict=True):
        name = f"{stem}-{kind}-ubyte".replace("-idx", ".idx" if dotted else "-idx")
        content = idx_bytes(array)
        if compressed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
        else:
            (folder / name).write_bytes(content)
