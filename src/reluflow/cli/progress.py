"""Progress on standard error, on a terminal only."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reluflow.interruption import interrupt_between_steps

if TYPE_CHECKING:
    from reluflow.dynamics.solver import AbstractRun
    from reluflow.sweep.run import SweepState
    from reluflow.warm_up import Work


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


@contextmanager
def stage_bar() -> Iterator[tuple[Callable[[str], None], Callable[[float], None]]]:
    """Give two functions, for what is being done and for the share that is done, shown as a bar with the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda name: None, lambda share: None
        return
    columns = (SpinnerColumn(), BarColumn(), TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=console, transient=True) as progress:
        task = progress.add_task("starting", total=1.0)
        yield (
            lambda name: progress.update(task, description=name),
            lambda share: progress.update(task, completed=share),
        )


@contextmanager
def share_bar(words: str) -> Iterator[Callable[[float], None] | None]:
    """Give a function that shows the share of the work done with the time left; None where there is no terminal.

    The bar appears with the first word about the progress, so that quick work shows nothing.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(words, total=1.0, visible=False)
        yield lambda share: progress.update(task, completed=share, visible=True)


@contextmanager
def compiling_bar() -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how many kernels of how many are compiled, with the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("compiling numerical kernels, once per machine", total=None, visible=False)
        yield lambda done, total: progress.update(task, completed=done, total=total, visible=True)


def compile_first(*kinds: Work) -> None:
    """Compile what the work ahead needs, behind a bar; nothing where it was compiled on this machine before."""
    from reluflow.warm_up import warm_up

    with compiling_bar() as show:
        warm_up(*kinds, on_progress=show)


@contextmanager
def training_bar(end: float | None) -> Iterator[Callable[[AbstractRun], None]]:
    """Give a callback for `train` that shows how far it is, on a terminal, and lets Ctrl-C through between two steps.

    With a known `end` of the training time it is a bar with the time left, else a spinner with time, steps and loss.
    """
    with interrupt_between_steps() as let_through, _bar(end) as show:

        def after_step(run: AbstractRun) -> None:
            let_through()
            show(run)

        yield after_step


@contextmanager
def _bar(end: float | None) -> Iterator[Callable[[AbstractRun], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda run: None
        return
    parts = [SpinnerColumn(), TextColumn("{task.description}")]
    bar = [BarColumn(), TimeRemainingColumn()] if end is not None else []
    with Progress(*parts, *bar, console=console, transient=True) as progress:
        task = progress.add_task("training", total=end)
        last = 0.0

        def show(run: AbstractRun) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last > 0.2:
                last = now
                clock = f"t = {run.time:.5g}" if math.isfinite(run.time) else f"log t = {run.log_time:.5g}"
                words = f"{clock}, {run.steps} steps, loss {run.loss():.5g}; Ctrl-C keeps what is done"
                progress.update(task, description=words, completed=min(run.time, end) if end is not None else None)

        yield show


@contextmanager
def sweep_bar() -> Iterator[Callable[[SweepState], None]]:
    """A bar with the rate, the time left and the failures so far; on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda state: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, speed_estimate_period=120) as progress:
        task = progress.add_task("starting", total=None)

        def show(state: SweepState) -> None:
            rate = state.computed / state.seconds if state.seconds > 0 else 0.0
            words = f"{rate:.3g} a second, {state.failed} failed; Ctrl-C keeps what is done"
            progress.update(task, total=state.cases, completed=state.finished, description=words)

        yield show
