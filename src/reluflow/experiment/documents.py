"""An experiment as a document: TOML or JSON, one key per field, fields at their defaults left out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reluflow.errors import InvalidInputError


def toml_text(values: Mapping[str, Any]) -> str:
    """Plain values as a TOML document; a mapping within becomes a table at its end.

    >>> print(toml_text({"data": "three-points", "bias": True, "times": [0.5, 2.0]}), end="")
    data = "three-points"
    bias = true
    times = [0.5, 2.0]
    """
    lines = [f"{key} = {_toml_value(value)}" for key, value in values.items() if not isinstance(value, Mapping)]
    for name, table in values.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}]", *(f"{_toml_string(key)} = {_toml_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def json_text(values: Mapping[str, Any]) -> str:
    """Plain values as a JSON document."""
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def read_document(path: str | Path) -> dict[str, Any]:
    """The keys and values of a `.toml` or `.json` file."""
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix not in (".toml", ".json"):
        raise InvalidInputError(f"`{path}` must end in .toml or .json to describe an experiment, got {suffix!r}.")
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"`{path}` cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    try:
        content = tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    except ValueError as error:  # of both packages
        raise InvalidInputError(f"`{path}` must be a {suffix[1:].upper()} document: {error}.") from error
    if not isinstance(content, dict):
        raise InvalidInputError(f"`{path}` must hold one object with the fields of an experiment, got another value.")
    return content


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _toml_string(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return repr(value)


def _toml_string(text: str) -> str:
    """A basic string: the escapes of JSON are among those of TOML, which wants DEL escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
