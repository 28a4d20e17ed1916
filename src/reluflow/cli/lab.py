"""`reluflow lab [DATASET]`."""

from __future__ import annotations

from typing import Any

import click

from reluflow.cli.arguments import dataset_argument
from reluflow.cli.inputs import note, reading_of
from reluflow.cli.run_options import DATA, GivenOptions, run_options
from reluflow.errors import InvalidInputError


@click.command()
@dataset_argument(
    metavar="[DATASET]",
    words="A registered name, a file as for `reluflow study`, or the link of a laboratory, whole or from # on.",
)
@run_options(*DATA)
@click.option("--port", type=click.IntRange(1, 65535), help="Port on 127.0.0.1; default 8642, or any if that is taken.")
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
def command(dataset: str | None, *, run: GivenOptions, port: int | None, no_browser: bool) -> None:
    """Open the laboratory in the browser: drag samples and neurons, move through time, ask why.

    It listens on 127.0.0.1 only, under an address with a random word, and stops on Ctrl-C.

    Example: reluflow lab three-points
    """
    from reluflow.lab.server import serve

    state, fragment = _opening(dataset, run)

    def ready(url: str) -> None:
        print(f"Laboratory at {url}", flush=True)
        if not no_browser:
            import webbrowser

            webbrowser.open(url)

    serve(state, port=port, on_ready=ready, fragment=fragment)


def _opening(word: str | None, run: GivenOptions) -> tuple[dict[str, Any], str]:
    """What the page opens with: a link's own state, a described run, or the data with the settings that suit them."""
    from reluflow.data.registry import REGISTRY
    from reluflow.experiment.experiment import suggested_experiment
    from reluflow.lab.state import DEFAULTS, FIELDS, check_size, read_state, state_of

    if word is not None and word.startswith(("http://127.0.0.1", "http://localhost", "#v=")):
        _, _, fragment = word.partition("#")
        if not fragment:
            raise InvalidInputError(f"`{word[:80]}` must be a link with its state after #, got none.")
        return dict(DEFAULTS), fragment
    experiment = run.experiment("three-points" if word is None and run.file is None else word)
    data = reading_of(experiment).dataset
    check_size(data.n, data.d, 1)
    if experiment.data.partition(":")[0] in REGISTRY and not experiment.choice.standardise:
        suggested = state_of(suggested_experiment(experiment.data))
        changes = {name: suggested[name] for name in ("name", "loss", "reduction", "factor", "leak")}
        changes |= {"bias": experiment.bias, "seed": experiment.seed}
    else:
        changes = {"name": data.name[:80], "X": data.X.tolist(), "y": data.y.tolist()}
        changes["loss"] = "logistic" if data.is_binary else "square"
    if run.file is not None:
        ignored = [name for name in experiment.changed_fields() if name not in (*FIELDS, *DATA, "data", "digests")]
        if ignored:
            note(f"the laboratory has no control for {', '.join(ignored)} of {run.file}.")
        taken = (name for name in FIELDS if name not in ("name", "X", "y", "bias") and run.is_given(name))
        changes |= {name: value for name in taken if (value := state_of(experiment)[name]) is not None}
        read_state(DEFAULTS | changes)  # refuses what is out of the page's bounds
    return DEFAULTS | changes, ""
