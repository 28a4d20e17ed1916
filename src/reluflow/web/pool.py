"""The server's side of the computing processes: kept warm, one request at a time, stopped when they overrun."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from reluflow.sweep.executors.worker_process import ONE_THREAD
from reluflow.web.answers import Request
from reluflow.web.worker import Message, work

GRACE = 6.0  # seconds a process may go on after it was told to stop, before it is ended
LONGEST = 60.0  # seconds after which a process that does not look up is ended
_numbers = itertools.count(1)


@dataclass(eq=False)
class Job:
    """A request on its way: where its frames go, and whether it is still wanted."""

    request: Request
    send: Callable[[str, Any], Awaitable[None]]
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    number: int = field(default_factory=lambda: next(_numbers))


class ComputingProcess:
    """One process that computes, started when first needed and again after it had to be ended.

    Parameters
    ----------
    num_threads
        That machine code may share its work between, where there are so many cores.
    """

    def __init__(self, num_threads: int = 1) -> None:
        self._num_threads = min(num_threads, os.cpu_count() or 1)
        self._turn = asyncio.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()

    async def do(self, job: Job) -> None:
        """Wait for the turn of a job, compute it, hand its frames on; latest wins, so a cancelled one is skipped."""
        async with self._turn:
            if job.cancelled.is_set():
                return
            self._start()
            assert self._pipe is not None
            self._pipe.send((job.number, "ask", job.request))
            await self._listen(job)

    async def _listen(self, job: Job) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + max(job.request.seconds, LONGEST) + GRACE
        was_told = False
        waiting = asyncio.ensure_future(job.cancelled.wait())
        try:
            while True:
                arriving = asyncio.ensure_future(self._inbox.get())
                awaited: set[asyncio.Future[Any]] = {arriving} if was_told else {arriving, waiting}
                await asyncio.wait(
                    awaited, timeout=max(0.0, deadline - loop.time()), return_when=asyncio.FIRST_COMPLETED
                )
                if not arriving.done():
                    arriving.cancel()
                    if job.cancelled.is_set() and not was_told and self._pipe is not None:
                        was_told = True
                        self._pipe.send((job.number, "cancel", None))
                        deadline = min(deadline, loop.time() + GRACE)
                        continue
                    self.end()
                    if not job.cancelled.is_set():
                        words = f"This took longer than {job.request.seconds:g} seconds and was stopped; "
                        await job.send("error", words + "the command line has no limit.")
                    return
                number, kind, content = arriving.result()
                if kind == "gone":
                    self.end()
                    if not job.cancelled.is_set():
                        await job.send("error", "The computing process ended; ask again, with less if it was too much.")
                    return
                if number != job.number:
                    continue
                if kind == "done":
                    return
                if not job.cancelled.is_set():
                    await job.send(kind, content)
        finally:
            waiting.cancel()

    def _start(self) -> None:
        if self._process is not None and self._process.is_alive():
            return
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs,), daemon=True, name="reluflow laboratory")
        with _threads(self._num_threads):
            self._process.start()
        theirs.close()
        self._pipe, self._inbox = ours, asyncio.Queue()
        thread = threading.Thread(target=_forward, args=(ours, asyncio.get_running_loop(), self._inbox), daemon=True)
        thread.start()

    def end(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.join(2.0)
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


@contextmanager
def _threads(num_compiled: int) -> Iterator[None]:
    """Processes started within multiply matrices in one thread, as ours are small, and run machine code in so many."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD, NUMBA_NUM_THREADS=str(num_compiled))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _forward(pipe: Connection, loop: asyncio.AbstractEventLoop, inbox: asyncio.Queue[Message]) -> None:
    """Carry messages from the process to the server's loop, until the process is gone."""

    def put(message: Message) -> bool:
        try:
            loop.call_soon_threadsafe(inbox.put_nowait, message)
        except RuntimeError:  # the loop has ended with the server
            return False
        return True

    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError, TypeError):  # TypeError: closed by `end` while waiting
            put((0, "gone", None))
            return
        if not put(message):
            return
