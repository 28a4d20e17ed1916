"""What a worker process does: one call at a time, until it is told to leave or nobody is there to tell it."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from multiprocessing.connection import Connection
from typing import Any

BEGUN, MESSAGE, VALUE, ERROR = "begun", "message", "value", "error"  # what a worker says about a call
STOP = b""  # instead of a call of the same number: end it as soon as something can be handed in
LEAVE = 0  # the number of no call: end the process
Setup = Callable[[], AbstractContextManager[Any]]


class Channel:
    """The line of a running call to the process that waits for its value.

    Parameters
    ----------
    state
        What the setup of the pool made in this process, the same object for every call.
    """

    def __init__(self, connection: Connection, number: int, state: Any) -> None:
        self.state = state
        self.is_stopped = False
        self.has_to_leave = False
        self._connection = connection
        self._number = number

    def send(self, message: Any) -> None:
        """Send a message, which the `on_message` of the call is given."""
        self._connection.send((self._number, MESSAGE, message))

    def should_stop(self) -> bool:
        """Whether the call is to end soon: it was asked to, or the parent process is gone."""
        try:
            while not self.is_stopped and self._connection.poll():
                number, _ = self._connection.recv()
                self.has_to_leave = number == LEAVE
                self.is_stopped = self.has_to_leave or number == self._number  # else left over from an earlier call
        except (EOFError, ConnectionError):
            self.is_stopped = self.has_to_leave = True
        return self.is_stopped

    def answer(self, content: bytes) -> None:
        """Do the call, and send its value or its error."""
        self._connection.send((self._number, BEGUN, None))
        try:
            function, arguments = pickle.loads(content)
            self._connection.send((self._number, VALUE, function(self, *arguments)))
        except Exception as error:  # also of a value that cannot be pickled, of which nothing is sent then
            self._connection.send((self._number, ERROR, _portable(error)))


def serve(connection: Connection) -> None:
    """Do calls until told to leave, until none has come for too long, or until the parent process is gone."""
    try:
        setup, idle_seconds = connection.recv()
    except (EOFError, ConnectionError):
        return
    with ExitStack() as stack:
        failure, state = None, None
        try:
            state = stack.enter_context(setup()) if setup is not None else None
        except Exception as error:
            failure = _portable(error)
        with suppress(EOFError, ConnectionError):  # the parent process is gone; the setup is left as ever
            _do_calls(connection, idle_seconds, state, failure)


def _do_calls(connection: Connection, idle_seconds: float | None, state: Any, failure: Exception | None) -> None:
    while connection.poll(idle_seconds):
        number, content = connection.recv()
        if number == LEAVE:
            return
        if failure is not None:
            connection.send((number, ERROR, failure))
            return
        if content == STOP:
            continue  # of a call that has just ended
        channel = Channel(connection, number, state)
        channel.answer(content)
        if channel.has_to_leave:
            return


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note; where it cannot be sent, its sentence as a RuntimeError."""
    error.add_note("In a worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever a class of somebody else does when it is pickled
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
