"""A run as one web page that plays without a server: its states, its geometry, its events, and what is said of them."""

from __future__ import annotations

import base64
import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reluflow.errors import InvalidInputError
from reluflow.lab.joined import joined, page_text
from reluflow.plain_values import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reluflow.certificates.limits.certified_limit import CertifiedLimit
    from reluflow.data.dataset import Dataset
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.trajectory import Snapshot, Trajectory

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
TITLE, DATA, RUN, LIMIT, HELD = "@TITLE@", "@DATA@", "@RUN@", "@LIMIT@", "@HELD@"  # what a run puts into the shell


def shell() -> str:
    """The page without a run; the laboratory's button fills the same one."""
    script = joined("saved.js").replace("</", "<\\/")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{TITLE} · reluflow</title>
<style>{page_text("style.css")}</style>
</head>
<body class="is-saved">
<header><h1>{TITLE} <span>reluflow</span></h1></header>
<main><section id="viewer" aria-label="The run"></section><section id="says" aria-label="Findings"></section></main>
<noscript><p>The slider needs JavaScript.</p></noscript>
<script type="text/plain" id="data">{DATA}</script>
<script type="text/plain" id="run">{RUN}</script>
<script type="application/json" id="limit">{LIMIT}</script>
<script type="application/json" id="held">{HELD}</script>
<script type="module">
{script}
modules["saved.js"].showSavedPage();
</script>
</body>
</html>
"""


def page_of(
    trajectory: Trajectory,
    path: str | Path | None = None,
    *,
    title: str | None = None,
    limit: CertifiedLimit | None = None,
    states: Sequence[Snapshot] = (),
    held_out: Dataset | None = None,
) -> str:
    """One self-contained page of a run, written to `path` where one is given.

    Parameters
    ----------
    trajectory
        A finished run. Its snapshots are shown, or its frames; a flow that kept neither is followed once more.
    path
        Where to write it.
    title
        By default the name of the dataset.
    limit
        What `certified_limit(trajectory)` said, to be said on the page too.
    states
        States of the run to show, where they are kept apart from it.
    held_out
        Samples that it was not trained on.
    """
    from reluflow.lab.adapter import limit_words
    from reluflow.lab.widget import frames_of

    data, run = frames_of(trajectory, states)
    words: Any = None if limit is None else plain(limit_words(limit))
    if path is not None and Path(path).is_dir():
        raise InvalidInputError(f"`path` must be a file to write, got the folder {path}.")
    page = shell()
    for mark, text in (
        (TITLE, html.escape(title or trajectory.problem.dataset.name or "a run")),
        (DATA, base64.b64encode(data).decode()),
        (RUN, base64.b64encode(run).decode()),
        (LIMIT, json.dumps(words).replace("<", "\\u003c")),
        (HELD, json.dumps(_held_out(trajectory.problem, held_out)).replace("<", "\\u003c")),
    ):
        page = page.replace(mark, text)
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page


def _held_out(problem: TrainingProblem, samples: Dataset | None) -> dict[str, Any] | None:
    """Samples held out and the objective they are judged by, as the scripts of the page read them."""
    if samples is None:
        return None
    trained, loss = problem.dataset, problem.loss
    if samples.d != trained.d or samples.classes != trained.classes or samples.y.ndim > 1:
        raise InvalidInputError(
            f"`held_out` must have one label for each sample, of the kind trained on, and {trained.d} inputs, got "
            f"{samples!r}."
        )
    objective = {"loss": loss.name, "factor": loss.factor, "reduction": loss.reduction}
    return {"X": samples.X.tolist(), "y": samples.y.tolist(), **objective}
