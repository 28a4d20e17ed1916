"""Progress on standard error, on a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stage_spinner() -> Iterator[Callable[[str], None]]:
    """Give a function that names the stage under way; it shows nothing where standard error is not a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda name: None
        return
    with console.status("starting") as status:
        yield lambda name: status.update(name)
