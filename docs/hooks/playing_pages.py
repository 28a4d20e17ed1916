"""Runs that play within a page: `<!-- play: name -->` becomes a frame, whose page is made when the site is built.

The names are those of the scenes of the laboratory's tour and of the runs below; `<!-- play every scene -->` becomes
all scenes.
"""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reluflow.lab.scenes import TourScene

MARK = re.compile(r"^<!-- play(?:: ([a-z-]+)| every scene) -->$", flags=re.M)
FOLDER = "plays"
RUNS = {
    "three-points-wide": {"name": "three-points", "width": 200, "scale": "1e-3"},
    "three-points-tiny-start": {"name": "three-points", "width": 60, "scale": "1e-30"},
    # the least-squares line as one neuron, and a hundredth of the neuron that the certificate of the limit names
    "three-points-set-free": {
        "name": "three-points",
        "neurons": [[-0.07653, 0.80042, 0.80407], [0.00299059, 0.0014953, 0.00334358]],
        "width": 2,
        "scale": "1",
    },
    "three-point-box": {"name": "three-point-box", "width": 60, "scale": "1e-6"},
    "three-points-large-start": {"name": "three-points", "width": 60, "scale": "0.1", "seed": 1},
}
TITLES = {
    "three-points-wide": "Three points, 200 neurons",
    "three-points-tiny-start": "Three points, 60 neurons that start at 1e-30",
    "three-points-set-free": "The line, and the neuron that was missing",
    "three-point-box": "Three points inside the box of Theorem 2",
    "three-points-large-start": "Three points, a larger start",
}
_asked: set[str] = set()


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Put frames where a page asks for runs."""
    root = "../" * page.file.src_uri.count("/")
    return MARK.sub(lambda found: _frame(found[1], root) if found[1] else _all_scenes(root), markdown)


def on_post_build(*, config: Any) -> None:
    """Write the pages that were asked for."""
    folder = Path(config.site_dir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(_asked):
        (folder / f"{name}.html").write_text(playing_page(name), encoding="utf-8")


@cache
def playing_page(name: str) -> str:
    """The page of a run, self-contained; a site that is served again and again computes it once."""
    from reluflow.certificates.limits.certified_limit import certified_limit
    from reluflow.lab.saved_page import page_of

    run = scene_of(name)
    trajectory = run.trajectory()
    return page_of(trajectory, title=run.title, limit=certified_limit(trajectory))


def scene_of(name: str) -> TourScene:
    """A scene of the tour, or one of the runs above."""
    from reluflow.lab.scenes import TourScene, scenes

    found = next((scene for scene in scenes() if scene.name == name), None)
    return found or TourScene(name=name, title=TITLES[name], paper="", words="", act="", run=RUNS[name])


def _frame(name: str, root: str) -> str:
    from reluflow.lab.scenes import scenes

    titles = {**TITLES, **{scene.name: scene.title for scene in scenes()}}
    if name not in titles:
        raise ValueError(f"`play` must name one of {', '.join(sorted(titles))}, got {name}.")
    _asked.add(name)
    address, title = f"{root}{FOLDER}/{name}.html", html.escape(titles[name])
    return (
        f'<figure class="play"><iframe src="{address}" title="{title}" loading="lazy"></iframe>'
        f'<figcaption>{title}. Play, slide, point, click, drag; <a href="{address}">on a page of its own</a>.'
        "</figcaption></figure>"
    )


def _all_scenes(root: str) -> str:
    from reluflow.lab.scenes import scenes

    return "\n\n".join(
        f"## {place}. {scene.title}\n\n*{scene.paper}*\n\n{scene.words}\n\n{_frame(scene.name, root)}\n\n"
        f"In the laboratory: {scene.act[0].lower()}{scene.act[1:]}"
        for place, scene in enumerate(scenes())
    )
