"""Generated pages get their place in the navigation, and pages that a search should find first their weight."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

SHORT = {"fig": "Figure", "table": "Table"}
# Of a word on many pages the search shows first the page that explains it, and last generated and historical ones.
BOOST = {
    "your-data.md": 4.0,
    "geometry.md": 4.0,
    "vocabulary.md": 3.0,
    "questions.md": 2.0,
    "tutorial.md": 2.0,
    "vanishing-scale.md": 2.0,
    "dynamics.md": 2.0,
}
LAST = {
    "reproductions/": 0.2,
    "coverage/": 0.3,
    "evidence/": 0.2,
    "notebooks": 0.5,
    "commands/": 0.5,
    "reference/": 0.5,
}


def on_config(config: Any) -> Any:
    """Add what lies in `coverage/` and `reproductions/` below their entries in the section Papers."""
    docs = Path(config.docs_dir)
    papers = next(section["Papers"] for section in config.nav if "Papers" in section)
    for place, entry in enumerate(papers):
        if "Coverage" in entry:
            pages = sorted((docs / "coverage").glob("*.md"))
            papers[place] = {"Coverage": ["coverage.md", *({page.stem: f"coverage/{page.name}"} for page in pages)]}
        if "Reproductions" in entry:
            papers[place] = {"Reproductions": ["reproductions.md", *_figures(docs / "reproductions")]}
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> None:
    """Leave the list of headings out where wide tables need the width; set the weight of the page in the search."""
    source = page.file.src_uri
    if source.startswith("coverage/"):
        page.meta.setdefault("hide", ["toc"])
    boost = next((value for folder, value in LAST.items() if source.startswith(folder)), BOOST.get(source))
    if boost is not None:
        page.meta.setdefault("search", {"boost": boost})


def _figures(folder: Path) -> list[dict[str, Any]]:
    by_paper: dict[str, list[tuple[str, int, str]]] = {}
    for page in folder.glob("*.md"):
        paper, name = page.stem.split("-", 1)
        if (parts := re.fullmatch(r"([a-z]+)(\d+)", name)) is None:
            raise ValueError(f"`{name}` must be the name of a figure or table with its number, such as fig2.")
        kind, number = parts.groups()
        by_paper.setdefault(paper, []).append((kind, int(number), page.name))
    return [
        {paper: [{f"{SHORT[kind]} {number}": f"{folder.name}/{file}"} for kind, number, file in sorted(found)]}
        for paper, found in sorted(by_paper.items())
    ]
