"""The IDX reader takes whole files and refuses everything else."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from data.idx_files import idx_bytes
from reluflow.data.idx import read_idx
from reluflow.errors import InvalidInputError

ARRAY = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("name", ["digits", "digits.gz"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    content = idx_bytes(ARRAY)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    np.testing.assert_array_equal(read_idx(tmp_path / name), ARRAY)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "IDX file of unsigned bytes"),
        (b"\0\0\x0d\x01\0\0\0\x01\0\0\0\0", "IDX file of unsigned bytes"),
        (b"PK\x03\x04", "IDX file of unsigned bytes"),
        (idx_bytes(ARRAY)[:-1], "must hold 24 bytes after its header, got 23"),
        (idx_bytes(ARRAY) + b"\0", "must hold 24 bytes after its header, got 25"),
        (idx_bytes(ARRAY)[:9], "it was cut short"),
        (b"\0\0\x08\x03" + b"\xff" * 12 + b"\0", "got 1; it was cut short"),
    ],
)
def test_refusals(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "digits").write_bytes(content)
    with pytest.raises(InvalidInputError, match=words):
        read_idx(tmp_path / "digits")


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(idx_bytes(np.random.default_rng(0).integers(0, 256, (50, 28), dtype=np.uint8)))
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for content in (whole[: len(whole) // 2], bytes(flipped), b"no gzip"):
        (tmp_path / "digits.gz").write_bytes(content)
        with pytest.raises(InvalidInputError, match=r"gzip file|cut short"):
            read_idx(tmp_path / "digits.gz")


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="could not be read: No such file"):
        read_idx(tmp_path / "digits")
