"""Experiment: everything one run depends on, as one frozen value."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_type_hints

from reluflow.data.choice import TableChoice, labels_under
from reluflow.data.dataset import Dataset
from reluflow.data.reading import Reading
from reluflow.data.registry import REGISTRY, parse_spec, suggested_settings
from reluflow.deprecation import warn_old_form
from reluflow.errors import InvalidInputError
from reluflow.experiment import field_types as types
from reluflow.experiment.building import descent_for, flow_for, loss_for, network_for, reading_for, rule_for
from reluflow.experiment.documents import json_text, read_document, toml_text
from reluflow.experiment.fingerprint import Digests, canonical, check_files, file_digests, fingerprint_of, identity_of
from reluflow.experiment.links import LINK_DEFAULTS, link_text, read_link
from reluflow.experiment.settings import FieldKind, text_of
from reluflow.losses import AbstractLoss
from reluflow.network import Network

if TYPE_CHECKING:
    from reluflow.dynamics.flow_choice import ChosenFlow
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.solver import AbstractSolver
    from reluflow.dynamics.stopping import AbstractStoppingRule

DATA_FIELDS = ("target", "features", "drop", "labels", "drop_missing", "standardise")  # how a table is read
# those that every fingerprint holds; see `identity_of`
FIRST_FIELDS = frozenset(
    ("dataset", "parameters", "bias", "loss", "reduction", "factor", "leak", "width", "scale", "init", "seed", "method",
     "solver", "rtol", "ridge", "until", "horizon", "lr", "iterations", "batch")
)  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """One run: the data and how they are read, the objective, the initial network, the method, the end, the seed.

    The command line's options, a TOML or JSON document and a link of the laboratory are read into it and printed from
    it. The seed fixes the samples of a random dataset, the draw of the neurons and the batches of SGD, each through
    its own stream; so the numbers depend on nothing but these fields.

    Parameters
    ----------
    data
        A registered name with or without parameters (`name:key=value`), or a path; the title of the data where `X`
        and `y` are given.
    X, y
        The samples and labels themselves, where they come from nowhere else.
    target, features, drop, labels, drop_missing, standardise
        How a table is read, as for `read_dataset`; names separated by commas.
    bias
        Append the constant coordinate 1.
    loss, reduction, factor
        The loss; None takes the one that fits the labels.
    leak, weight_decay, frozen_output
        The negative slope, the weight decay, and whether only the input weights are trained.
    width, scale, init, seed, nodes
        The initial network. `width` may be "inf" in the plane, where `nodes` directions stand for all; `scale` is
        kept as decimal text, so that 1e-400 is itself; `init` names a scheme or a file.
    neurons
        The neurons themselves, rows (w, a), each multiplied by the scale.
    output_bias
        "none" leaves out the output bias, "fixed" keeps it and "train" trains it, from that of the network or 0; None
        trains it if the network has one.
    method, solver, rtol, device, ridge
        How it is trained; `solver` names the method for the flow.
    until, horizon, times
        When it stops: a rule, a time, or None for the end of training; and the times of the snapshots.
    lr, iterations, batch
        Of gradient descent and its stochastic form.
    digests
        SHA-256 of the files it reads, as pairs (path, digest), where their content is pinned.

    Examples
    --------
    >>> experiment = Experiment("three-points", width=60, scale="1e-400")
    >>> experiment.command()
    'reluflow train three-points --width 60 --scale 1e-400'
    >>> experiment.problem().network.num_neurons
    60
    """

    data: types.DataSpec
    X: types.Samples = None
    y: types.Labels = None
    target: types.TargetName = None
    features: types.FeatureNames = None
    drop: types.DroppedNames = None
    labels: types.ClassNames = None
    drop_missing: types.DropMissing = False
    standardise: types.Standardise = False
    bias: types.Bias = False
    loss: types.LossName = None
    reduction: types.ReductionName = "mean"
    factor: types.Factor = 1.0
    leak: types.Leak = 0.0
    weight_decay: types.WeightDecay = 0.0
    frozen_output: types.FrozenOutput = False
    width: types.Width = 100
    scale: types.ScaleText = "0.001"
    init: types.Init = "balanced"
    neurons: types.NeuronRows = None
    output_bias: types.OutputBiasName = None
    nodes: types.Nodes = 20000
    seed: types.Seed = 0
    method: types.MethodName = "flow"
    solver: types.SolverName = "auto"
    rtol: types.Tolerance = None
    device: types.DeviceName = "cpu"
    ridge: types.RidgeName = "stop"
    until: types.Until = None
    horizon: types.Horizon = None
    times: types.Times = ()
    lr: types.LearningRate = 0.001
    iterations: types.Iterations = None
    batch: types.Batch = 32
    digests: Digests = ()

    def __post_init__(self) -> None:
        for name, setting in settings().items():
            value = getattr(self, name)
            if value is None and name in _OPEN:
                continue
            object.__setattr__(self, name, setting.read(name, text_of(value)))
        pairs = self.digests.items() if isinstance(self.digests, Mapping) else self.digests
        object.__setattr__(self, "digests", tuple(sorted((str(path), str(digest)) for path, digest in pairs)))
        if (self.X is None) != (self.y is None):
            raise InvalidInputError("`X` and `y` must be given together.")
        if self.X is not None and self.y is not None and len(self.X) != len(self.y):
            raise InvalidInputError(
                f"`y` must hold one label for each of the {len(self.X)} samples, got {len(self.y)}."
            )
        if self.neurons is not None and len(self.neurons[0]) < 2:
            raise InvalidInputError("`neurons` must hold rows (w, a) of at least two numbers, got one.")

    # what is built from it

    @property
    def choice(self) -> TableChoice:
        """How its table is read; under the square loss labels 0 and 1 are numbers, as for every command."""
        table_fields = {name: getattr(self, name) for name in DATA_FIELDS}
        return TableChoice(
            **table_fields | {"labels": labels_under(self.labels, self.loss)}, loss=self.loss, is_command_line=True
        )

    def reading(self) -> Reading:
        """The dataset with what is to be said about it; refuses zero samples, and pinned files that have changed."""
        check_files(self.digests)
        return reading_for(self)

    def dataset(self) -> Dataset:
        """The samples and labels."""
        return self.reading().dataset

    def loss_for(self, dataset: Dataset) -> AbstractLoss:
        """The loss, by default the one that fits the labels; refuses labels it cannot take."""
        return loss_for(self, dataset)

    def network_for(self, dataset: Dataset) -> Network:
        """The network at time 0: given, read, or drawn."""
        return network_for(self, dataset)

    def problem(self, dataset: Dataset | None = None) -> TrainingProblem:
        """What is trained; `dataset` is the one of `dataset()` where it has been read already."""
        from reluflow.dynamics.problem import TrainingProblem

        data = self.dataset() if dataset is None else dataset
        loss, network, trains_output = self.loss_for(data), self.network_for(data), not self.frozen_output
        return TrainingProblem(
            data,
            loss,
            network,
            weight_decay=self.weight_decay,
            trains_output_layer=trains_output,
            trains_output_bias=self.output_bias != "fixed",
        )

    def flow_for(self, problem: TrainingProblem) -> ChosenFlow:
        """The solver of the flow, with its name and the reason in a sentence it was taken."""
        return flow_for(self, problem)

    def solver_for(self, problem: TrainingProblem) -> AbstractSolver:
        """The method with its settings."""
        return self.flow_for(problem).solver if self.method == "flow" else descent_for(self)

    def rule_for(self, problem: TrainingProblem) -> AbstractStoppingRule:
        """The stopping rule; by default the flow runs to its limit and descent through its iterations."""
        return rule_for(self, problem)

    @property
    def end_time(self) -> float | None:
        """The time of `until`, where that is one."""
        return None if self.until in (None, "stationary", "aligned", "direction") else float(self.until)

    # its forms

    def changed_fields(self) -> dict[str, Any]:
        """The fields that are not at their defaults, and the data.

        >>> Experiment("three-points", width=20).changed_fields()
        {'data': 'three-points', 'width': 20}
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if name == "data" or value != _default(name)}

    def given(self) -> dict[str, Any]:
        """The old name of `changed_fields`."""
        warn_old_form("Experiment.given()", "Experiment.changed_fields()")
        return self.changed_fields()

    def with_texts(self, texts: Mapping[str, str | None], *, prefix: str = "") -> Self:
        """The experiment with fields changed to what these texts say; None leaves open what can be left open."""
        known, values = settings(), dict[str, Any]()
        for name, text in texts.items():
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}."
                raise InvalidInputError(f"`{name[:40]}` is not a field of an experiment; {hint}")
            label = f"{prefix}{name.replace('_', '-')}" if prefix else name
            values[name] = None if text is None and name in _OPEN else known[name].read(label, text or "")
        return replace(self, **values)  # each value has gone through the reader of its field

    @classmethod
    def from_document(cls, document: Mapping[str, Any], *, base: Experiment | None = None) -> Experiment:
        """The experiment of a document, its other fields those of `base`.

        >>> Experiment.from_document({"data": "three-points", "width": 20}).width
        20
        """
        content = dict(document)
        digests = content.pop("digests", ())
        start = base if base is not None else cls(str(content.get("data") or "three-points"))
        if base is None and "data" not in content:
            raise InvalidInputError("`data` must be given in the description of an experiment, got none.")
        texts = {name: text_of(value) for name, value in content.items() if value is not None}
        made = start.with_texts(texts)
        return replace(made, digests=digests) if digests else made

    @classmethod
    def read(cls, path: str | Path, *, base: Experiment | None = None) -> Experiment:
        """The experiment that a `.toml` or `.json` file describes."""
        try:
            return cls.from_document(read_document(path), base=base)
        except InvalidInputError as error:
            raise error if str(path) in str(error) else InvalidInputError(f"`{path}`: {error}") from error

    def to_document(self) -> dict[str, Any]:
        """Plain values, fields at their defaults left out."""
        plain = {name: _as_list(value) for name, value in self.changed_fields().items() if value is not None}
        return plain | ({"digests": dict(self.digests)} if self.digests else {})

    def to_toml(self) -> str:
        """The document as TOML.

        >>> print(Experiment("three-points", width=20).to_toml(), end="")
        data = "three-points"
        width = 20
        """
        return toml_text(self.to_document())

    def to_json(self) -> str:
        """The document as JSON."""
        return json_text(self.to_document())

    @classmethod
    def from_link(cls, link: str) -> Experiment:
        """The experiment that a link of the laboratory shows.

        >>> Experiment.from_link("#v=1&name=min-toy&width=12&view.at=0.5").data
        'min-toy'
        """
        texts = read_link(link)
        return cls(texts["data"]).with_texts({name: text or None for name, text in texts.items()})

    def to_link(self) -> str:
        """The link from # on; the laboratory opens it where it has a control for every field given."""
        shown = {name: "" if value is None else text_of(value) for name, value in _all_values(self).items()}
        start = {name: text_of(_default(name)) for name in shown if name != "data"} | LINK_DEFAULTS
        start = {name: "" if text == "None" else text for name, text in start.items()}
        return link_text({name: text for name, text in shown.items() if name == "data" or text != start[name]})

    def options(self) -> list[str]:
        """The words after `reluflow train`."""
        known, words = settings(), []
        for name, value in self.changed_fields().items():
            if name in ("data", "digests"):
                continue
            if not known[name].is_option:
                raise InvalidInputError(f"`{name}` holds numbers, which no option takes; write them to a file.")
            option = f"--{name.replace('_', '-')}"
            text = text_of(value)
            words += [option] if value is True else [f"{option}={text}"] if text.startswith("-") else [option, text]
        return [*words, "--", self.data] if self.data.startswith("-") else [self.data, *words]

    def command(self, verb: str = "train") -> str:
        """The command that makes this run alone."""
        return shlex.join(["reluflow", verb, *self.options()])

    def python_lines(self) -> str:
        """The same run in Python, complete in itself."""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.changed_fields().items())
        more = [f"times={self.times!r}"] if self.times else []
        more += [f"horizon={self.horizon!r}"] if self.horizon is not None else []
        return "\n".join(
            [
                "import reluflow",
                f"experiment = reluflow.Experiment({arguments})",
                "problem = experiment.problem()",
                "solver, until = experiment.solver_for(problem), experiment.rule_for(problem)",
                f"trajectory = reluflow.train({', '.join(['problem', 'solver', 'until=until', *more])})",
                "print(trajectory)",
                "print(reluflow.certified_limit(trajectory))",
                "",
            ]
        )

    # its name among kept results

    def pinned(self) -> Self:
        """The experiment with the content of the files it reads, which may then not change."""
        return replace(self, digests=file_digests(self.data, self.init))

    def data_parts(self) -> tuple[str, dict[str, Any]]:
        """The name of the data and its parameters, those sorted; a path has none."""
        if self.X is not None or self.data.partition(":")[0] not in REGISTRY:
            return self.data, {}
        entry, values = parse_spec(self.data)
        return entry.name, dict(sorted(values.items()))

    def identity(self) -> dict[str, Any]:
        """What the fingerprint is taken of."""
        plain = _all_values(self)
        name, parameters = self.data_parts()
        if plain.pop("data") in dict(self.digests):
            plain["labels"] = labels_under(self.labels, self.loss)
        defaults = {field: _default(field) for field in plain}
        return identity_of({"dataset": name, "parameters": parameters, **plain}, self.digests, FIRST_FIELDS, defaults)

    def fingerprint(self) -> str:
        """32 hexadecimal digits that name the run, however it was written.

        >>> one, two = Experiment("three-points", scale="0.0010"), Experiment("three-points", scale=1e-3)
        >>> one.fingerprint() == two.fingerprint()
        True
        """
        return fingerprint_of(canonical(self.identity()))


@cache
def settings() -> dict[str, FieldKind]:
    """How each field is read and explained, in the order of the fields."""
    hints = get_type_hints(Experiment, include_extras=True)
    found = {name: getattr(hint, "__metadata__", (None,))[0] for name, hint in hints.items()}
    return {name: setting for name, setting in found.items() if isinstance(setting, FieldKind)}


def suggested_experiment(data: str) -> Experiment:
    """A registered dataset with the loss and the leak its paper uses it with."""
    suggested = suggested_settings(data)
    return Experiment(
        data,
        loss=suggested.loss,
        reduction=suggested.reduction,
        factor=suggested.factor,
        leak=suggested.leak or 0.0,
    )


@cache
def _default(name: str) -> Any:
    return next(field.default for field in fields(Experiment) if field.name == name)


def _all_values(experiment: Experiment) -> dict[str, Any]:
    return {name: getattr(experiment, name) for name in settings()}


def _as_list(value: Any) -> Any:
    return [_as_list(item) for item in value] if isinstance(value, tuple) else value


_OPEN = frozenset(field.name for field in fields(Experiment) if field.default is None)
