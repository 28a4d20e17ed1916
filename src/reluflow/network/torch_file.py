"""PyTorch checkpoints read without PyTorch and without running what they hold: weights only.

A `.pt` file is a zip archive with one pickle, which names the tensors, and their bytes beside it. The pickle is read by
an unpickler that knows the handful of names a state dict needs and refuses every other; nothing it names is called but
the functions of this file.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.errors import InvalidInputError

_DTYPES = {
    "FloatStorage": "f4", "DoubleStorage": "f8", "HalfStorage": "f2", "LongStorage": "i8", "IntStorage": "i4",
    "ShortStorage": "i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?", "BFloat16Storage": "bf16",
}  # fmt: skip
_LARGEST_PICKLE = 2**26  # bytes; that of a state dict has some hundred per tensor
_NESTED = ("state_dict", "model_state_dict", "model", "net", "network", "params", "module")


def read_torch_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a state dict, by name, from a checkpoint that holds one or keeps it under a usual name."""
    try:
        with zipfile.ZipFile(path) as archive:
            loaded = _Reader(archive, str(path)).load()
    except zipfile.BadZipFile as error:
        raise InvalidInputError(
            f"`{path}` must be a PyTorch checkpoint of version 1.6 or newer (a zip archive): {error}; "
            "save the state dict again with torch.save(model.state_dict(), FILE)."
        ) from error
    state = _state_dict(loaded)
    if state is None:
        raise InvalidInputError(f"`{path}` must hold a state dict; save it with torch.save(model.state_dict(), FILE).")
    return state


def _state_dict(loaded: Any, depth: int = 0) -> dict[str, NDArray[Any]] | None:
    if not isinstance(loaded, Mapping) or depth > 2:
        return None
    tensors = {str(name): values for name, values in loaded.items() if isinstance(values, np.ndarray)}
    if tensors:
        return tensors
    candidates = [loaded[name] for name in _NESTED if name in loaded]
    return next((found for value in candidates if (found := _state_dict(value, depth + 1)) is not None), None)


class _Storage:
    """The name of a type of numbers, where PyTorch has a class."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype


class _Reader(pickle.Unpickler):
    """Reads the one pickle of an archive, giving tensors as arrays."""

    def __init__(self, archive: zipfile.ZipFile, source: str) -> None:
        self._archive, self._source = archive, source
        names = [info.filename for info in archive.infolist()]
        pickles = [name for name in names if name.endswith("/data.pkl") or name == "data.pkl"]
        if len(pickles) != 1:
            raise InvalidInputError(f"`{source}` must be a PyTorch checkpoint, got an archive without one `data.pkl`.")
        self._prefix = pickles[0].removesuffix("data.pkl")
        order = self._prefix + "byteorder"
        self._order = ">" if order in names and archive.read(order).strip() == b"big" else "<"
        super().__init__(io.BytesIO(self._bytes("data.pkl", _LARGEST_PICKLE)))

    def load(self) -> Any:
        """What the pickle holds, or a refusal."""
        try:
            return super().load()
        except InvalidInputError:
            raise
        except Exception as error:  # a damaged or malicious pickle may fail in any way the pickle machine can
            raise InvalidInputError(f"`{self._source}` cannot be read as a PyTorch checkpoint: {error}.") from error

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_parameter"): _parameter,
            ("torch", "Size"): tuple,
        }
        if (module, name) in known:
            return known[module, name]
        if module in ("torch", "torch.storage") and name in _DTYPES:
            return _Storage(_DTYPES[name])
        raise InvalidInputError(
            f"`{self._source}` must hold a state dict only, got {module}.{name}, which would run code; save it again "
            "with torch.save(model.state_dict(), FILE)."
        )

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        if not (isinstance(pid, tuple) and len(pid) >= 5 and pid[0] == "storage" and isinstance(pid[1], _Storage)):
            raise InvalidInputError(f"`{self._source}` names its tensors in a way that is not understood.")
        content = self._bytes(f"data/{pid[2]}", None)
        if pid[1].dtype == "bf16":
            upper = np.frombuffer(content, dtype=self._order + "u2").astype(np.uint32)
            return np.asarray((upper << 16).view(np.float32))
        return np.frombuffer(content, dtype=self._order + pid[1].dtype)

    def _tensor(self, storage: Any, offset: int, size: Any, stride: Any, *_: Any) -> NDArray[Any]:
        shape, steps = tuple(map(int, size)), tuple(map(int, stride))
        last = int(offset) + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
        is_within = offset >= 0 and all(step >= 0 for step in steps) and all(n >= 0 for n in shape)
        if not isinstance(storage, np.ndarray) or not is_within or (0 not in shape and last >= storage.size):
            raise InvalidInputError(f"`{self._source}` holds a tensor that is larger than its bytes.")
        if 0 in shape:
            return np.empty(shape, dtype=storage.dtype)
        strides = tuple(step * storage.itemsize for step in steps)
        return np.lib.stride_tricks.as_strided(storage[int(offset) :], shape, strides).copy()

    def _bytes(self, name: str, largest: int | None) -> bytes:
        try:
            info = self._archive.getinfo(self._prefix + name)
        except KeyError as error:
            raise InvalidInputError(f"`{self._source}` names the bytes {name} and does not hold them.") from error
        if info.compress_type != zipfile.ZIP_STORED or (largest is not None and info.file_size > largest):
            raise InvalidInputError(
                f"`{self._source}` must be as torch.save writes it, got a compressed or huge {name}."
            )
        return self._archive.read(info)


def _parameter(data: Any, *_: Any) -> Any:
    return data
