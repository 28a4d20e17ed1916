"""GrowingReport: report.html from the first finding on, written anew as pieces come, each time whole."""

from __future__ import annotations

import time
from pathlib import Path

from reluflow.study.pictures import Picture, draw_study
from reluflow.study.report import write_report
from reluflow.study.story import Study

SECONDS_BETWEEN = 1.5  # of two versions, unless there is a new picture


class GrowingReport:
    """The report of a study under way.

    Parameters
    ----------
    folder
        Where it goes, with its pictures.
    command
        The exact command that reproduces it.

    Attributes
    ----------
    path
        Of the report; a reader sees the version before or the version after, never half of one.
    pictures
        Drawn so far.
    """

    def __init__(self, folder: Path, *, command: str) -> None:
        self.path = folder / "report.html"
        self.pictures: list[Picture] = []
        self._folder = folder
        self._command = command
        self._last = -SECONDS_BETWEEN

    def update(self, found: Study) -> None:
        """Draw what is new, and write the report unless it was written a moment ago and more is to come."""
        before = len(self.pictures)
        self.pictures = draw_study(found, self._folder, done=self.pictures)
        is_due = time.monotonic() - self._last >= SECONDS_BETWEEN
        if is_due or not found.pending or len(self.pictures) > before:
            write_report(found, self.pictures, self.path, command=self._command)
            self._last = time.monotonic()
