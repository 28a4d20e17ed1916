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
  `file.function()[0]` are parts of what it finds, and `file.function(file.other())` takes what another one
  finds; `evidence.leak` is a part of the evidence itself. A name of more than one dot is one of the whole package, as
  in `theory.limit.limit_of`.
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
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from reluflow.errors import InvalidInputError
from reluflow.theory import hypotheses
from reluflow.theory.data_files import as_line, named, tables_of
from reluflow.theory.diagnosis import ASSUMPTIONS
from reluflow.theory.measurement import Level, Measurement, Undecided, held, need
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
    """A name stands for itself; brackets, a member or an item make a function of the evidence of it."""
    if isinstance(node, ast.Subscript):
        finder, index = _read(paper, node.value), ast.literal_eval(node.slice)
        return lambda evidence: finder(evidence)[index]
    if isinstance(node, ast.Name) and node.id == "evidence":
        return lambda evidence: evidence
    if isinstance(node, ast.Attribute) and _is_found(node):
        owner, name = _read(paper, node.value), node.attr
        return lambda evidence: getattr(need(owner(evidence), f"what has `{name}` was not found"), name)
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
    if "." in ast.unparse(node) and isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        found = _read(paper, node)
        return found if callable(found) else lambda evidence: found
    literal = ast.literal_eval(node)
    return lambda evidence: literal


def _quantities(paper: str, stated: str | dict[str, str] | list[Any]) -> Callable[[Any], Constants]:
    """The constants or the predictions of a result, by name."""
    if isinstance(stated, str):
        function: Callable[[Any], Constants] = _function(paper, stated)
        return function
    if isinstance(stated, list):
        parts = [_quantities(paper, part) for part in stated]
        return lambda evidence: {name: value for part in parts for name, value in part(evidence).items()}
    functions = {name: _function(paper, text) for name, text in stated.items()}

    def each(evidence: Any) -> Constants:
        found: dict[str, Any] = {}
        for name, find in functions.items():
            with suppress(Undecided):  # a quantity that the data do not have is left out
                value = find(evidence)
                found[name] = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        return found

    return each


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
            measure = _held(paper, measure, side, row)
    if "guard" in row:
        measure = named(paper, row["guard"])(measure)
    return Conclusion(name, row["says"], measure, level)


def _held(paper: str, find: Callable[[Any], Any], side: str, row: Mapping[str, Any]) -> Callable[[Any], Measurement]:
    """The measure that holds what is found against the bound on one side of it."""
    stated = [row[side], row.get("allowance", 0.0)]
    limits = [_function(paper, number) if isinstance(number, str) else number for number in stated]

    def measure(evidence: Any) -> Measurement:
        found = find(evidence)
        bound, allowance = (limit(evidence) if callable(limit) else limit for limit in limits)
        return held(found, side, bound, allowance=allowance, words=row.get("words", ""))

    return measure


def _setting(paper: str, stated: str | dict[str, Any]) -> Setting:
    if isinstance(stated, str):
        setting: Setting = named(paper, stated)
        return setting
    return Setting(**{**stated, "leak": None}) if stated.get("leak") == "own" else Setting(**stated)


def _parameter(paper: str, name: str) -> Parameter:
    return Parameter(**{"name": name, **tables_of(paper, "results")["parameters"][name]})
