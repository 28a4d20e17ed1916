"""Frames: what the server sends, a JSON header followed by arrays as raw little-endian numbers.

    bytes 0-3    the letters RLF1
    bytes 4-7    length of the header, a little-endian unsigned integer
    then         the header, UTF-8 JSON padded with spaces to a multiple of 8
    then         the arrays one after the other, each padded to a multiple of 8

The header's `arrays` says for each its name, its type (f8, f4, i4, i1), its shape and where it begins after the header.
Numbers that JSON has no word for (infinity, nan) become null in the header; the arrays hold them as they are.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.errors import InvalidInputError
from reluflow.plain_values import plain

MAGIC = b"RLF1"
_TYPES: dict[str, np.dtype[Any]] = {
    "f8": np.dtype("<f8"),
    "f4": np.dtype("<f4"),
    "i4": np.dtype("<i4"),
    "i1": np.dtype("<i1"),
}

Header = dict[str, Any]
Arrays = Mapping[str, NDArray[Any]]


def pack(header: Mapping[str, Any], arrays: Arrays | None = None) -> bytes:
    """One frame.

    >>> header, arrays = unpack(pack({"kind": "run"}, {"t": np.array([0.0, np.inf])}))
    >>> header["kind"], arrays["t"]
    ('run', array([ 0., inf]))
    """
    entries, blocks, offset = [], [], 0
    for name, array in (arrays or {}).items():
        code = _code(name, array)
        data = np.ascontiguousarray(array, dtype=_TYPES[code]).tobytes()
        entries.append({"name": name, "type": code, "shape": list(array.shape), "offset": offset})
        padding = -len(data) % 8
        blocks.append(data + bytes(padding))
        offset += len(data) + padding
    text = json.dumps(plain({**header, "arrays": entries}), allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text)) % 8)
    return b"".join([MAGIC, struct.pack("<I", len(text)), text, *blocks])


def unpack(frame: bytes) -> tuple[Header, dict[str, NDArray[Any]]]:
    """The header and the arrays of a frame; the browser has its own."""
    if frame[:4] != MAGIC:
        raise InvalidInputError(f"`frame` must begin with {MAGIC!r}, got {frame[:4]!r}.")
    (length,) = struct.unpack("<I", frame[4:8])
    header = json.loads(frame[8 : 8 + length])
    arrays = {}
    for entry in header.pop("arrays"):
        count = math.prod(entry["shape"])
        block = np.frombuffer(frame, _TYPES[entry["type"]], count, 8 + length + entry["offset"])
        arrays[entry["name"]] = block.reshape(entry["shape"])
    return header, arrays


def _code(name: str, array: NDArray[Any]) -> str:
    for code, dtype in _TYPES.items():
        if array.dtype == dtype:
            return code
    raise InvalidInputError(f"`{name}` must be an array of {', '.join(_TYPES)}, got {array.dtype}.")
