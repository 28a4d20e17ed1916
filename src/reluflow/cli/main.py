"""The `reluflow` command: finds the subcommand, turns our errors into one sentence and exit status 2.

A command's module is imported only when it runs, so `reluflow --help` loads nothing.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from reluflow import __version__

COMMANDS: dict[str, str] = {
    "study": "Study a dataset: where training ends, why, pictures, a report.",
    "datasets": "List the registered datasets.",
    "diagnose": "Which assumption of which paper holds, by what margin.",
    "extremal": "All extremal vectors: where neurons can align.",
    "align": "The vanishing-scale limit in closed form: where each neuron ends and when.",
    "forecast": "The whole path of the flow as its scale vanishes: its jumps, their times and levels.",
    "train": "Run the exact gradient flow, gradient descent or SGD, and certify the end.",
    "step-size": "Gradient descent beside the flow: up to which learning rate does it end where the flow does?",
    "sweep": "Thousands of runs: every combination of some values, kept and resumed.",
    "margin": "Hard-margin separators and the best margin of a two-layer network.",
    "minimum-norm": "The network of least norm that fits the labels, with its dual certificate.",
    "certify": "What a given network provably is.",
    "reproduce": "Redraw the papers' figures and tables and judge their claims.",
    "theorems": "List every encoded result of the papers.",
    "check": "Judge a theorem on a dataset: hypotheses, constants, conclusions with slack.",
    "bench": "Side-by-side timings in one run, as ratios.",
    "warm-up": "Compile all numerical kernels now, so that no command waits for them.",
    "lab": "The laboratory in the browser: drag, move through time, ask why.",
}

HELP = f"""Usage: reluflow COMMAND [ARGUMENTS]

A laboratory for how small-initialisation ReLU networks learn.

Commands:
{chr(10).join(f"  {name:<14}{summary}" for name, summary in COMMANDS.items())}

Options:
  --help        Show this message; `reluflow COMMAND --help` explains a command.
  --version     Show the version.

Example: reluflow diagnose three-points --json"""


def run(arguments: list[str] | None = None) -> NoReturn:
    """Entry point: run a command and leave with status 0 (done), 1 (a checked claim failed) or 2 (bad input)."""
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        _leave("Interrupted.", 130)


def _run(words: list[str]) -> NoReturn:
    from reluflow.errors import ReluflowError  # loads NumPy, which Ctrl-C may end as well

    try:
        with _warnings_spoken():
            status = _dispatch(words)
        sys.stdout.flush()
    except ReluflowError as error:
        _leave(str(error), 2)
    except SystemError as error:  # compiled code wraps the interruption that reaches it on its way
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            _leave("Interrupted.", 130)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; say nothing more
        sys.exit(0)
    except MemoryError:
        _leave("This needs more memory than the machine has; take fewer samples or neurons.", 2)
    except OSError as error:
        _leave(f"`{error.filename or 'a file'}` could not be read or written: {error.strerror or error}.", 2)
    sys.exit(status)


@contextmanager
def _warnings_spoken() -> Iterator[None]:
    """Say in one sentence, each once, what failed after a run, or which paper was left out, and no place in code."""
    from reluflow.after_run import StageFailed
    from reluflow.errors import BrokenPaperWarning

    said: set[str] = set()
    with warnings.catch_warnings():
        for spoken in (StageFailed, BrokenPaperWarning):
            warnings.simplefilter("always", spoken)
        shown = warnings.showwarning

        def say(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, (StageFailed, BrokenPaperWarning)):
                shown(message, category, *place, **more)
            elif str(message) not in said:
                said.add(str(message))
                print(f"Note: {message}", file=sys.stderr)

        warnings.showwarning = say
        yield


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("--help", "-h", "help"):
        print(HELP)
        return 0
    if words[0] == "--version":
        print(f"reluflow {__version__}")
        return 0
    name = words[0]
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(COMMANDS)}."
        _leave(f"`{name}` is not a command of reluflow; {hint}", 2)
    return _run_command(name, words[1:])


def _run_command(name: str, words: list[str]) -> int:
    import click

    command: click.Command = importlib.import_module(f"reluflow.cli.{name.replace('-', '_')}").command
    try:
        with command.make_context(f"reluflow {name}", words) as context:
            status = command.invoke(context)
    except click.exceptions.Exit as end:  # of --help
        return end.exit_code
    except click.UsageError as error:
        _leave(f"{error.format_message()} See: reluflow {name} --help", 2)
    return status if isinstance(status, int) else 0


def _leave(sentence: str, status: int) -> NoReturn:
    print(" ".join(sentence.split()), file=sys.stderr)
    sys.exit(status)
