"""One page's socket: its requests checked, each sent to the process that computes it, the latest of a kind winning."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reluflow.errors import InvalidInputError, ReluflowError
from reluflow.web.answers import Request, data_answer
from reluflow.web.movie import has_ffmpeg
from reluflow.web.pool import ComputingProcess, Job
from reluflow.web.state import DEFAULTS, FIELDS, VERSION, read_state
from reluflow.web.wire import pack

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

WORKER_OF = {
    "data": "",
    "geometry": "quick",
    "diagnosis": "quick",
    "run": "flow",
    "movie": "slow",
    "verdict": "slow",
    "report": "slow",
}
SECONDS = {
    "data": 5.0,
    "geometry": 30.0,
    "diagnosis": 20.0,
    "run": 20.0,
    "movie": 60.0,
    "verdict": 60.0,
    "report": 120.0,
}
FIRST_SECONDS = 600.0  # the first run on a machine compiles the kernels
MOST_PAGES = 16
LONGEST_TEXT = 1 << 20
_WARMING: tuple[dict[str, Any], ...] = (
    {"width": 4},
    {"name": "min-toy", "loss": "logistic", "width": 4},
    {"name": "lyu-orthogonal", "loss": "logistic", "leak": 0.5, "width": 4},
    {  # many samples have a solver, and so machine code, of their own
        "name": "warm",
        "X": [[math.cos(1 + 0.5 * k), math.sin(1 + 0.5 * k)] for k in range(12)],
        "y": [float(k % 3) for k in range(12)],
        "width": 130,
        "scale": "0.1",
    },
)
_MESSAGE_FIELDS = {"ask", "id", "tag", "state", "key"}


class Laboratory:
    """What all pages share: the computing processes and the state a page opens with."""

    def __init__(self, state: dict[str, Any], *, is_warm: bool = True) -> None:
        self.state = state
        self.workers = {name: ComputingProcess() for name in ("quick", "flow", "slow")}
        self.num_pages = 0
        self.is_ready = {"quick": False, "flow": False, "slow": True}
        self._warms = is_warm

    async def warm_up(self) -> None:
        """Load the machine code before the first page needs it; on a new machine it is compiled here, once."""
        if not self._warms:
            self.is_ready |= {"quick": True, "flow": True}
            return

        async def ignore(kind: str, content: Any) -> None:
            return None

        async def warm(name: str, what: str) -> None:
            for settings in _WARMING:
                request = Request(0, what, "main", read_state(settings), "", FIRST_SECONDS)
                await self.workers[name].do(Job(request, ignore))
            self.is_ready[name] = True

        await asyncio.gather(warm("quick", "geometry"), warm("flow", "run"))

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers.values():
            worker.end()


async def serve_socket(websocket: WebSocket, laboratory: Laboratory) -> None:
    """Talk to one page until it leaves; what it still waits for is then cancelled."""
    await websocket.accept()
    if laboratory.num_pages >= MOST_PAGES:
        await websocket.close(1013)
        return
    laboratory.num_pages += 1
    session = Session(websocket, laboratory)
    try:
        await session.greet()
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            await session.take(message.get("text"))
    except (RuntimeError, OSError):
        return  # the page left while something was being sent to it
    finally:
        laboratory.num_pages -= 1
        session.leave()


class Session:
    """The requests of one page."""

    def __init__(self, websocket: WebSocket, laboratory: Laboratory) -> None:
        self._websocket, self._laboratory = websocket, laboratory
        self._jobs: dict[tuple[str, str], Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._speaking = asyncio.Lock()

    async def greet(self) -> None:
        """What the page needs before it asks: the state to open with, the menus, the limits."""
        from reluflow import __version__
        from reluflow.web import adapter

        await self._send(
            pack(
                {
                    "what": "hello",
                    "version": VERSION,
                    "reluflow": __version__,
                    "state": self._laboratory.state,
                    "defaults": DEFAULTS,
                    "fields": FIELDS,
                    "datasets": adapter.catalogue(),
                    "schemes": adapter.schemes(),
                    "ready": self._laboratory.is_ready,
                    "ffmpeg": has_ffmpeg(),
                }
            )
        )

    async def take(self, text: str | None) -> None:
        """Read one message and start what it asks for."""
        number = 0
        try:
            message = _parse(text)
            number = message["id"]
            request = _request(message)
        except ReluflowError as error:
            await self._send(pack({"what": "error", "id": number, "sentence": str(error)}))
            return
        slot = (request.what + request.key, request.tag)
        if slot in self._jobs:
            self._jobs[slot].cancelled.set()
        job = Job(request, self._sender(request))
        self._jobs[slot] = job
        self._jobs = {key: kept for key, kept in self._jobs.items() if not kept.cancelled.is_set()}
        task = asyncio.ensure_future(self._do(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._forget(slot, job))

    async def _do(self, job: Job) -> None:
        name = WORKER_OF[job.request.what]
        if name:
            if not self._laboratory.is_ready[name]:
                await job.send("stage", "loading the machine code (compiled once on a new machine)")
                job.request = replace(job.request, seconds=max(job.request.seconds, FIRST_SECONDS))
            await self._laboratory.workers[name].do(job)
            return
        head = {"id": job.request.id, "what": job.request.what, "tag": job.request.tag}
        try:
            frame = await asyncio.to_thread(lambda: pack(*data_answer(job.request, head)))
        except ReluflowError as error:
            await job.send("error", str(error))
            return
        if not job.cancelled.is_set():
            await job.send("frame", frame)

    def _sender(self, request: Request) -> Any:
        head = {"id": request.id, "tag": request.tag, "of": request.what, "key": request.key}

        async def send(kind: str, content: Any) -> None:
            await self._send(content if kind == "frame" else pack({**head, "what": kind, "sentence": content}))

        return send

    async def _send(self, frame: bytes) -> None:
        async with self._speaking:
            await self._websocket.send_bytes(frame)

    def _forget(self, slot: tuple[str, str], job: Job) -> None:
        if self._jobs.get(slot) is job:
            del self._jobs[slot]

    def leave(self) -> None:
        """Cancel everything the page waits for."""
        for job in self._jobs.values():
            job.cancelled.set()


def _parse(text: str | None) -> dict[str, Any]:
    if text is None or len(text) > LONGEST_TEXT:
        raise InvalidInputError("a message must be JSON text of at most 1 MB.")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInputError("a message must be one JSON object.") from None
    if not isinstance(message, dict) or not set(message) <= _MESSAGE_FIELDS:
        raise InvalidInputError(f"a message must be an object with {', '.join(sorted(_MESSAGE_FIELDS))}.")
    number = message.get("id")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**53:
        raise InvalidInputError("`id` must be a whole number.")
    return message


def _request(message: dict[str, Any]) -> Request:
    what, tag, key = message.get("ask"), message.get("tag", "main"), message.get("key", "")
    if not isinstance(what, str) or what not in WORKER_OF:
        raise InvalidInputError(f"`ask` must be one of {', '.join(WORKER_OF)}.")
    if not isinstance(tag, str) or tag not in ("main", "ghost"):
        raise InvalidInputError("`tag` must be main or ghost.")
    if not isinstance(key, str) or len(key) > 60 or (what == "verdict") != bool(key):
        raise InvalidInputError("`key` must name a theorem, with `ask` verdict only.")
    return Request(message["id"], what, tag, read_state(message.get("state")), key, SECONDS[what])
