"""Case: one run as a frozen value. What it is decides its fingerprint, and its fingerprint is its name."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from reluflow import numerics_version
from reluflow.data.choice import TableChoice, labels_under
from reluflow.data.registry import REGISTRY
from reluflow.errors import InvalidInputError
from reluflow.losses import LOSSES
from reluflow.network.scale import log_of_scale
from reluflow.sweep.values import canonical_decimal, decimal_of

Value = int | float | str | bool | None

REDUCTIONS = ("mean", "sum")
METHODS = ("flow", "gd", "sgd")
RIDGES = ("stop", "positive", "negative", "stay")
FINGERPRINT_BYTES = 16
DATA_OPTIONS = ("target", "features", "drop", "labels", "drop_missing", "standardise")  # of a table
DATA_PREFIX = "data."  # before a parameter of the dataset that has the name of a setting


@dataclass(frozen=True)
class Case:
    """Everything one run depends on; the fields are those of `reluflow train`, with its defaults.

    The seed fixes the samples of a random dataset, the draw of the neurons and the batches of SGD, each through its
    own stream. So the numbers of a case depend on nothing but its settings: not on the executor, the order or the
    other cases.

    Parameters
    ----------
    dataset
        A registered name with or without parameters (`name:key=value`), or a path.
    parameters
        More parameters of the dataset, as pairs sorted by name.
    target, features, drop, labels, drop_missing, standardise
        How a table is read, as for `read_dataset`, written as on the command line: names separated by commas.
    bias
        Append the constant coordinate 1.
    loss, reduction, factor
        The loss; None takes the one that fits the labels.
    leak, width, scale, init, seed
        The initial network. `width` may be "inf" in the plane; `scale` is decimal text, so that 1e-400 is itself.
    method, solver, rtol, ridge
        How it is trained; `solver` names the method for the flow.
    until, horizon
        When it stops: a rule, a time, or None for the end of training.
    lr, iterations, batch
        Of gradient descent and its stochastic form.
    digests
        SHA-256 of the files it reads, as pairs (path, digest): the content counts and not the name.

    Examples
    --------
    >>> case = Case("three-points", width=20)
    >>> case.fingerprint() == Case("three-points", width=20, scale="0.0010").fingerprint()
    True
    >>> case.with_value("scale", "1e-400").command()
    'reluflow train three-points --width 20 --scale 1e-400'
    """

    dataset: str
    parameters: tuple[tuple[str, Value], ...] = ()
    target: str | None = None
    features: str | None = None
    drop: str | None = None
    labels: str | None = None
    drop_missing: bool = False
    standardise: bool = False
    bias: bool = False
    loss: str | None = None
    reduction: str = "mean"
    factor: float = 1.0
    leak: float = 0.0
    width: int | str = 100
    scale: str = "0.001"
    init: str = "balanced"
    seed: int = 0
    method: str = "flow"
    solver: str = "auto"
    rtol: float | None = None
    ridge: str = "stop"
    until: str | None = None
    horizon: float | None = None
    lr: float = 1e-3
    iterations: int | None = None
    batch: int = 32
    digests: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name, parse in SETTINGS.items():
            value = getattr(self, name)
            object.__setattr__(self, name, parse(name, None if value is None else str(value)))
        name, colon, given = self.dataset.partition(":")
        if colon and name in REGISTRY:  # one spelling: parameters written into the name are parameters
            pairs = {key: REGISTRY[name].parameter(key).parse(text) for key, text in _pairs(self.dataset, given)}
            object.__setattr__(self, "dataset", name)
            object.__setattr__(self, "parameters", tuple((pairs | dict(self.parameters)).items()))
        object.__setattr__(self, "parameters", tuple(sorted(self.parameters)))

    def settings(self) -> dict[str, Any]:
        """Plain values that make the same case again."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"parameters": dict(self.parameters), "digests": dict(self.digests)}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Case:
        """The case of `settings()`."""
        pairs = {name: tuple(sorted(settings.get(name, {}).items())) for name in ("parameters", "digests")}
        return cls(**{**settings, **pairs})

    def identity(self) -> dict[str, Any]:
        """What the fingerprint is taken of: the settings, files by their content, and the numerics' version."""
        plain = self.settings()
        digests = plain.pop("digests")
        for name in ("dataset", "init"):
            if plain[name] in digests:
                plain[name] = f"sha256:{digests[plain[name]]}"
        if self.dataset in digests:
            plain["labels"] = labels_under(self.labels, self.loss)
        for name in DATA_OPTIONS:  # an option that is not given leaves no trace: results kept before it was there stay
            if not plain[name]:
                del plain[name]
        return plain | {"numerics": numerics_version.NUMERICS_VERSION}

    @property
    def choice(self) -> TableChoice:
        """How its table is read; under the square loss labels 0 and 1 are numbers, as for every command."""
        given = {name: getattr(self, name) for name in DATA_OPTIONS}
        return TableChoice(**given | {"labels": labels_under(self.labels, self.loss)}, is_command_line=True)

    def fingerprint(self) -> str:
        """32 hexadecimal digits that name the case."""
        return fingerprint_of(canonical(self.identity()))

    def with_value(self, name: str, text: str) -> Case:
        """The case with one setting, or one parameter of its dataset, changed; `text` is what a user would type."""
        value = self.parse(name, text)
        if name in SETTINGS or name == "dataset":
            changed: dict[str, Any] = {name: value}
            return replace(self, **changed)
        key = name.removeprefix(DATA_PREFIX)
        return replace(self, parameters=tuple(sorted({**dict(self.parameters), key: value}.items())))

    def parse(self, name: str, text: str) -> Value:
        """The value that `text` stands for under this name, refused if the name or the value cannot be."""
        if name == "dataset":
            return text
        if name in SETTINGS:
            value: Value = SETTINGS[name](name, text)
            return value
        entry = REGISTRY.get(self.dataset.partition(":")[0])
        key = name.removeprefix(DATA_PREFIX)
        known = {parameter.name: parameter for parameter in entry.parameters} if entry is not None else {}
        if key not in known:
            own = f"; the parameters of {self.dataset} are {', '.join(known)}" if known else ""
            raise InvalidInputError(f"`{name}` must be one of dataset, {', '.join(SETTINGS)}{own}.")
        if known[key].kind is int:
            return _whole(name, text)
        return known[key].parse(text)

    def spaced_value(self, name: str, text: str) -> str:
        """A value between two others as this name can take it: the nearest whole number where it counts something.

        >>> Case("three-points").spaced_value("width", "12.6"), Case("three-points").spaced_value("leak", "0.126")
        ('13', '0.126')
        """
        try:
            self.parse(name, text)
        except InvalidInputError:
            whole = str(round(float(text)))
            self.parse(name, whole)  # raises with its own sentence where the name takes no number at all
            return whole
        return text

    @property
    def data_spec(self) -> str:
        """The dataset with all its parameters, as the command line writes it."""
        if not self.parameters:
            return self.dataset
        return f"{self.dataset}:" + ",".join(f"{key}={value}" for key, value in self.parameters)

    def command(self) -> str:
        """The command that makes this run alone."""
        words = ["reluflow", "train", self.data_spec]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("dataset", "parameters", "digests") or value == field.default:
                continue
            option = f"--{field.name.replace('_', '-')}"
            words += [option] if value is True else [option, str(value)]
        return shlex.join(words)


def canonical(identity: Mapping[str, Any]) -> str:
    """JSON with sorted keys and no spaces: equal settings, equal text."""
    return json.dumps(identity, sort_keys=True, separators=(",", ":"))


def fingerprint_of(text: str) -> str:
    """The first 128 bits of SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).digest()[:FINGERPRINT_BYTES].hex()


def with_file_digests(case: Case) -> Case:
    """The case with the content of the files it reads; raises where one cannot be read."""
    found = []
    for path in (case.dataset, case.init):
        if _names_a_file(path):
            try:
                found.append((path, hashlib.sha256(Path(path).read_bytes()).hexdigest()))
            except OSError as error:
                raise InvalidInputError(f"`{path}` cannot be read: {error.strerror or error}.") from error
    return replace(case, digests=tuple(sorted(found)))


def _pairs(spec: str, given: str) -> list[tuple[str, str]]:
    parts = [part.partition("=") for part in given.split(",")]
    for key, equals, _ in parts:
        if not equals or not key.strip():
            raise InvalidInputError(f"`{spec}` must read name:key=value,key=value, got {key!r} after the colon.")
    return [(key.strip(), value) for key, _, value in parts]


def _names_a_file(text: str) -> bool:
    return text.partition(":")[0] not in REGISTRY and Path(text).is_file()


def _whole(name: str, text: str | None, least: int = -(2**62)) -> int:
    try:
        number = decimal_of(text or "")
        if number == number.to_integral_value() and number >= least and abs(number) < 2**62:
            return int(number)
    except InvalidInputError:
        pass
    wanted = "a whole number" if least < 0 else f"a whole number of at least {least}"
    raise InvalidInputError(f"`{name}` must be {wanted}, got {text!r}.")


def _seed(name: str, text: str | None) -> int:
    return _whole(name, text, 0)


def _count(name: str, text: str | None) -> int:
    return _whole(name, text, 1)


def _optional_count(name: str, text: str | None) -> int | None:
    return None if text is None else _count(name, text)


def _width(name: str, text: str | None) -> int | str:
    return "inf" if (text or "").strip().lower() in ("inf", "infinity") else _count(name, text)


def _scale(name: str, text: str | None) -> str:
    log_of_scale(text or "")  # refuses what is not a positive decimal
    return canonical_decimal(text or "")


def _number(name: str, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInputError(f"`{name}` must be a finite number, got {text!r}.")
    return value


def _positive(name: str, text: str | None) -> float:
    value = _number(name, text)
    if not value > 0:
        raise InvalidInputError(f"`{name}` must be positive, got {text!r}.")
    return value


def _optional_positive(name: str, text: str | None) -> float | None:
    return None if text is None else _positive(name, text)


def _leak(name: str, text: str | None) -> float:
    value = _number(name, text)
    if not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"`{name}` must lie in [0, 1], got {text!r}.")
    return value


def _yes_or_no(name: str, text: str | None) -> bool:
    word = (text or "").strip().lower()
    if word not in ("true", "false", "yes", "no", "1", "0"):
        raise InvalidInputError(f"`{name}` must be true or false, got {text!r}.")
    return word in ("true", "yes", "1")


def _one_of(*words: str) -> Callable[[str, str | None], str]:
    def parse(name: str, text: str | None) -> str:
        if text not in words:
            raise InvalidInputError(f"`{name}` must be one of {', '.join(words)}, got {text!r}.")
        return text

    return parse


def _loss(name: str, text: str | None) -> str | None:
    return None if text is None else _one_of(*LOSSES)(name, text)


def _word(name: str, text: str | None) -> str:
    if not text:
        raise InvalidInputError(f"`{name}` must not be empty.")
    return text


def _optional_word(name: str, text: str | None) -> str | None:
    return None if text is None else _word(name, text)


def _rule(name: str, text: str | None) -> str | None:
    if text is None or text in ("stationary", "aligned", "direction"):
        return text
    try:
        _positive(name, text)
    except InvalidInputError:
        raise InvalidInputError(
            f"`{name}` must be stationary, aligned, direction or a positive time, got {text!r}."
        ) from None
    return text


# Every setting that may be swept, with what turns its text into its value.
SETTINGS: dict[str, Callable[[str, str | None], Any]] = {
    "scale": _scale,
    "width": _width,
    "seed": _seed,
    "leak": _leak,
    "loss": _loss,
    "init": _word,
    "target": _optional_word,
    "features": _optional_word,
    "drop": _optional_word,
    "labels": _optional_word,
    "drop_missing": _yes_or_no,
    "standardise": _yes_or_no,
    "bias": _yes_or_no,
    "reduction": _one_of(*REDUCTIONS),
    "factor": _positive,
    "method": _one_of(*METHODS),
    "solver": _word,
    "rtol": _optional_positive,
    "ridge": _one_of(*RIDGES),
    "until": _rule,
    "horizon": _optional_positive,
    "lr": _positive,
    "iterations": _optional_count,
    "batch": _count,
}
