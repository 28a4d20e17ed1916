"""The IDX format of the MNIST files: a magic number, the shape, then unsigned bytes; raw or gzipped."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from reluflow.errors import InvalidInputError

_UNSIGNED_BYTE = 0x08


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes, refusing one that is shorter or longer than its header says.

    Parameters
    ----------
    path
        The file; gzipped exactly when its name ends in `.gz`.

    Returns
    -------
    ndarray
        Of the shape in the header: (60000, 28, 28) for the MNIST training images.
    """
    try:
        with _opened(path) as handle:
            magic = handle.read(4)
            if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] != _UNSIGNED_BYTE or not 1 <= magic[3] <= 4:
                raise InvalidInputError(
                    f"`{path}` must be an IDX file of unsigned bytes, got one that starts with the bytes {magic!r}."
                )
            header = handle.read(4 * magic[3])
            shape = tuple(int(size) for size in np.frombuffer(header[: len(header) // 4 * 4], dtype=">u4"))
            size = math.prod(shape) if len(shape) == magic[3] else 0
            # A false header may ask for more than memory holds, so what is there is read first and counted after.
            body = handle.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInputError(f"`{path}` must be a whole gzip file, got a damaged one: {error}.") from error
    except OSError as error:
        raise InvalidInputError(f"`{path}` could not be read: {error.strerror or error}.") from error
    if len(shape) != magic[3] or len(body) != size:
        raise InvalidInputError(
            f"`{path}` must hold {size:,} bytes after its header, got {len(body):,}; it was cut short or changed."
        )
    return np.frombuffer(body, dtype=np.uint8).reshape(shape)


def _opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")
