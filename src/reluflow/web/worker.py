"""The process that computes: it takes one request at a time, and looks for a cancellation after every step."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from typing import Any

Message = tuple[int, str, Any]  # job, kind (frame, stage, error, done), content
_BEHIND_THE_PAGE = 5  # niceness: while a sample is dragged, what is drawn behind the pointer goes first


class _Cancelled(BaseException):
    """The page asked for something newer."""


def work(pipe: Connection) -> None:
    """Answer requests from the server until it goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's business
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # and a terminal sends it to the whole group
    if hasattr(os, "nice"):
        os.nice(_BEHIND_THE_PAGE)
    early: list[Message] = []  # asked for while another request was being worked on
    while True:
        try:
            job, kind, request = early.pop(0) if early else pipe.recv()
        except (EOFError, OSError):
            return
        if kind == "cancel":
            continue  # it was answered already
        try:
            _work_on(job, request, pipe, early)
        except _Cancelled:
            pipe.send((job, "done", None))
        except (BrokenPipeError, EOFError):
            return


def _work_on(job: int, request: Any, pipe: Connection, early: list[Message]) -> None:
    from reluflow.compilation.clock import computing_time
    from reluflow.errors import ReluflowError
    from reluflow.web.answers import Line, answer

    began = computing_time()

    def look() -> None:
        while pipe.poll():
            message = pipe.recv()
            if message[:2] == (job, "cancel"):
                raise _Cancelled
            early.append(message)

    def step(_: Any) -> None:
        look()
        if computing_time() - began > request.seconds:
            raise KeyboardInterrupt  # the run keeps what was done and says that it was interrupted

    def stage(words: str) -> None:
        look()
        pipe.send((job, "stage", words))

    def frame(content: bytes) -> None:
        pipe.send((job, "frame", content))
        look()

    try:
        answer(request, Line(step, stage, frame))
    except ReluflowError as error:
        pipe.send((job, "error", str(error)))
    except MemoryError:
        pipe.send((job, "error", "This needs more memory than the machine has; take fewer samples or neurons."))
    except KeyboardInterrupt:
        pipe.send((job, "error", f"This took longer than {request.seconds:g} seconds; the command line has no limit."))
    pipe.send((job, "done", None))
