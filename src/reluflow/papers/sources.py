"""A fingerprint of the code a result comes from, so that a changed program does not show the old program's numbers."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import reluflow
from reluflow.errors import InvalidInputError


@cache
def code_fingerprint(module: str) -> str:
    """SHA-256 of a module, of the modules of its own folder it imports, and of reluflow's version.

    Comments and layout do not count. Modules outside the folder are covered by the version, and by the
    version of the numerics, which the store adds.

    Parameters
    ----------
    module
        Full name, such as "reluflow.papers.boursier2024.figures.figure_2".
    """
    digest = hashlib.sha256(reluflow.__version__.encode())
    for name in sorted(_with_neighbours(module)):
        digest.update(name.encode() + b"\0" + ast.dump(_tree(name)).encode())
    return digest.hexdigest()


def _with_neighbours(module: str) -> set[str]:
    """The module and, through any number of imports, those of the same folder."""
    folder = module.rpartition(".")[0]
    found, waiting = {module}, [module]
    while waiting:
        for name in _imports(_tree(waiting.pop())):
            if folder and name.rpartition(".")[0] == folder and name not in found and _path(name) is not None:
                found.add(name)
                waiting.append(name)
    return found


def _imports(tree: ast.Module) -> Iterator[str]:
    """Every dotted name that an import statement might load; a name that is no module is left out by the caller."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def _tree(module: str) -> ast.Module:
    path = _path(module)
    if path is None:
        raise InvalidInputError(f"`{module}` must be a module with a source file, got none.")
    return ast.parse(path.read_text(encoding="utf-8"))


def _path(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)
