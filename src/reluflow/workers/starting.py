"""Starting worker processes: forked from a program that has loaded what they need, or by `multiprocessing`."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from reluflow.workers.fork_server import LARGEST_MESSAGE, UNKNOWN
from reluflow.workers.serving import serve

ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
CAN_FORK = sys.platform == "linux"  # elsewhere the libraries of the system may not survive a fork
_PROGRAM = [sys.executable, "-P", "-m", "reluflow.workers.fork_server"]


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class StartFailed(Exception):
    """No process could be started; the status is that of the program that was to start it."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"No worker process could be started: the program that starts them ended with {status}.")
        self.status = status


class AbstractProcess(ABC):
    """A worker process, seen from its parent."""

    connection: Connection

    @abstractmethod
    def kill(self) -> None:
        """End it at once."""

    @abstractmethod
    def wait(self) -> int | None:
        """Its status, once it has ended; None where that is not known."""


class ProcessStarter(ABC):
    """Starts worker processes."""

    @abstractmethod
    def start(self) -> AbstractProcess:
        """A new process that serves calls."""

    @abstractmethod
    def close(self) -> None:
        """End what is left of it; its workers have ended."""


def process_starter(
    prepare: Callable[[], None] | None = None,
    *,
    environment: Mapping[str, str] = ONE_THREAD,
    orphan_seconds: float = 0.0,
) -> ProcessStarter:
    """What starts worker processes on this system.

    Parameters
    ----------
    prepare
        Called once before the first of them is forked: imports what all of them need.
    environment
        Variables that they have beside those of this process.
    orphan_seconds
        How long they may go on, to hand in what they have, when this process was killed.
    """
    return ForkServer(prepare, environment, orphan_seconds) if CAN_FORK else Spawning(environment)


@dataclass
class ForkServer(ProcessStarter):
    """Forks workers from a program of its own, which is started at once and again should it be killed.

    It has a second core load what workers need while the caller goes on, workers share that memory, and it knows
    nothing of the caller's script. Ctrl-C in a terminal, which reaches all processes there, is blocked in it and in its
    workers: the parent process decides.
    """

    prepare: Callable[[], None] | None
    environment: Mapping[str, str]
    orphan_seconds: float

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        with theirs, _interrupts_blocked():
            self._program = subprocess.Popen(
                [*_PROGRAM, str(theirs.fileno()), str(self.orphan_seconds)],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **self.environment, "PYTHONPATH": path},
                pass_fds=[theirs.fileno()],
            )
        with suppress(ConnectionError):
            self._control.send(pickle.dumps(self.prepare))

    def start(self) -> AbstractProcess:
        with self._lock:
            while (process := self._forked()) is None:
                status = self._program.wait()
                if status >= 0 or self._is_closed:  # it cannot start, and would fail again
                    raise StartFailed(status)
                self._control.close()
                self._begin()  # it was killed
        return process

    def _forked(self) -> AbstractProcess | None:
        """A new worker; None where the fork server is gone, and what it may still have forked finds nobody."""
        ours, theirs = multiprocessing.Pipe()
        with theirs:
            try:
                socket.send_fds(self._control, [b"start"], [theirs.fileno()])
                answer = self._control.recv(LARGEST_MESSAGE)
            except ConnectionError:
                answer = b""
        if answer:
            return _Forked(ours, int(answer), self)
        ours.close()
        return None

    def wait_for(self, pid: int) -> int | None:
        """The status of one of its workers, which is about to end."""
        with self._lock:
            try:
                self._control.send(str(pid).encode())
                answer = self._control.recv(LARGEST_MESSAGE)
            except OSError:
                return None
        return None if answer in (b"", UNKNOWN) else int(answer)

    def close(self) -> None:
        self._is_closed = True
        self._program.kill()
        self._program.wait()
        self._control.close()


@dataclass
class _Forked(AbstractProcess):
    connection: Connection
    pid: int
    server: ForkServer

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # the fork server keeps the id taken until it is waited for
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int | None:
        return self.server.wait_for(self.pid)


@dataclass
class Spawning(ProcessStarter):
    """Starts workers by `multiprocessing`; scripts then need their `if __name__ == "__main__":`."""

    environment: Mapping[str, str]

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def start(self) -> AbstractProcess:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve_spawned, args=(theirs,), daemon=True, name="reluflow worker")
        with self._lock, theirs, _environment(self.environment):
            process.start()
        return _Spawned(ours, process)

    def close(self) -> None:
        return


@dataclass
class _Spawned(AbstractProcess):
    connection: Connection
    process: BaseProcess

    def kill(self) -> None:
        self.process.kill()

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode


def _serve_spawned(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    serve(connection)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A process started in here does not hear Ctrl-C; this thread hears it afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
