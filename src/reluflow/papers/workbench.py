"""Workbench: what a long computation is given to say how far it is and to keep its pieces."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from reluflow.papers.sources import code_fingerprint
from reluflow.papers.store import ResultStore, as_plain
from reluflow.papers.typed_results import as_tree, from_tree

Found = TypeVar("Found")
Progress = Callable[[float, str], None]

_RESULTS, _SECONDS = "results", "seconds"  # what a file holds


class Workbench:
    """Computes a result once: what the store has is taken from there, what is new is kept.

    Parameters
    ----------
    name
        What is computed, such as "boursier2024/fig2".
    settings
        All the result depends on besides the code.
    code
        Fingerprint of the code.
    store
        Where results are kept; None keeps nothing.
    is_fresh
        Whether to compute again what the store has.
    progress
        Called with the share done, between 0 and 1, and a word on what is being done.
    """

    def __init__(
        self,
        name: str,
        settings: Any,
        *,
        code: str = "",
        store: ResultStore | None = None,
        is_fresh: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self._code = code
        self._store = store
        self._is_fresh = is_fresh
        self._progress = progress
        self._saved_seconds = 0.0  # spent on pieces in earlier runs

    def progress(self, share: float, words: str = "") -> None:
        """Say how far the computation is: a share between 0 and 1, and what it is doing."""
        if self._progress is not None:
            self._progress(min(max(float(share), 0.0), 1.0), words)

    def stretch(self, start: float, end: float) -> Progress:
        """A `progress` for one part of the work: its share from 0 to 1 moves the whole from `start` to `end`."""
        return lambda share, words: self.progress(start + share * (end - start), words)

    def whole(self, kind: type[Found], compute: Callable[[], Found]) -> tuple[Found, float]:
        """The complete result and the seconds of one core its computation took, now or when it was kept."""
        return self._result(self.name, kind, self.settings, compute, self._code)

    def piece(
        self,
        name: str,
        kind: type[Found],
        compute: Callable[[], Found],
        *,
        settings: Any = None,
        of: str = "",
        module: str = "",
    ) -> Found:
        """A part of the result, such as one seed, kept as soon as it is there.

        Parameters
        ----------
        name
            Which part; different parts need different names.
        kind
            The dataclass that holds it.
        compute
            Gives the part; not called if the store has it.
        settings
            All that the part depends on; by default all settings. Give fewer, and the part serves other settings too:
            one seed does not depend on how many seeds there are.
        of
            Whose part it is, such as that of runs that several figures share; by default of what is computed here.
        module
            Full name of the module whose code the part depends on; by default the code of all that is computed here.
        """
        depends_on = self.settings if settings is None else settings
        code = code_fingerprint(module) if module else self._code
        found, _ = self._result(f"{of or self.name}/{name}", kind, depends_on, compute, code)
        return found

    def _result(
        self, name: str, kind: type[Found], settings: Any, compute: Callable[[], Found], code: str
    ) -> tuple[Found, float]:
        depends_on = {"settings": as_plain(settings), "code": code}
        kept = None if self._is_fresh else self._kept(name, kind, depends_on)
        if kept is not None:
            self._saved_seconds += kept[1]
            return kept
        saved_before, began = self._saved_seconds, core_seconds()
        found = compute()
        seconds = core_seconds() - began + self._saved_seconds - saved_before
        if self._store is not None:
            self._store.save(name, depends_on, {_RESULTS: as_tree(found), _SECONDS: seconds})
        return found, seconds

    def _kept(self, name: str, kind: type[Found], depends_on: Any) -> tuple[Found, float] | None:
        """What the store has; None where that is nothing, or not of this kind any more."""
        kept = None if self._store is None else self._store.load(name, depends_on)
        try:
            return None if kept is None else (from_tree(kind, kept[_RESULTS]), float(kept[_SECONDS]))
        except (KeyError, ValueError):
            return None


def core_seconds() -> float:
    """Seconds of one core that this process and its finished children have used; unlike a clock's, whoever else works.

    >>> core_seconds() > 0.0
    True
    """
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
