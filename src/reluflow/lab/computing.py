"""The server's side of computing: one request at a time in each worker process, stopped when it overruns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from reluflow.budget import SLOWEST
from reluflow.lab.answering import Message, answer_request, low_priority
from reluflow.lab.answers import Request
from reluflow.lab.warming import load_machine_code
from reluflow.workers.pool import WorkerDied, WorkerPool
from reluflow.workers.starting import ONE_THREAD, ProcessStarter, available_cores, process_starter

GRACE = 6.0  # seconds a process may go on after it was asked to stop, before it is ended
LONGEST = 60.0  # seconds after which a process that does not look up is ended
IDLE = 300.0  # seconds after which a process without a request leaves; the next one is forked with its code loaded
MOST_THREADS = 2  # that machine code may share its work between


@dataclass(eq=False)
class Job:
    """A request on its way: where its frames go, and whether it is still wanted."""

    request: Request
    send: Callable[[str, Any], Awaitable[None]]
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)


class Computing:
    """The worker processes of a laboratory, started when first needed: one for each kind of request, by name."""

    def __init__(self, num_threads: dict[str, int]) -> None:
        self._num_threads = {name: min(number, available_cores()) for name, number in num_threads.items()}
        self._turns = {name: asyncio.Lock() for name in num_threads}
        self._pools: dict[str, WorkerPool] = {}
        self._starter: ProcessStarter | None = None

    async def do(self, name: str, job: Job) -> None:
        """Wait for the turn of a job, compute it, hand its frames on; latest wins, so a cancelled one is skipped."""
        async with self._turns[name]:
            if not job.cancelled.is_set():
                await self._do(name, job)

    async def _do(self, name: str, job: Job) -> None:
        loop = asyncio.get_running_loop()
        inbox: asyncio.Queue[Message | None] = asyncio.Queue()

        def put(message: Message | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(inbox.put_nowait, message)

        task = self._pool(name).submit(answer_request, job.request, self._num_threads[name], on_message=put)
        task.future.add_done_callback(lambda future: put(None))
        cancelling = asyncio.ensure_future(job.cancelled.wait())
        deadline = loop.time() + max(SLOWEST * job.request.seconds, LONGEST) + GRACE
        was_asked = False
        try:
            while True:
                arriving = asyncio.ensure_future(inbox.get())
                awaited: set[asyncio.Future[Any]] = {arriving} if was_asked else {arriving, cancelling}
                seconds = max(0.0, deadline - loop.time())
                await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if arriving.done():
                    message = arriving.result()
                    if message is None:
                        break
                    if not job.cancelled.is_set():
                        await job.send(*message)
                    continue
                arriving.cancel()
                if job.cancelled.is_set() and not was_asked:
                    was_asked = True
                    deadline = min(deadline, loop.time() + GRACE)
                    task.stop()
                    continue
                task.kill()
                if not job.cancelled.is_set():
                    words = f"This took longer than {job.request.seconds:g} seconds and was stopped; "
                    await job.send("error", words + "the command line has no limit.")
                return
        finally:
            cancelling.cancel()
        error = None if task.future.cancelled() else task.future.exception()
        if isinstance(error, WorkerDied) and not job.cancelled.is_set():
            await job.send("error", "The computing process ended; ask again, with less if it was too much.")

    def _pool(self, name: str) -> WorkerPool:
        if self._starter is None:
            environment = {**ONE_THREAD, "NUMBA_NUM_THREADS": str(max(self._num_threads.values()))}
            self._starter = process_starter(load_machine_code, environment=environment)
        if name not in self._pools:
            self._pools[name] = WorkerPool(self._starter, 1, setup=low_priority, idle_seconds=IDLE)
        return self._pools[name]

    def close(self) -> None:
        """End the processes."""
        for pool in self._pools.values():
            pool.close()
        if self._starter is not None:
            self._starter.close()
