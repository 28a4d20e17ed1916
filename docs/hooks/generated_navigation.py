"""The pages per figure and per paper, which are generated, get their place in the navigation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

SHORT = {"fig": "Figure", "table": "Table"}


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
    """Leave the list of headings out where wide tables need the room and there is next to nothing to list."""
    if page.file.src_uri == "errata.md" or page.file.src_uri.startswith("coverage/"):
        page.meta.setdefault("hide", ["toc"])


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
