"""What a paper states, read from its `results.toml`: theorems tied to what measures them.

The tables stand in the paper's order. A table with a `status` is an `Elsewhere`. Any other is a `Theorem`, its fields
by their names; those that are functions are written as `file.function`, within the paper's folder:

    [results.lemma15]
    statement = "For a linear two-layer network ..."
    hypotheses = ["linearly-separable", "REGIME", "linear"]
    plan = "fitting.linear_plan"
    [results.lemma15.conclusions]
    decrease = { bound = "fitting.linear_decrease(0.25)", says = "-dL/dt over |a|^2 L^2 rho^2/4" }

- References are read by `reluflow.theory.data_files.reference`.
- `constants` and `predictions` are a function that makes them all, a table of a reference each, the name of such a
  table among `[quantities]`, or several of these.
- A hypothesis is a key of the paper's `hypotheses.toml`, one of those that all papers share, or of a data assumption.
  There a list is a group of them, and a row has what it `says`, its `name` where that is not the key, its flags, and
  either a `judge` or a `number` with its bound, `above`, `below`, `at_least`, `at_most` or `equals`, and the `words` of
  the comparison; a `guard` is a decorator around either.
- A conclusion's measure stands under its level, `exact`, `bound` or `scaling`; a `guard` is a decorator around it.
  Where it finds a number, or several, the table has the other side: `at_most`, `at_least` or `equals`, a number or a
  reference, with the `allowance` for rounding and perhaps the `words` of the comparison; the worst of several counts.
  Of no number at all it is undecided, for what `without` says is missing, or there is nothing to measure: `empty`.
- A `plan` may be a table of some of its fields, `of` the plan that has the others, and a `log_scale` one with the log
  scale that the network is brought to, `at_most`.
- The locator is read off the key where it can be: `lemma15` is Lemma 15.
- A setting is a name of `[settings]` or its fields; the leak `own` is that which suits the dataset.
- `[defaults]` has the setting and the example of results that name none, `[parameters]` those a result may list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from reluflow.errors import InvalidInputError
from reluflow.theory import hypotheses as shared
from reluflow.theory.comparison import Level, Undecided
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.data_files import as_line, named, reference, tables_of
from reluflow.theory.diagnosis import assumption_named
from reluflow.theory.elsewhere import Elsewhere
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import Above, AtLeast, AtMost, Below, Constants, Equals, Measure
from reluflow.theory.separability import LINEARLY_SEPARABLE, ORTHOGONALLY_SEPARABLE
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

_SHARED = {
    "linearly-separable": assumed(LINEARLY_SEPARABLE),
    "orthogonally-separable": assumed(ORTHOGONALLY_SEPARABLE),
    "relu": shared.RELU,
    "leaky": shared.LEAKY,
    "balanced": shared.BALANCED,
    "dominated": shared.DOMINATED,
    "no-ridge": shared.NO_RIDGE,
    "square-loss": shared.SQUARE_LOSS,
    "logistic-loss": shared.LOGISTIC_LOSS,
    "fading-loss": shared.FADING_LOSS,
    "one-neuron-or-more": shared.ONE_NEURON_OR_MORE,
    "two-neurons-or-more": shared.TWO_NEURONS_OR_MORE,
}
_QUANTITIES = ("constants", "predictions")
_SIDES = {"at_most": AtMost, "at_least": AtLeast, "equals": Equals, "above": Above, "below": Below}
_SAID = ("words", "without", "empty")
_FLAGS = ("is_regime", "needs_trajectory", "is_setting")
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
    fields.update({name: make(paper, fields[name]) for name, make in _FUNCTIONS.items() if name in fields})
    fields.update({name: _quantities(paper, fields[name]) for name in _QUANTITIES if name in fields})
    fields["hypotheses"] = tuple(h for name in fields["hypotheses"] for h in _hypotheses(paper, name))
    fields["conclusions"] = tuple(_conclusion(paper, *row) for row in fields["conclusions"].items())
    parameters = tables_of(paper, "results").get("parameters", {})
    fields["parameters"] = tuple(Parameter(**{"name": n, **parameters[n]}) for n in fields.get("parameters", ()))
    if (asked := tables_of(paper, "conditions")["theorems"].get(result)) is not None:
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in asked.items()}
        fields["diagnosed"] = DataHypotheses(**values)
    fields["setting"] = _setting(paper, fields.get("setting", {}))
    return Theorem(key, Reference(paper, locator or locator_of(result)), **fields)


def _plan(paper: str, stated: str | dict[str, Any]) -> Callable[[Any], Any]:
    """The plan that a function makes, or the one `of` which some fields are others."""
    if isinstance(stated, str):
        return _finder(paper, stated)
    start, *finders = (_finder(paper, value) for value in (stated.get("of", FlowPlan()), *stated.values()))
    parts = {name: find for name, find in zip(stated, finders, strict=True) if name != "of"}
    return lambda evidence: replace(start(evidence), **{name: tuple(find(evidence)) for name, find in parts.items()})


def _log_scale(paper: str, stated: str | dict[str, Any]) -> Callable[[Any], float]:
    """The factor that a function makes, or that which brings a larger network to a log scale."""
    if isinstance(stated, str):
        return _finder(paper, stated)
    wanted = _finder(paper, stated["at_most"])
    return lambda evidence: min(0.0, wanted(evidence) - evidence.network.log_scale)


_FUNCTIONS = {"plan": _plan, "log_scale": _log_scale}


def locator_of(result: str) -> str:
    """Where a result stands, read off its key.

    >>> locator_of("thm3.1"), locator_of("lemmaB.15"), locator_of("eq28")
    ('Theorem 3.1', 'Lemma B.15', 'Eq. (28)')
    """
    found = _NUMBERED.fullmatch(result)
    if found is None or found[1] not in (*_LOCATORS, "eq"):
        raise InvalidInputError(f"`locator` must be given for `{result}`, whose key does not tell where it stands.")
    return f"Eq. ({found[2]})" if found[1] == "eq" else f"{_LOCATORS[found[1]]} {found[2]}"


def _quantities(paper: str, stated: str | dict[str, str] | list[Any]) -> Callable[[Any], Constants]:
    """The constants or the predictions of a result, by name."""
    if isinstance(stated, str) and "." in stated:
        function: Callable[[Any], Constants] = reference(paper, stated)
        return function
    if isinstance(stated, str):
        return _quantities(paper, tables_of(paper, "results")["quantities"][stated])
    if isinstance(stated, list):
        parts = [_quantities(paper, part) for part in stated]
        return lambda evidence: {name: value for part in parts for name, value in part(evidence).items()}
    functions = {name: reference(paper, text) for name, text in stated.items()}

    def each(evidence: Any) -> Constants:
        found: dict[str, Any] = {}
        for name, find in functions.items():
            with suppress(Undecided):  # a quantity that the data do not have is left out
                value = find(evidence)
                found[name] = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        return found

    return each


def _hypotheses(paper: str, key: str) -> Iterator[Hypothesis]:
    """The hypothesis of this key, or each of a group: the paper's own, one of all papers, or a data assumption."""
    row = tables_of(paper, "hypotheses").get(key)
    if row is None:
        yield _SHARED[key] if key in _SHARED else assumed(assumption_named(key))
    elif isinstance(row, list):
        for part in row:
            yield from _hypotheses(paper, part)
    else:
        judge = reference(paper, row["judge"]) if "judge" in row else _compared(paper, row["number"], row)
        if "guard" in row:
            judge = named(paper, row["guard"])(judge)
        yield Hypothesis(row.get("name", key), row["says"], judge, **{flag: row.get(flag, False) for flag in _FLAGS})


def _compared(paper: str, stated: str, row: Mapping[str, Any]) -> Measure:
    """The measure that holds a number, or the worst of several, against the bound on one side of it."""
    side = next(side for side in _SIDES if side in row)
    said = {name: row[name] for name in _SAID if name in row}
    find, bound = _finder(paper, stated), _finder(paper, row[side])
    return _SIDES[side](find, bound, _finder(paper, row.get("allowance", 0.0)), **said)


def _finder(paper: str, stated: Any) -> Callable[[Any], Any]:
    """What finds a value that is stated, or referred to."""
    found = reference(paper, stated) if isinstance(stated, str) else stated
    return found if callable(found) else lambda evidence: found


def _conclusion(paper: str, name: str, row: Mapping[str, Any]) -> Conclusion:
    level = next(level for level in Level if level in row)
    measure = reference(paper, row[level])
    if any(side in row for side in _SIDES):
        measure = _compared(paper, row[level], row)
    if "guard" in row:
        measure = named(paper, row["guard"])(measure)
    return Conclusion(name, row["says"], measure, level)


def _setting(paper: str, stated: str | dict[str, Any]) -> Setting:
    fields = tables_of(paper, "results")["settings"][stated] if isinstance(stated, str) else stated
    return Setting(**{**fields, "leak": None}) if fields.get("leak") == "own" else Setting(**fields)
