"""The options that describe a run, made from the fields of `Experiment`, and what a command line says with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from reluflow.cli.arguments import dataset_argument
from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.experiment.documents import read_document
from reluflow.experiment.experiment import DATA_FIELDS, settings
from reluflow.experiment.settings import text_of

DATA = (*DATA_FIELDS, "bias", "seed")
LOSS = ("loss", "reduction", "factor")
VARIANT = ("weight_decay", "frozen_output")
FLOW = ("solver", "rtol", "device", "ridge")
END = ("until", "horizon", "times")
DESCENT = ("lr", "iterations", "batch")
_FILE = "experiment_file"


@dataclass(frozen=True)
class GivenOptions:
    """What a command line says about a run.

    Parameters
    ----------
    texts
        For each field whose option was typed, the text after it.
    file
        The document of `--experiment`.
    defaults
        Fields that this command takes otherwise than `Experiment` does, where nothing is said.
    names
        The fields that the command has options for.
    """

    texts: Mapping[str, str]
    file: Path | None
    defaults: Mapping[str, Any]
    names: frozenset[str]

    def experiment(self, data: str | None) -> Experiment:
        """The run: what was typed, over what the file says, over the defaults."""
        if data is None and self.file is None:
            raise click.UsageError("Missing argument 'DATASET': a name or a file, or --experiment FILE that names it.")
        return self.over(Experiment(data or "three-points", **self.defaults), data=data)

    def over(self, base: Experiment, *, data: str | None = None) -> Experiment:
        """The run: what was typed, over what the file says, over a base."""
        if self.file is not None:
            document = read_document(self.file)
            if data is not None:
                document = {name: value for name, value in document.items() if name not in ("X", "y")} | {"data": data}
            elif "data" not in document:
                raise InvalidInputError(f"`{self.file}` must give its `data`, or DATASET must be given.")
            base = Experiment.from_document(document, base=base)
            ignored = [name for name in VARIANT if name not in self.names and getattr(base, name)]
            if ignored:
                raise InvalidInputError(f"`{self.file}` must leave out `{ignored[0]}`, which this command cannot take.")
        return base.with_texts(self.texts, prefix="--")

    def is_given(self, name: str) -> bool:
        """Whether a field was typed, or is in the file."""
        return name in self.texts or (self.file is not None and name in read_document(self.file))


def run_options(
    *names: str, words: Mapping[str, str] | None = None, **defaults: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of these fields; it is called with what was typed as `run`, a `GivenOptions`.

    Parameters
    ----------
    names
        Fields of `Experiment`.
    words
        Other explanations than the fields' own.
    defaults
        Fields that the command takes otherwise than `Experiment` does.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_run(**options: Any) -> Any:
            typed = {name: options.pop(name) for name in names}
            texts = {name: text_of(value) for name, value in typed.items() if value is not None}
            return command(run=GivenOptions(texts, options.pop(_FILE), defaults, frozenset(names)), **options)

        decorated: Callable[..., Any] = click.option(
            "--experiment",
            _FILE,
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Read the run from this .toml or .json; options typed beside it win.",
        )(with_run)
        for name in reversed(names):
            own = (words or {}).get(name, "")
            decorated = _option(name, own, _shown(name, defaults))(decorated)
        return decorated

    return decorate


def experiment_of_words(words: Sequence[str]) -> Experiment:
    """The experiment that these words after `reluflow train` describe.

    >>> experiment_of_words(["three-points", "--width", "20"]).width
    20
    """

    @click.command()
    @dataset_argument()
    @run_options(*(name for name, kind in settings().items() if kind.is_option))
    def described(dataset: str | None, run: GivenOptions) -> Experiment:
        return run.experiment(dataset)

    with described.make_context("reluflow train", list(words)) as context:
        made: Experiment = described.invoke(context)
    return made


def _option(name: str, own: str, shown_default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    setting = settings()[name]
    words = own or setting.help
    if shown_default and "default" not in words.lower():
        words += f"  [default: {shown_default}]"
    option = f"--{name.replace('_', '-')}"
    if setting.metavar is None:
        return click.option(option, name, is_flag=True, default=None, help=words)
    return click.option(option, name, metavar=setting.metavar, help=words)


def _shown(name: str, defaults: Mapping[str, Any]) -> str:
    own = {field.name: field.default for field in fields(Experiment)} | dict(defaults)
    return "" if own[name] in (None, False, ()) else text_of(own[name])
