"""Pieces: what a study has finished, on disk, so that one that was killed goes on where it was."""

from __future__ import annotations

import hashlib
import io
import pickle
import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from reluflow import numerics_version
from reluflow.data.atomic import replacing
from reluflow.study.task import Finished, StudyTask

_NAME_LETTERS = 60  # of a file's name, before the fingerprint
_DIGEST_BYTES = hashlib.sha256().digest_size
_CLOCK = "max_seconds"  # what a call may take depends on what went before it; that of the study is in the fingerprint
_NUMPY_MODULES = tuple(f"numpy{part}" for part in ("", "._core.multiarray", "._core.numeric"))
_NUMPY_NAMES = ("dtype", "ndarray", "scalar", "_reconstruct", "_frombuffer")


class Pieces:
    """A folder of finished tasks, each in a file named for the task and for all it depends on.

    That is what the task calls with which data and settings, the seconds allowed to the whole study, the version of
    the package and that of the numerics. A file is written complete or not at all; one that cannot be read counts as
    absent. What reads a file builds arrays and results of this package, and refuses to call anything else.

    Parameters
    ----------
    folder
        Where the files are; made when the first is kept.
    max_seconds
        Of the clock, allowed to the whole study: a run may end because they were over. None where work is counted.

    Attributes
    ----------
    num_taken
        How many were taken from the folder.
    """

    def __init__(self, folder: Path, *, max_seconds: float | None = None) -> None:
        self.folder = Path(folder)
        self.num_taken = 0
        self._max_seconds = max_seconds
        self._is_writable = True

    def find(self, task: StudyTask) -> Finished | None:
        """What came of a task, or None where there is no whole one."""
        path = self._path_of(task)
        try:
            content = b"" if path is None else path.read_bytes()
        except OSError:
            return None
        payload = content[_DIGEST_BYTES:]
        if not payload or hashlib.sha256(payload).digest() != content[:_DIGEST_BYTES]:
            return None  # computed again and replaced
        try:
            finished = _PieceReader(io.BytesIO(payload)).load()
        except Exception:  # what nobody here wrote may fail in any way the pickle machine can; it is computed again
            return None
        if not isinstance(finished, Finished):
            return None
        self.num_taken += 1
        return finished

    def keep(self, task: StudyTask, finished: Finished) -> None:
        """Keep what came of a task; where the folder cannot be written, a warning says so once."""
        path = self._path_of(task)
        if path is None or not self._is_writable:
            return
        payload = pickle.dumps(finished, protocol=pickle.HIGHEST_PROTOCOL)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(path) as handle:
                handle.write(hashlib.sha256(payload).digest())
                handle.write(payload)
        except OSError as error:
            self._is_writable = False
            warnings.warn(
                f"`{self.folder}` cannot be written ({error.strerror or error}), so that what is finished is lost if "
                "this study is killed.",
                stacklevel=2,
            )

    def remove(self) -> None:
        """Remove every piece, also of other settings, and the folder if nothing else is in it."""
        if not self.folder.is_dir():
            return
        for pattern in ("*.piece", ".*.piece.*.part"):  # the latter of one that was killed while it wrote
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _path_of(self, task: StudyTask) -> Path | None:
        """The file of a task; None where it is not to be kept, or depends on code of others, which may change."""
        if not task.is_stored:
            return None
        digest = hashlib.sha256()
        versions = (version("reluflow"), numerics_version.NUMERICS_VERSION)
        try:
            _feed(digest, (task.function, task.arguments, self._max_seconds, versions))
        except _NoFingerprint:
            return None
        safe = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in task.name)
        return self.folder / f"{safe[:_NAME_LETTERS]}-{digest.hexdigest()[:32]}.piece"


def _feed(digest: Any, value: Any) -> None:
    """Add a value to a fingerprint, to the last bit of its last number; a function counts by its name."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.ndarray):
        digest.update(f"{kind} {value.dtype.str} {value.shape};".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Enum) or value is None or isinstance(value, bool | int | float | str | np.generic):
        digest.update(f"{kind} {value!r};".encode())
    elif isinstance(value, partial):
        settings = {name: item for name, item in value.keywords.items() if name != _CLOCK}
        _feed(digest, (value.func, value.args, settings))
    elif isinstance(value, FunctionType) and value.__module__.startswith("reluflow.") and "<" not in value.__qualname__:
        digest.update(f"{kind} {value.__module__}.{value.__qualname__};".encode())
    elif is_dataclass(value) and kind.startswith("reluflow."):
        _feed(digest, (kind, {field.name: getattr(value, field.name) for field in fields(value)}))
    elif isinstance(value, Mapping):
        _feed(digest, tuple(sorted(value.items())))
    elif isinstance(value, list | tuple):
        digest.update(f"{kind} {len(value)};".encode())
        for item in value:
            _feed(digest, item)
    else:
        raise _NoFingerprint(kind)


class _NoFingerprint(Exception):
    """A value that may be another one under the same name."""


class _PieceReader(pickle.Unpickler):
    """Builds arrays, frozen dataclasses, named tuples and enumerations of this package; every other name is refused.

    Their constructors check and copy, and do nothing else; so a file that came from elsewhere cannot run code.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module in _NUMPY_MODULES and name in _NUMPY_NAMES:
            return super().find_class(module, name)
        if module.partition(".")[0] == "reluflow":
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module and _is_inert(found):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a result")


def _is_inert(found: type) -> bool:
    made = vars(found).get("__dataclass_params__")
    is_named_tuple = issubclass(found, tuple) and hasattr(found, "_fields")
    return issubclass(found, Enum) or is_named_tuple or (made is not None and bool(made.frozen))
