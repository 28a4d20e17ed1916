"""ResultStore: results kept on disk by content, so that a figure is redrawn at once and a broken-off run goes on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reluflow import numerics_version
from reluflow.data.atomic import replacing
from reluflow.errors import InvalidInputError

Results = dict[str, Any]

FOLDER_VARIABLE = "RELUFLOW_CACHE"
_PLAIN = "plain"  # the member of the archive that holds, as JSON, what is not an array
_ARRAYS = "arrays/"  # before the name of an array, so that no name is special
_NAME_LETTERS = 60  # of a file's name, before the fingerprint


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Where results are kept: `folder`, else $RELUFLOW_CACHE, else the user's cache folder."""
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
    return cache / "reluflow" / "results"


@dataclass(frozen=True)
class ResultStore:
    """A folder of results, each in a file named for what it is and for the fingerprint of all it depends on.

    A result is a dictionary of arrays (numbers, booleans or strings), numbers, booleans, strings, None, and lists and
    dictionaries of these. A file is written complete or not at all; one that cannot be read (cut off, corrupt, of
    another make) counts as absent. The folder may be deleted at any time.

    Parameters
    ----------
    folder
        Where the files are; made when the first result is kept.

    Examples
    --------
    >>> import tempfile
    >>> store = ResultStore(Path(tempfile.mkdtemp()))
    >>> store.save("squares", {"n": 3}, {"values": np.array([0, 1, 4]), "n": 3})
    True
    >>> store.load("squares", {"n": 3})["values"]
    array([0, 1, 4])
    >>> store.load("squares", {"n": 4}) is None
    True
    """

    folder: Path

    def path_of(self, name: str, depends_on: Any) -> Path:
        """The file of the result called `name` that depends on the given settings and code, and on the numerics."""
        folders, _, last = name.rpartition("/")
        safe = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in last)[:_NAME_LETTERS]
        name_of_all = fingerprint([name, depends_on, {"numerics": numerics_version.NUMERICS_VERSION}])
        return self.folder / folders / f"{safe}-{name_of_all[:32]}.npz"

    def load(self, name: str, depends_on: Any) -> Results | None:
        """The kept result, or None where there is no whole one."""
        path = self.path_of(name, depends_on)
        try:
            with np.load(path, allow_pickle=False) as archive:
                tree = json.loads(str(archive[_PLAIN]))
                found = _joined(tree, archive)
                return found if isinstance(found, dict) else None
        except (OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, zipfile.BadZipFile):
            return None  # absent, or not whole: computed again and replaced

    def save(self, name: str, depends_on: Any, results: Mapping[str, Any]) -> bool:
        """Keep a result; False, with a warning, where the folder cannot be written."""
        arrays: dict[str, Any] = {}
        plain = json.dumps(_split(f"results of {name}", dict(results), arrays))
        path = self.path_of(name, depends_on)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as handle:
                np.savez(handle, allow_pickle=False, **arrays, **{_PLAIN: np.array(plain)})
        except OSError as error:
            warnings.warn(
                f"`{path.parent}` cannot be written ({error.strerror or error}), so this result is not kept; "
                f"{FOLDER_VARIABLE} names another folder.",
                stacklevel=2,
            )
            return False
        return True


def _split(place: str, value: Any, arrays: dict[str, Any]) -> Any:
    """A value as JSON; its arrays go to `arrays`, and a note of where each is stands in their place."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcUS":
        key = f"{_ARRAYS}{len(arrays)}"
        arrays[key] = value
        return {"array": key}
    if isinstance(value, dict):
        return {"items": {str(name): _split(f"{name!r} in {place}", item, arrays) for name, item in value.items()}}
    if isinstance(value, list):
        return [_split(f"an entry of {place}", item, arrays) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInputError(
        f"{place} must be an array of numbers, booleans or strings, a number, a string, None, or a list or dictionary "
        f"of these, got {type(value).__name__}."
    )


def _joined(tree: Any, archive: Mapping[str, Any]) -> Any:
    """What `_split` took apart."""
    if isinstance(tree, dict):
        if "array" in tree:
            return archive[tree["array"]]
        return {name: _joined(item, archive) for name, item in tree["items"].items()}
    return [_joined(item, archive) for item in tree] if isinstance(tree, list) else tree


def canonical_json(value: Any) -> str:
    """Settings as JSON with sorted keys and no spaces: equal settings, equal text.

    >>> canonical_json({"width": 60, "scale": 1e-3})
    '{"scale":0.001,"width":60}'
    """
    return json.dumps(as_plain(value), sort_keys=True, separators=(",", ":"))


def as_plain(value: Any) -> Any:
    """Frozen dataclasses, mappings, sequences and numbers as values of JSON; anything else is refused."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return as_plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidInputError(
        f"settings must hold numbers, strings, booleans, None and sequences of them, got {type(value).__name__}."
    )


def fingerprint(value: Any) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
