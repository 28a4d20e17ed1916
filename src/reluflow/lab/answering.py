"""Answering a request in a worker process, which looks for a cancellation after every step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from reluflow.budget import Budget, counting_work
from reluflow.errors import ReluflowError
from reluflow.lab.answers import Line, Request, answer
from reluflow.threads import at_most_threads
from reluflow.workers.serving import Channel

Message = tuple[str, Any]  # kind (frame, stage, error), content
_NICENESS = 5  # while a sample is dragged, the browser that draws it goes first


class _Cancelled(BaseException):
    """The page asked for something newer."""


@contextmanager
def low_priority() -> Iterator[None]:
    """Set up a worker process of the laboratory."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    yield


def answer_request(channel: Channel, request: Request, num_threads: int) -> None:
    """Answer a request, in messages of the channel; returns early where it is cancelled."""

    def look() -> None:
        if channel.should_stop():
            raise _Cancelled

    def step(_: Any) -> None:
        look()
        if budget.is_spent:
            raise KeyboardInterrupt  # the run keeps what was done and says that it was interrupted

    def stage(words: str) -> None:
        look()
        channel.send(("stage", words))

    def frame(content: bytes) -> None:
        channel.send(("frame", content))
        look()

    try:
        with at_most_threads(num_threads), counting_work():
            budget = Budget(request.seconds)
            answer(request, Line(step, stage, frame))
    except _Cancelled:
        return
    except ReluflowError as error:
        channel.send(("error", str(error)))
    except MemoryError:
        channel.send(("error", "This needs more memory than the machine has; take fewer samples or neurons."))
    except KeyboardInterrupt:
        words = f"This took longer than {request.seconds:g} seconds; the command line has no limit."
        channel.send(("error", words))
