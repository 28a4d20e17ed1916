"""Tensors as `.safetensors`: the length of a JSON header, the header, the bytes; nothing in it can run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}
_LARGEST_HEADER = 100_000_000  # bytes, the format's own limit


def read_safetensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """The tensors by name, and the words the file keeps about them."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or not 0 < length <= min(len(content) - 8, _LARGEST_HEADER):
        raise InvalidInputError(f"`{path}` must be a whole .safetensors file, got {len(content)} bytes that are none.")
    try:
        header = json.loads(content[8 : 8 + length])
        words = header.pop("__metadata__", {})
        arrays = {str(name): _array(entry, content[8 + length :]) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInputError(f"`{path}` must be a whole .safetensors file: {str(error).rstrip('.')}.") from error
    return arrays, {str(key): str(value) for key, value in words.items()} if isinstance(words, dict) else {}


def write_safetensors(path: Path, arrays: dict[str, FloatArray], words: dict[str, str]) -> None:
    """Write arrays of doubles, and words about them."""
    from reluflow.data.atomic import replacing

    header: dict[str, Any] = {"__metadata__": words} if words else {}
    start = 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F64", "shape": list(array.shape), "data_offsets": [start, start + array.nbytes]}
        start += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the format aligns its data to 8 bytes
    with replacing(path) as handle:
        handle.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            handle.write(np.ascontiguousarray(array, dtype="<f8").tobytes())


def _array(entry: dict[str, Any], data: bytes) -> NDArray[Any]:
    start, stop = entry["data_offsets"]
    shape = tuple(entry["shape"])
    if not 0 <= start <= stop <= len(data):
        raise ValueError(f"bytes {start} to {stop} are not all there")
    if entry["dtype"] == "BF16":
        upper = np.frombuffer(data[start:stop], dtype="<u2").astype(np.uint32)
        return np.asarray((upper << 16).view(np.float32)).reshape(shape)
    if entry["dtype"] not in _DTYPES:
        raise ValueError(f"numbers of type {entry['dtype']} are not understood")
    return np.frombuffer(data[start:stop], dtype=_DTYPES[entry["dtype"]]).reshape(shape)
