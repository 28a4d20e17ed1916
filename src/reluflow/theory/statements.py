"""What a paper states, read from its `results.toml`: theorems tied to what measures them.

The tables stand in the paper's order. A table with a `status` is an `Elsewhere`. Any other is a `Theorem`, its fields
by their names; those that are functions are written as `file.function`, within the paper's folder:

    [results.lemma15]
    statement = "For a linear two-layer network ..."
    hypotheses = ["linearly-separable", "assumptions.REGIME", "loss_among('exponential', 'logistic')"]
    plan = "fitting.linear_plan"
    [results.lemma15.conclusions]
    decrease = { bound = "fitting.linear_decrease(0.25)", says = "-dL/dt over |a|^2 L^2 rho^2/4" }

- `file.function(0.25)` is the function with the evidence first and 0.25 after it. A name of more than one dot is one
  of the whole package, as in `theory.limit.limit_of`.
- A hypothesis is the key of a data assumption, a name of `theory/hypotheses.py`, or `file.NAME`: one hypothesis or a
  tuple of them, or a function that makes them.
- A conclusion's measure stands under its level, `exact`, `bound` or `scaling`; a `guard` is a decorator around it.
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

from reluflow.errors import InvalidInputError
from reluflow.theory import hypotheses
from reluflow.theory.data_files import as_line, named, tables_of
from reluflow.theory.diagnosis import ASSUMPTIONS
from reluflow.theory.measurement import Level
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Setting, Theorem

_FUNCTIONS = ("constants", "predictions", "plan", "log_scale")
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


def _called(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, and the literals in brackets behind it.

    >>> _called("fitting.decrease(0.25, sharp=True)")
    ('fitting.decrease', [0.25], {'sharp': True})
    """
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call):
        return text, [], {}
    options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return ast.unparse(call.func), [ast.literal_eval(value) for value in call.args], options


def _function(paper: str, text: str) -> Callable[..., Any]:
    name, values, options = _called(text)
    function: Callable[..., Any] = named(paper, name)
    if not values and not options:
        return function
    return partial(_evidence_first, function, values, options)


def _evidence_first(function: Callable[..., Any], values: list[Any], options: dict[str, Any], evidence: Any) -> Any:
    return function(evidence, *values, **options)


def _hypotheses(paper: str, text: str) -> Iterator[Hypothesis]:
    if any(assumption.key == text for assumption in ASSUMPTIONS):
        yield hypotheses.data_assumption(text)
        return
    name, values, options = _called(text)
    found = named(paper, name) if "." in name else getattr(hypotheses, name)
    if not isinstance(found, Hypothesis | tuple):
        found = found(*values, **options)
    yield from found if isinstance(found, tuple) else (found,)


def _conclusion(paper: str, name: str, row: Mapping[str, str]) -> Conclusion:
    level = next(level for level in Level if level in row)
    measure = _function(paper, row[level])
    if "guard" in row:
        measure = named(paper, row["guard"])(measure)
    return Conclusion(name, row["says"], measure, level)


def _setting(paper: str, stated: str | dict[str, Any]) -> Setting:
    if isinstance(stated, str):
        setting: Setting = named(paper, stated)
        return setting
    return Setting(**{**stated, "leak": None}) if stated.get("leak") == "own" else Setting(**stated)


def _parameter(paper: str, name: str) -> Parameter:
    return Parameter(**{"name": name, **tables_of(paper, "results")["parameters"][name]})
