"""The papers, once: how they are cited, titled and numbered; their keys are those of references.bib."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Paper:
    """One paper: its key, its authors as they are cited, its year, its title, and what it is about in a few words."""

    key: str
    authors: str
    year: int
    title: str
    subject: str

    @property
    def cited(self) -> str:
        """Authors, year and subject, as the generated pages head their sections."""
        return f"{self.authors} ({self.year}), {self.subject}"

    @property
    def titled(self) -> str:
        """Authors and title."""
        return f"{self.authors}, {self.title}"


BIBLIOGRAPHY: dict[str, Paper] = {
    key: Paper(key, **row)
    for key, row in tomllib.loads((files("reluflow.theory") / "bibliography.toml").read_text(encoding="utf-8")).items()
}
