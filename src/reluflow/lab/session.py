"""One page's socket: its requests checked, each sent to the process that computes it, the latest of a kind winning."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from reluflow.errors import InvalidInputError, ReluflowError
from reluflow.lab.answers import Request, data_answer
from reluflow.lab.computing import MOST_THREADS, Computing, Job
from reluflow.lab.movie import has_ffmpeg
from reluflow.lab.state import DEFAULTS, FIELDS, VERSION, read_state
from reluflow.lab.wire import pack

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
LOADING_SECONDS = 60.0  # for reading compiled kernels into the processes
_LOOK_SECONDS = 0.3  # between two looks at how far compiling is
MOST_PAGES = 16
LONGEST_TEXT = 1 << 20
_MESSAGE_FIELDS = {"ask", "id", "tag", "state", "key", "brief"}


class Laboratory:
    """What all pages share: the computing processes and the state a page opens with."""

    def __init__(self, state: dict[str, Any], *, is_warm: bool = True) -> None:
        self.state = state
        num_threads = {"quick": 1, "ghost": 1, "slow": 1, "flow": MOST_THREADS}
        self.computing = Computing(num_threads)
        self.num_pages = 0
        self.is_ready = dict.fromkeys(num_threads, not is_warm)
        self.compiled = (0, 0)  # kernels, of how many

    async def warm_up(self) -> None:
        """Compile what is not in the cache, what the first run needs first, and load it into the processes."""
        if all(self.is_ready.values()):
            return
        compiled = asyncio.Event()
        # a thread that nobody waits for when the server ends; the processes it has started end with their pipes
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._compile, args=(lambda: loop.call_soon_threadsafe(compiled.set),), daemon=True
        ).start()
        await compiled.wait()
        await asyncio.gather(self._load("quick", "geometry"), self._load("flow", "warm"))

    def _compile(self, on_end: Callable[[], object]) -> None:
        from reluflow.warm_up import Work, warm_up

        def note(done: int, total: int) -> None:
            self.compiled = (done, total)

        in_order = (  # what is compiled, and the processes that can work when it is
            ((Work.EVENT_DRIVEN_FLOW, Work.CERTIFICATES), ("flow", "ghost")),
            ((Work.EXTREMAL_VECTORS, Work.ALIGNMENT), ("quick",)),
            (tuple(Work), ("slow",)),
        )
        try:
            for work, names in in_order:
                warm_up(*work, on_progress=note)
                self.is_ready |= dict.fromkeys(names, True)
        finally:  # what could not be compiled here is compiled where it is first called
            self.is_ready |= dict.fromkeys(self.is_ready, True)
            on_end()

    async def _load(self, name: str, what: str) -> None:
        async def ignore(kind: str, content: Any) -> None:
            return None

        request = Request(0, what, "main", read_state({}), "", LOADING_SECONDS)
        await self.computing.do(name, Job(request, ignore))

    @property
    def stage(self) -> str:
        """What a page that waits for kernels is told."""
        done, total = self.compiled
        return f"compiling the numerical kernels, once on this machine: {done} of {total}" if total else "starting"

    def close(self) -> None:
        """End the processes."""
        self.computing.close()


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
        self._is_gone = False

    async def greet(self) -> None:
        """What the page needs before it asks: the state to open with, the menus, the limits."""
        from reluflow import __version__
        from reluflow.lab import adapter

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
        head: dict[str, Any] = {"what": "error", "id": 0}
        try:
            message = _parse(text)
            head["id"] = message["id"]
            if message.get("ask") == "ping":
                await self._send(pack({"what": "pong"}))
                return
            head |= _subject(message)
            request = _request(message)
        except ReluflowError as error:
            await self._send(pack(head | {"sentence": str(error)}))
            return
        slot = (request.what + request.key, request.tag)
        if slot in self._jobs:
            self._jobs[slot].cancelled.set()
        job = Job(request, self._sender(request))
        self._jobs[slot] = job
        self._jobs = {key: other for key, other in self._jobs.items() if not other.cancelled.is_set()}
        task = asyncio.ensure_future(self._do(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._forget(slot, job))

    async def _do(self, job: Job) -> None:
        name = WORKER_OF[job.request.what]
        if name == "flow" and job.request.tag == "ghost":
            name = "ghost"  # the second run has a process of its own: neither waits for the other
        if name:
            while not self._laboratory.is_ready[name] and not job.cancelled.is_set():
                await job.send("stage", self._laboratory.stage)
                await asyncio.sleep(_LOOK_SECONDS)
            await self._laboratory.computing.do(name, job)
            if not job.cancelled.is_set():
                await job.send("done", "")
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
        from starlette.websockets import WebSocketDisconnect

        async with self._speaking:
            if self._is_gone:
                return
            try:
                await self._websocket.send_bytes(frame)
            except (WebSocketDisconnect, RuntimeError, OSError):  # it left while this was on its way
                self._is_gone = True
                self.leave()

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


def _subject(message: dict[str, Any]) -> dict[str, str]:
    """What a message is about, for the answer that refuses it: the page then knows what not to wait for."""
    named = {"of": message.get("ask"), "tag": message.get("tag", "main"), "key": message.get("key", "")}
    return {name: word for name, word in named.items() if isinstance(word, str) and len(word) <= 60}


def _request(message: dict[str, Any]) -> Request:
    what, tag, key = message.get("ask"), message.get("tag", "main"), message.get("key", "")
    if not isinstance(what, str) or what not in WORKER_OF:
        raise InvalidInputError(f"`ask` must be one of {', '.join(WORKER_OF)}.")
    if not isinstance(tag, str) or tag not in ("main", "ghost"):
        raise InvalidInputError("`tag` must be main or ghost.")
    if not isinstance(key, str) or len(key) > 60 or (what == "verdict") != bool(key):
        raise InvalidInputError("`key` must name a theorem, with `ask` verdict only.")
    is_brief = message.get("brief", False)
    if not isinstance(is_brief, bool) or (is_brief and what != "run"):
        raise InvalidInputError("`brief` must be true or false, with `ask` run only.")
    return Request(message["id"], what, tag, read_state(message.get("state")), key, SECONDS[what], is_brief)
