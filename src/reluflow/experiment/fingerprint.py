"""The name under which a result is kept: a digest of what the run depends on, whatever its spelling."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from reluflow import numerics_version
from reluflow.data.registry import REGISTRY
from reluflow.errors import InvalidInputError

FINGERPRINT_BYTES = 16
Digests = tuple[tuple[str, str], ...]


def canonical(identity: Mapping[str, Any]) -> str:
    """JSON with sorted keys and no spaces: equal settings, equal text."""
    return json.dumps(identity, sort_keys=True, separators=(",", ":"))


def fingerprint_of(text: str) -> str:
    """The first 128 bits of SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).digest()[:FINGERPRINT_BYTES].hex()


def identity_of(
    settings: Mapping[str, Any], digests: Digests, kept_at_default: frozenset[str], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """What a fingerprint is taken of: the settings, files by their content, and the version of the numerics.

    A field that was added later leaves no trace at its default, so that results kept before it was there stay valid;
    `kept_at_default` names the fields that were there from the first.
    """
    contents = dict(digests)
    plain = {
        name: value for name, value in settings.items() if name in kept_at_default or value not in (defaults[name], "")
    }
    for name in ("dataset", "init"):
        if plain[name] in contents:
            plain[name] = f"sha256:{contents[plain[name]]}"
    return plain | {"numerics": numerics_version.NUMERICS_VERSION}


def file_digests(*paths: str) -> Digests:
    """SHA-256 of the content of those of these words that are files; raises where one cannot be read."""
    found = []
    for path in paths:
        if path.partition(":")[0] in REGISTRY or not Path(path).is_file():
            continue
        try:
            found.append((path, hashlib.sha256(Path(path).read_bytes()).hexdigest()))
        except OSError as error:
            raise InvalidInputError(f"`{path}` cannot be read: {error.strerror or error}.") from error
    return tuple(sorted(set(found)))


def check_files(digests: Digests) -> None:
    """Refuse files whose content is not what it was when the digests were taken."""
    for path, digest in digests:
        try:
            _check_file(path, digest, Path(path).stat().st_mtime)
        except OSError as error:
            raise InvalidInputError(f"`{path}` cannot be read: {error.strerror or error}.") from error


@lru_cache(maxsize=8)
def _check_file(path: str, digest: str, changed: float) -> None:
    if hashlib.sha256(Path(path).read_bytes()).hexdigest() != digest:
        raise InvalidInputError(f"`{path}` must stay as it was when its digest was taken, got another content.")
