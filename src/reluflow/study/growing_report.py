"""GrowingReport: report.html from the first finding on, written anew as pieces come, each time whole."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from reluflow.after_run import Stage
from reluflow.data.atomic import replacing
from reluflow.study.pictures import Drawing, Picture, drawings_of
from reluflow.study.playing import playing_page
from reluflow.study.report import write_report
from reluflow.study.whole_study import Study

SECONDS_BETWEEN = 1.5  # of two versions at least; a browser looks again every three


class GrowingReport:
    """The report of a study under way.

    Parameters
    ----------
    folder
        Where it goes, with its pictures.
    command
        The exact command that reproduces it.
    laboratory
        The command that opens the data in the laboratory.
    is_drawn_aside
        Whether pictures are drawn in a thread of their own, so that whoever waits for other processes can go on handing
        out work; not where this process computes as well, for threads of compiled code do not bear each other.

    Attributes
    ----------
    path
        Of the report; a reader sees the version before or the version after, never half of one.
    pictures
        Drawn so far.
    page
        run.html, the run as a page that plays, beside the report; None while there is none.
    failure
        Why the last version could not be written; empty where it could.
    """

    def __init__(self, folder: Path, *, command: str, laboratory: str = "", is_drawn_aside: bool = False) -> None:
        self.path = folder / "report.html"
        self.pictures: list[Picture] = []
        self.page: Path | None = None
        self._folder = folder
        self._command = command
        self._laboratory = laboratory
        self._last = -SECONDS_BETWEEN
        self._written: Study | None = None
        self._artist = ThreadPoolExecutor(1, "drawing") if is_drawn_aside else None
        self._asked: dict[str, Future[Picture | None]] = {}
        self.failure = ""

    def update(self, found: Study) -> None:
        """Draw what is new, and write the report unless it was written a moment ago and more is to come."""
        with Stage(f"Writing {self.path}") as writing:
            self._update(found)
        self.failure = writing.failure

    def _update(self, found: Study) -> None:
        drawings = drawings_of(found)
        for drawing in drawings:
            if drawing.name not in self._asked:
                self._asked[drawing.name] = self._ask(drawing)
        asked = [self._asked[drawing.name] for drawing in drawings]
        pictures = [picture.result() for picture in asked if picture.done() or not found.pending]
        self.pictures = [picture for picture in pictures if picture is not None]
        is_due = time.monotonic() - self._last >= SECONDS_BETWEEN
        if (is_due or not found.pending) and found is not self._written:
            page = self._page_of(found)
            write_report(found, self.pictures, self.path, command=self._command, laboratory=self._laboratory, page=page)
            self._last = time.monotonic()
            self._written = found

    def _page_of(self, found: Study) -> str:
        """The name of the page that plays, written when the run is known; empty where there is none."""
        if self.page is None and found.flow is not None and (text := playing_page(found.flow).text):
            path = self._folder / "run.html"
            with Stage(f"Writing {path}"):
                with replacing(path) as stream:
                    stream.write(text.encode())
                self.page = path
        return "" if self.page is None else self.page.name

    def _ask(self, drawing: Drawing) -> Future[Picture | None]:
        if self._artist is not None:
            return self._artist.submit(self._draw, drawing)
        finished: Future[Picture | None] = Future()
        finished.set_result(self._draw(drawing))
        return finished

    def _draw(self, drawing: Drawing) -> Picture | None:
        """The picture, or None where drawing it fails; the report is written without it."""
        with Stage(f"Drawing {drawing.name}.png"):
            return drawing.drawn_in(self._folder)
        return None
