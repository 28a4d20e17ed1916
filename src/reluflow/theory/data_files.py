"""What the papers state, kept as data beside what measures it: the TOML files of `theory/`, and what they name."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from reluflow.theory.comparison import require

Tables = dict[str, Any]


@cache
def tables_of(paper: str, name: str) -> Tables:
    """The tables of one of a paper's data files: `results`, `hypotheses`, `conditions` or `errata`."""
    return tomllib.loads((files("reluflow.theory") / paper / f"{name}.toml").read_text(encoding="utf-8"))


def named(paper: str, name: str) -> Any:
    """What `file.name` stands for in the paper's folder; of more than one dot, in the whole package."""
    module, _, attribute = name.rpartition(".")
    home = f"reluflow.{module}" if "." in module else f"reluflow.theory.{paper}.{module}"
    return getattr(import_module(home), attribute)


def as_line(text: str) -> str:
    """A text of several lines as one.

    >>> as_line('''
    ... one line
    ... and the next''')
    'one line and the next'
    """
    return " ".join(text.split())


def reference(paper: str, text: str) -> Any:
    """What a reference stands for: a function of the evidence, or of the facts of a dataset, or a constant.

    `file.function(0.25)` is the function with the evidence first and 0.25 after it; `file.function().margin` and
    `file.function()[0]` are parts of what it finds, and `file.function(file.other())` takes what another one finds;
    `evidence.leak` is a part of the evidence itself. A name of more than one dot is one of the whole package, as in
    `endings.limit.certified_limit`.

    >>> reference("lyu2021", "theory.comparison.at_most(3.0).slack")(1.0)
    2.0
    """
    return _read(paper, ast.parse(text, mode="eval").body)


def _read(paper: str, node: ast.expr) -> Any:
    """A name stands for itself; brackets, a member or an item make a function of the evidence of it."""
    if isinstance(node, ast.Subscript):
        finder, index = _read(paper, node.value), ast.literal_eval(node.slice)
        return lambda evidence: finder(evidence)[index]
    if isinstance(node, ast.Name) and node.id == "evidence":
        return lambda evidence: evidence
    if isinstance(node, ast.Attribute) and _is_found(node):
        owner, name = _read(paper, node.value), node.attr
        return lambda evidence: getattr(require(owner(evidence), f"what has `{name}` was not found"), name)
    if not isinstance(node, ast.Call):
        return named(paper, ast.unparse(node))
    found, is_method = _read(paper, node.func), _is_found(node.func)
    values = [_argument(paper, value) for value in node.args]
    options = {str(keyword.arg): _argument(paper, keyword.value) for keyword in node.keywords}

    def result(evidence: Any) -> Any:
        function, first = (found(evidence), ()) if is_method else (found, (evidence,))
        rest = (value(evidence) for value in values)
        return function(*first, *rest, **{name: value(evidence) for name, value in options.items()})

    return result


def _is_found(node: ast.expr) -> bool:
    """Whether it is found from the evidence: a call, or a part of the evidence itself."""
    return any(isinstance(part, ast.Call) or getattr(part, "id", "") == "evidence" for part in ast.walk(node))


def _argument(paper: str, node: ast.expr) -> Callable[[Any], Any]:
    """A literal, or what another reference finds."""
    is_reference = "." in ast.unparse(node) and isinstance(node, ast.Attribute | ast.Subscript | ast.Call)
    found = _read(paper, node) if is_reference else ast.literal_eval(node)
    return found if callable(found) else lambda evidence: found
