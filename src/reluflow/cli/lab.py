"""`reluflow lab [DATASET]`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from reluflow.cli.inputs import dataset_from
from reluflow.errors import InvalidInputError

LabDataset = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A registered name, a file as for `reluflow study`, or the link of a laboratory, whole or from # on.",
    ),
]


def command(
    dataset: LabDataset = "three-points",
    *,
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65535, help="Port on 127.0.0.1; default 8642, or any if that is taken."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open nothing.")] = False,
) -> None:
    """Open the laboratory in the browser: drag samples and neurons, move through time, ask why.

    It listens on 127.0.0.1 only, under an address with a random word, and stops on Ctrl-C.

    Example: reluflow lab three-points
    """
    from reluflow.web.server import serve

    state, fragment = _opening(dataset)

    def ready(url: str) -> None:
        print(f"Laboratory at {url}", flush=True)
        if not no_browser:
            import webbrowser

            webbrowser.open(url)

    serve(state, port=port, on_ready=ready, fragment=fragment)


def _opening(word: str) -> tuple[dict[str, Any], str]:
    """What the page opens with: a link's own state, or the dataset with the settings that suit it."""
    from reluflow.data.registry import REGISTRY, suggested_settings
    from reluflow.web.state import DEFAULTS, check_size

    if word.startswith(("http://127.0.0.1", "http://localhost", "#v=")):
        _, _, fragment = word.partition("#")
        if not fragment:
            raise InvalidInputError(f"`{word[:80]}` must be a link with its state after #, got none.")
        return dict(DEFAULTS), fragment
    data = dataset_from(word)
    check_size(data.n, data.d, 1)
    if word.partition(":")[0] in REGISTRY:
        settings = suggested_settings(word)
        changes: dict[str, Any] = {
            "name": word,
            "loss": settings.loss,
            "reduction": settings.reduction,
            "factor": settings.factor,
            "leak": settings.leak or 0.0,
        }
    else:
        changes = {"name": data.name[:80], "X": data.X.tolist(), "y": data.y.tolist()}
        changes["loss"] = "logistic" if data.is_binary else "square"
    return DEFAULTS | changes, ""
