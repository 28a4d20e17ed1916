"""Forge evidence from a line of text, for papers whose results are still tables: which quantity, changed how.

A forgery is data: a place, which entries of it, and a change. `run:network[last] | turned 0.7` turns the last recorded
network and gives its outputs and loss to the snapshot; `run:end | a-times 2 of positive` changes neurons of the end
point; `population:psi[later] | plus 1` a recorded array from its second entry on; `companion:wider/end | ...` another
run; `drawn:cone points | times -1` what the check would draw; `kept:lyu2021.limits.limit_of/network | turned 0.1` what
it would compute from the run; `facts:least_squares | times 2` what is known of the data. Several are joined by ` and `.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from forging import with_network as replace_network
from reluflow.dynamics.event import EventLog
from reluflow.dynamics.trajectory import Outcome, Snapshot, Trajectory
from reluflow.network import Network
from reluflow.theory.evidence import Evidence

SELECTIONS: dict[str, Callable[[int], np.ndarray]] = {
    "all": lambda n: np.ones(n, dtype=bool),
    "first": lambda n: np.arange(n) == 0,
    "later": lambda n: np.arange(n) > 0,
    "last": lambda n: np.arange(n) == n - 1,
    "middle": lambda n: np.arange(n) == n // 2,
    "second half": lambda n: np.arange(n) >= n // 2,
    "first half": lambda n: np.arange(n) < (n + 1) // 2,
    "odd": lambda n: np.arange(n) % 2 == 1,
}


def chosen(selection: str, count: int) -> np.ndarray:
    """Which of `count` entries: a name of `SELECTIONS` or a number."""
    if selection in SELECTIONS:
        return SELECTIONS[selection](count)
    return np.arange(count) == int(selection) % count


# ---------------------------------------------------------------------------------------- changes of one value


def _turn(angle: float, d: int) -> np.ndarray:
    turn = np.eye(d)
    if d > 1:
        turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    else:
        turn[0, 0] = -1.0
    return turn


def _members(network: Network, which: str) -> np.ndarray:
    if which == "positive":
        return network.a > 0.0
    if which == "negative":
        return network.a < 0.0
    return chosen(which, network.num_neurons)


def change_network(network: Network, verb: str, value: float, which: str = "all") -> Network:
    """A network with some of its neurons turned, stretched or flipped."""
    keep = _members(network, which)
    w, a = network.w, network.a
    if verb == "turned":
        w = w @ _turn(value, network.d).T
    elif verb == "scaled":
        w, a = value * w, value * a
    elif verb == "stretched":
        w = value * w
    elif verb == "a-times":
        a = value * a
    elif verb == "a-plus":
        a = a + value
    elif verb == "w-plus":
        w = w + value
    elif verb == "spread":  # neuron j along axis j, so that W has full rank
        w = value * np.linalg.norm(w, axis=1, keepdims=True) * np.eye(network.d)[np.arange(len(w)) % network.d]
    elif verb == "shifted":
        w = w + value * np.linalg.norm(w, axis=1, keepdims=True) * np.linspace(-1.0, 1.0, network.d)
    elif verb == "shrunk-by-log":
        return network.replace(log_scale=network.log_scale + value)
    elif verb == "towards":  # all neurons of one direction
        w = np.linalg.norm(w, axis=1, keepdims=True) * _turn(value, network.d)[:, 0]
    else:
        raise ValueError(verb)
    return network.replace(w=np.where(keep[:, None], w, network.w), a=np.where(keep, a, network.a))


def change_number(value: Any, verb: str, by: float) -> Any:
    """A number or an array changed as a whole."""
    if isinstance(value, bool | np.bool_):
        return not value
    array = np.asarray(value)
    if array.dtype == bool:
        changed = ~array
    elif verb == "times":
        changed = array * by
    elif verb == "plus":
        changed = array + by
    elif verb == "to":
        changed = np.full_like(array, by)
    elif verb == "power":
        changed = np.sign(array) * np.abs(array) ** by
    elif verb == "reversed":
        changed = array[::-1].copy()
    else:
        raise ValueError(verb)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return type(value)(changed)
    return float(changed) if isinstance(value, float) else changed


def change_value(value: Any, verb: str, by: float, selection: str) -> Any:
    """A network, an array, a number or a function, changed at the selected entries."""
    if isinstance(value, Network):
        return change_network(value, verb, by, selection)
    if callable(value):
        return lambda *args, **kwargs: _change_returned(value(*args, **kwargs), args, verb, by, selection)
    if isinstance(value, tuple | list):
        keep = chosen(selection, len(value))
        return type(value)(change_value(v, verb, by, "all") if k else v for v, k in zip(value, keep, strict=True))
    array = np.asarray(value)
    if array.ndim == 0 or selection == "all" or verb == "reversed":
        return change_number(value, verb, by)
    keep = chosen(selection, len(array))
    changed = array.copy() if array.dtype.kind in "biu" else array.astype(float)
    changed[keep] = change_number(array[keep], verb, by)
    return changed


def _change_returned(returned: Any, args: tuple[Any, ...], verb: str, by: float, selection: str) -> Any:
    """What a function returns, changed; `drifting` adds a multiple of its first argument, such as the times."""
    if verb == "drifting":
        return returned + by * np.asarray(args[0])[:, None]
    return change_value(returned, verb, by, selection)


# ---------------------------------------------------------------------------------------- changes within an object


def change_within(thing: Any, path: tuple[str, ...], verb: str, by: float, selection: str) -> Any:
    """The same object with what lies at `path` changed; what it had computed from its parts is forgotten."""
    if not path:
        return change_value(thing, verb, by, selection)
    name, *rest = path
    if name.isdigit() and isinstance(thing, tuple | list):
        parts = list(thing)
        parts[int(name)] = change_within(parts[int(name)], tuple(rest), verb, by, selection)
        return type(thing)(parts)
    if name == "*" and isinstance(thing, tuple | list):
        keep = chosen(selection, len(thing))
        return type(thing)(
            change_within(part, tuple(rest), verb, by, "all") if k else part
            for part, k in zip(thing, keep, strict=True)
        )
    if isinstance(thing, Mapping):
        return {**thing, name: change_within(thing[name], tuple(rest), verb, by, selection)}
    changed = change_within(getattr(thing, name), tuple(rest), verb, by, selection)
    if isinstance(thing, Network):
        return thing.replace(**{name: changed})
    twin = copy.copy(thing)
    is_field = is_dataclass(thing) and name in {f.name for f in fields(thing)}
    for key in list(vars(twin)):
        if isinstance(getattr(type(twin), key, None), cached_property) and (is_field or key == name):
            del vars(twin)[key]
    if is_field:
        object.__setattr__(twin, name, changed)
    else:
        vars(twin)[name] = changed  # a cached property, said to have been computed so
    return twin


def _at_snapshots(run: Trajectory, selection: str, change: Callable[[Snapshot], Snapshot]) -> Trajectory:
    keep = chosen(selection, len(run.snapshots))
    return replace(run, snapshots=tuple(change(s) if k else s for s, k in zip(run.snapshots, keep, strict=True)))


def forge_run(run: Trajectory, part: str, selection: str, verb: str, by: float, neurons: str) -> Trajectory:
    """A run with one of its records changed."""
    if part == "network":
        return _at_snapshots(
            run, selection, lambda s: replace_network(s, change_network(s.network, verb, by, neurons), run)
        )
    if part == "end":
        end = change_network(run.network, verb, by, neurons)
        return replace(run, network=end, limit=replace(run.limit, network=end))
    if part in ("outputs", "loss", "time"):
        return _at_snapshots(run, selection, lambda s: replace(s, **{part: change_number(getattr(s, part), verb, by)}))
    if part == "clock":
        log = run.events
        events = EventLog(log.neurons, log.samples, by * log.times, log.codes)
        snapshots = tuple(replace(s, time=by * s.time) for s in run.snapshots)
        return replace(run, events=events, snapshots=snapshots, times=by * run.times, time=by * run.time)
    if part == "order":
        networks = [s.network for s in reversed(run.snapshots)]
        return replace(
            run, snapshots=tuple(replace_network(s, n, run) for s, n in zip(run.snapshots, networks, strict=True))
        )
    if part == "still":
        first = run.snapshots[0].network
        return _at_snapshots(run, selection, lambda s: replace_network(s, first, run))
    if part == "signs":  # at the end every output weight has the sign it started with
        end = run.network.replace(a=np.abs(run.network.a) * np.sign(run.problem.network.a))
        return replace(run, network=end, limit=replace(run.limit, network=end))
    if part == "outcome":
        return replace(run, outcome=Outcome[verb.upper()])
    if part == "repeat":
        log = run.events
        doubled = EventLog(*(np.repeat(part, 2) for part in (log.neurons, log.samples, log.times, log.codes)))
        return replace(run, events=doubled)
    return change_within(run, tuple(part.split(".")), verb, by, selection)


def kept_function(name: str) -> Callable[..., Any]:
    """`boursier2024.phase_clock.phase_clock` among the modules of theory."""
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"reluflow.theory.{module}"), function)


def forge(evidence: Evidence, text: str) -> Evidence:
    """False evidence, as the text says."""
    for line in text.split(" and "):
        evidence = _forge_one(evidence, line.strip())
    return evidence


def _forge_one(evidence: Evidence, line: str) -> Evidence:
    place, _, change = line.partition(" | ")
    words = change.split(" ")
    verb, by = words[0], float(words[1]) if len(words) > 1 else 0.0
    neurons = " ".join(words[3:]) if len(words) > 3 and words[2] == "of" else "all"
    selection = "all"
    if place.endswith("]"):
        place, _, selection = place[:-1].rpartition("[")
    kind, _, rest = place.partition(":")
    if kind in ("facts", "drawn", "kept", "population") and neurons != "all":
        selection = neurons  # of a network
    if kind == "run":
        return replace(evidence, trajectory=forge_run(evidence.run, rest, selection, verb, by, neurons))
    if kind == "sweep":
        sweep = list(evidence.sweep)
        keep = chosen(selection, len(sweep))
        for k, other in enumerate(sweep):
            if keep[k]:
                sweep[k] = replace(other, trajectory=forge_run(other.run, rest, "all", verb, by, neurons))
        return replace(evidence, sweep=tuple(sweep))
    if kind == "runs":  # the run and every other scale of it
        forged = _forge_one(evidence, f"run:{rest}[{selection}] | {change}")
        return replace(forged, sweep=tuple(_forge_one(e, f"run:{rest}[{selection}] | {change}") for e in forged.sweep))
    if kind == "companion":
        name, _, part = rest.partition("/")
        other = forge_run(evidence.companions[name], part, selection, verb, by, neurons)
        return replace(evidence, companions={**evidence.companions, name: other})
    if kind == "population":
        path = tuple(rest.split(".")) if rest else ()
        return replace(evidence, record=change_within(evidence.record, path, verb, by, selection))
    if kind == "facts":
        forged = replace(evidence)
        vars(forged)["facts"] = change_within(evidence.facts, tuple(rest.split(".")), verb, by, selection)
        return forged
    if kind in ("drawn", "kept"):
        name, _, part = rest.partition("/")
        key = name if kind == "drawn" else kept_function(name)
        true = evidence.witnesses[key] if key in evidence.witnesses else _true_value(evidence, key)
        path = tuple(part.split(".")) if part else ()
        forged = change_within(true, path, verb, by, selection)
        return replace(evidence, witnesses={**evidence.witnesses, key: forged})
    raise ValueError(f"`{line}` starts with none of run, sweep, runs, companion, population, facts, drawn, kept.")


def _true_value(evidence: Evidence, key: Any) -> Any:
    """What the check of the true evidence has drawn or computed under this name."""
    if key in evidence._computed:
        return evidence._computed[key]
    if callable(key):
        return key(evidence)
    raise KeyError(f"{key!r} was not drawn; drawn were {[k for k in evidence._computed if isinstance(k, str)]}")
