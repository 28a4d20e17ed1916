"""WorkerPool: calls done by worker processes, each of which may be stopped, killed or die alone."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any, Self

from reluflow.workers.serving import BEGUN, ERROR, LEAVE, MESSAGE, STOP, VALUE, Setup
from reluflow.workers.starting import AbstractProcess, ProcessStarter, StartFailed

_LEAVING_SECONDS = 10.0  # what a worker without a call may take to leave


class WorkerDied(Exception):
    """The process of a call ended before its value came.

    Parameters
    ----------
    status
        How it ended, negative for a signal; None where that is not known.
    has_begun
        Whether it had taken up the call.
    """

    def __init__(self, status: int | None, *, has_begun: bool) -> None:
        super().__init__(status, has_begun)
        self.status = status
        self.has_begun = has_begun

    def __reduce__(self) -> tuple[Any, ...]:
        return _worker_died, (self.status, self.has_begun)

    def __str__(self) -> str:
        return f"The worker process ended with status {self.status}."


def _worker_died(status: int | None, has_begun: bool) -> WorkerDied:
    return WorkerDied(status, has_begun=has_begun)


class Call:
    """A call given to a pool.

    Attributes
    ----------
    future
        Of its value; WorkerDied where its process died, CancelledError where it was stopped before it had one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        on_start: Callable[[], None],
        on_message: Callable[[Any], None],
    ) -> None:
        self.content = pickle.dumps((function, arguments))
        self.on_start = on_start
        self.on_message = on_message
        self.future: Future[Any] = Future()
        self.is_stopped = False
        self._worker: _Worker | None = None
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Ask the call to end soon (see `Channel.should_stop`); one that waits for a worker is cancelled."""
        self._end(lambda worker: worker.stop())

    def kill(self) -> None:
        """End the process that does the call; one that waits for a worker is cancelled."""
        self._end(lambda worker: worker.process.kill())

    def _end(self, act: Callable[[_Worker], None]) -> None:
        self.future.cancel()
        with self._lock:
            self.is_stopped = True
            if self._worker is not None:
                act(self._worker)

    def begin(self, worker: _Worker) -> None:
        """Give the call to a worker, unless it was stopped meanwhile."""
        with self._lock:
            if self.is_stopped:
                raise CancelledError
            self._worker = worker
            worker.send(self.content)

    def leave_worker(self) -> None:
        """The worker is no longer this call's to stop."""
        with self._lock:
            self._worker = None


class _Worker:
    """A process and the number of its call."""

    def __init__(self, process: AbstractProcess, setup: Setup | None, idle_seconds: float | None) -> None:
        self.process = process
        self._number = 0
        self._send((setup, idle_seconds))

    def send(self, content: bytes) -> None:
        """Give it the next call."""
        self._number += 1
        self._send((self._number, content))

    def stop(self) -> None:
        """Ask it to end its call."""
        self._send((self._number, STOP))

    def leave(self) -> None:
        """Ask it to leave."""
        self._send((LEAVE, None))

    def has_left(self, seconds: float) -> bool:
        """Whether it has left, or does so in time."""
        try:
            while self.process.connection.poll(seconds):
                self.process.connection.recv()
        except (EOFError, OSError):
            return True
        return False

    def value(self, call: Call) -> Any:
        """Wait for the value of the call."""
        has_begun = False
        while True:
            try:
                number, kind, content = self.process.connection.recv()
            except (EOFError, OSError):  # also in the middle of a message
                raise WorkerDied(self.process.wait(), has_begun=has_begun) from None
            if number != self._number:
                continue  # of an earlier call, whose `on_message` failed
            if kind == BEGUN:
                has_begun = True
                call.on_start()
            elif kind == MESSAGE:
                call.on_message(content)
            elif kind == VALUE:
                return content
            else:
                assert kind == ERROR
                raise content

    def _send(self, message: Any) -> None:
        try:
            self.process.connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            return  # it is dead, which is noticed when it is listened to


class WorkerPool:
    """So many worker processes, each with one call at a time; each is started when it is first needed.

    A worker that dies is replaced when the next call needs one; who gave the call that it had decides what becomes of
    that. Use as a context, or `close` it.

    Parameters
    ----------
    starter
        What starts the processes; several pools may share one.
    num_workers
        How many calls are done at a time.
    setup
        Called in each new process; makes a context in which it does its calls, the value of which is their
        `Channel.state`.
    idle_seconds
        After how long without a call a process leaves; None: never.

    Examples
    --------
    >>> from reluflow.workers.starting import process_starter
    >>> starter = process_starter()
    >>> with WorkerPool(starter, 1) as pool:
    ...     pool.submit(_sum_of, 2, 3).future.result()
    5
    >>> starter.close()
    """

    def __init__(
        self,
        starter: ProcessStarter,
        num_workers: int,
        *,
        setup: Setup | None = None,
        idle_seconds: float | None = None,
    ) -> None:
        self.num_workers = num_workers
        self._starter = starter
        self._setup = setup
        self._idle_seconds = idle_seconds
        self._threads = ThreadPoolExecutor(num_workers, "worker")
        self._free: list[_Worker] = []  # the last one used is used first, so that others may leave
        self._calls: set[Call] = set()  # whose futures are not done
        self._lock = threading.Lock()

    def submit(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        on_start: Callable[[], None] = lambda: None,
        on_message: Callable[[Any], None] = lambda message: None,
    ) -> Call:
        """Queue a call.

        Parameters
        ----------
        function
            Called in a worker process with a `Channel` and then the arguments.
        arguments
            What else it is called with.
        on_start
            Called when a worker has taken it up, in a thread of this pool.
        on_message
            Called with what the function sends over its channel, in a thread of this pool.
        """
        call = Call(function, arguments, on_start, on_message)
        self._calls.add(call)
        call.future.add_done_callback(lambda future: self._calls.discard(call))
        self._threads.submit(self._do, call)
        return call

    def _do(self, call: Call) -> None:
        if not call.future.set_running_or_notify_cancel():
            return
        try:
            call.future.set_result(self._value(call))
        except BaseException as error:  # whatever it is, it is the caller's
            call.future.set_exception(error)

    def _value(self, call: Call) -> Any:
        while True:
            worker = self._take()
            is_alive = True
            try:
                call.begin(worker)
                return worker.value(call)
            except WorkerDied as death:
                is_alive = False
                had_left = death.status == 0 and not death.has_begun  # for want of calls, in the same moment
                if not had_left or call.is_stopped:
                    raise
            finally:
                call.leave_worker()
                if is_alive:
                    with self._lock:
                        self._free.append(worker)
                else:
                    worker.process.connection.close()

    def _take(self) -> _Worker:
        while True:
            with self._lock:
                worker = self._free.pop() if self._free else None
            if worker is None:
                try:
                    return _Worker(self._starter.start(), self._setup, self._idle_seconds)
                except StartFailed as error:
                    raise WorkerDied(error.status, has_begun=False) from error
            if not worker.has_left(0.0):
                return worker
            self._end(worker)

    def close(self, seconds: float = 0.0) -> None:
        """End all calls and all processes: those under way are asked to stop, and killed after so many seconds."""
        calls = list(self._calls)
        end = time.monotonic() + seconds
        try:
            if seconds > 0.0:
                for call in calls:
                    call.stop()
                wait([call.future for call in calls], timeout=seconds)
        finally:  # also where a second Ctrl-C comes
            for call in calls:
                call.kill()
            self._threads.shutdown()
            for worker in self._free:
                worker.leave()
            for worker in self._free:
                if not worker.has_left(max(end - time.monotonic(), _LEAVING_SECONDS)):
                    worker.process.kill()
                self._end(worker)
            self._free = []

    @staticmethod
    def _end(worker: _Worker) -> None:
        worker.process.wait()
        worker.process.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _sum_of(channel: object, one: int, other: int) -> int:
    return one + other
