"""What a paper states, read from its `results.toml`: theorems tied to what measures them.

The tables stand in the paper's order. A table with a `status` is an `Elsewhere`. Any other is a `Theorem`, its fields
by their names; those that are functions are written as `file.function`, within the paper's folder:

    [results.lemma15]
    statement = "For a linear two-layer network ..."
    hypotheses = ["linearly-separable", "assumptions.REGIME", "loss_among('exponential', 'logistic')"]
    plan = "fitting.linear_plan"
    [results.lemma15.conclusions]
    decrease = { bound = "fitting.linear_decrease(0.25)", says = "-dL/dt over |a|^2 L^2 rho^2/4" }

- `file.function(0.25)` is the function with the evidence first and 0.25 after it; `file.function().margin` and
  `file.function()[0]` are parts of what it finds. A name of more than one dot is one of the whole package, as in
  `theory.limit.limit_of`.
- `constants` and `predictions` are a function that makes them all, a table of a reference each, or several of these.
- A hypothesis is the key of a data assumption, a name of `theory/hypotheses.py`, or `file.NAME`: one hypothesis or a
  tuple of them, or a function that makes them.
- A conclusion's measure stands under its level, `exact`, `bound` or `scaling`; a `guard` is a decorator around it.
  Where it finds a number, or several, the table has the other side: `at_most`, `at_least` or `equals`, a number or a
  reference, with the `allowance` for rounding and perhaps the `words` of the comparison; the worst of several counts.
- The locator is read off the key where it can be: `lemma15` is Lemma 15.
- A setting is `file.NAME` or its fields; the leak `own` is that which suits the dataset.
- `[defaults]` has the setting and the example of results that name none, `[parameters]` those a result may list.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from reluflow.errors import InvalidInputError
from reluflow.theory import hypotheses
from reluflow.theory.data_files import as_line, named, tables_of
from reluflow.theory.diagnosis import ASSUMPTIONS
from reluflow.theory.measurement import Level, Measurement, held
from reluflow.theory.theorem import Conclusion, Constants, Hypothesis, Parameter, Reference, Setting, Theorem

_FUNCTIONS = ("plan", "log_scale")
_QUANTITIES = ("constants", "predictions")
_SIDES = ("at_most", "at_least", "equals")
_PROSE = ("statement", "erratum", "departs")
_PREFIXES = {"definition": "reluflow.", "ours": "reluflow."}
_LOCATORS = {
    "thm": "Theorem",
    "lemma": "Lemma",
    "prop": "Prop.",
    "cor": "Cor.",
    "remark": "Remark",
    "def": "Def.",
    "example": "Example",
}
_NUMBERED = re.compile(r"([a-z]+)([A-Z]?[.\d]+)")


@dataclass(frozen=True)
class Elsewhere:
    """A result that is no theorem object: an assumption, a definition, an algorithm, or one that is left out.

    Parameters
    ----------
    key
        `paper:result`.
    locator
        As the paper numbers it.
    status
        `condition` (judged by `reluflow diagnose`), `definition` (computed by a function), `part` (contained in
        another result's check), `ours` (an algorithm or a repair that the paper does not have) or `left out`.
    where
        The condition's key, the function's dotted name, or the containing result's key; empty where left out.
    note
        What it says, or the reason for leaving it out.
    """

    key: str
    locator: str
    status: str
    where: str
    note: str


@cache
def result_stated(paper: str, result: str) -> Theorem | Elsewhere:
    """The result of this name, with everything its table points to."""
    table = dict(tables_of(paper, "results")["results"][result])
    key, locator = f"{paper}:{result}", table.pop("locator", "")
    if "status" in table:
        where = _PREFIXES.get(table["status"], f"{paper}:" if table["status"] == "part" else "") + table.get(
            "where", ""
        )
        return Elsewhere(key, locator, table["status"], where, as_line(table["note"]))
    fields = {**tables_of(paper, "results")["defaults"], **table}
    fields.update({name: as_line(fields[name]) for name in _PROSE if name in fields})
    fields.update({name: _function(paper, fields[name]) for name in _FUNCTIONS if name in fields})
    fields.update({name: _quantities(paper, fields[name]) for name in _QUANTITIES if name in fields})
    fields["hypotheses"] = tuple(h for name in fields["hypotheses"] for h in _hypotheses(paper, name))
    fields["conclusions"] = tuple(_conclusion(paper, *row) for row in fields["conclusions"].items())
    fields["parameters"] = tuple(_parameter(paper, name) for name in fields.get("parameters", ()))
    fields["setting"] = _setting(paper, fields.get("setting", {}))
    return Theorem(key, Reference(paper, locator or locator_of(result)), **fields)


def locator_of(result: str) -> str:
    """Where a result stands, read off its key.

    >>> locator_of("thm3.1"), locator_of("lemmaB.15"), locator_of("eq28")
    ('Theorem 3.1', 'Lemma B.15', 'Eq. (28)')
    """
    found = _NUMBERED.fullmatch(result)
    if found is None or found[1] not in (*_LOCATORS, "eq"):
        raise InvalidInputError(f"`locator` must be given for `{result}`, whose key does not tell where it stands.")
    return f"Eq. ({found[2]})" if found[1] == "eq" else f"{_LOCATORS[found[1]]} {found[2]}"


def _called(call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    """The literals in the brackets of a call."""
    options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return [ast.literal_eval(value) for value in call.args], options


def _function(paper: str, text: str) -> Any:
    """What a reference stands for: a function of the evidence, or a constant.

    >>> _function("lyu2021", "theory.measurement.at_most(3.0).slack")(1.0)
    2.0
    """
    return _read(paper, ast.parse(text, mode="eval").body)


def _read(paper: str, node: ast.expr) -> Any:
    if not any(isinstance(part, ast.Call) for part in ast.walk(node)):
        return named(paper, ast.unparse(node))
    if isinstance(node, ast.Attribute):
        return partial(_member, _read(paper, node.value), node.attr)
    if isinstance(node, ast.Subscript):
        return partial(_item, _read(paper, node.value), ast.literal_eval(node.slice))
    if not isinstance(node, ast.Call):
        raise InvalidInputError(f"`{ast.unparse(node)}` must be a name, a call with literals, or a member of one.")
    values, options = _called(node)
    found = _read(paper, node.func)
    if isinstance(found, partial) and found.func is _member:
        return partial(_result_of_member, found, values, options)
    return partial(_evidence_first, found, values, options)


def _evidence_first(function: Callable[..., Any], values: list[Any], options: dict[str, Any], evidence: Any) -> Any:
    return function(evidence, *values, **options)


def _member(find: Callable[[Any], Any], name: str, evidence: Any) -> Any:
    return getattr(find(evidence), name)


def _item(find: Callable[[Any], Any], index: Any, evidence: Any) -> Any:
    return find(evidence)[index]


def _result_of_member(
    find: Callable[[Any], Callable[..., Any]], values: list[Any], options: dict[str, Any], evidence: Any
) -> Any:
    return find(evidence)(*values, **options)


def _quantities(paper: str, stated: str | dict[str, str] | list[Any]) -> Callable[[Any], Constants]:
    """The constants or the predictions of a result, by name."""
    if isinstance(stated, str):
        function: Callable[[Any], Constants] = _function(paper, stated)
        return function
    if isinstance(stated, list):
        return partial(_joined, [_quantities(paper, part) for part in stated])
    return partial(_each, {name: _function(paper, text) for name, text in stated.items()})


def _joined(parts: list[Callable[[Any], Constants]], evidence: Any) -> Constants:
    return {name: value for part in parts for name, value in part(evidence).items()}


def _each(functions: dict[str, Callable[[Any], Any]], evidence: Any) -> Constants:
    found = {name: find(evidence) for name, find in functions.items()}
    return {name: v.tolist() if isinstance(v, np.ndarray | np.generic) else v for name, v in found.items()}


def _hypotheses(paper: str, text: str) -> Iterator[Hypothesis]:
    if any(assumption.key == text for assumption in ASSUMPTIONS):
        yield hypotheses.data_assumption(text)
        return
    node = ast.parse(text, mode="eval").body
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else text
    found = named(paper, name) if "." in name else getattr(hypotheses, name)
    if not isinstance(found, Hypothesis | tuple):
        values, options = _called(node if isinstance(node, ast.Call) else ast.Call(node, [], []))
        found = found(*values, **options)
    yield from found if isinstance(found, tuple) else (found,)


def _conclusion(paper: str, name: str, row: Mapping[str, Any]) -> Conclusion:
    level = next(level for level in Level if level in row)
    measure = _function(paper, row[level])
    for side in _SIDES:
        if side in row:
            bound, allowance = (_number(paper, row.get(key, 0.0)) for key in (side, "allowance"))
            measure = partial(_held, measure, side, bound, allowance, row.get("words", ""))
    if "guard" in row:
        measure = named(paper, row["guard"])(measure)
    return Conclusion(name, row["says"], measure, level)


def _number(paper: str, stated: float | str) -> Any:
    return _function(paper, stated) if isinstance(stated, str) else stated


def _held(find: Callable[[Any], Any], side: str, bound: Any, allowance: Any, words: str, evidence: Any) -> Measurement:
    found = find(evidence)
    bound, allowance = (value(evidence) if callable(value) else value for value in (bound, allowance))
    return held(found, side, bound, allowance=allowance, words=words)


def _setting(paper: str, stated: str | dict[str, Any]) -> Setting:
    if isinstance(stated, str):
        setting: Setting = named(paper, stated)
        return setting
    return Setting(**{**stated, "leak": None}) if stated.get("leak") == "own" else Setting(**stated)


def _parameter(paper: str, name: str) -> Parameter:
    return Parameter(**{"name": name, **tables_of(paper, "results")["parameters"][name]})
