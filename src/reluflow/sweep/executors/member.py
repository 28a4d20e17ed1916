"""Member: a worker process as seen by whoever started it and gives it its tasks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

from reluflow.sweep.executors.messages import receive, send
from reluflow.sweep.executors.worker_process import ONE_THREAD

STOP_S = 10.0  # how long a worker may take to end its case when the sweep is stopped
_PROGRAM = [sys.executable, "-m", "reluflow.sweep.executors.worker_process"]


@dataclass
class Member:
    """A worker process, what it is doing, and its name once it has said so."""

    process: subprocess.Popen[bytes]
    task: tuple[int, ...] | None = None
    name: str | None = None

    @classmethod
    def start(cls, assignment: bytes, *, patience_s: float | None = None) -> Member:
        """Start a process that knows the sweep.

        Parameters
        ----------
        assignment
            The `Assignment`, pickled.
        patience_s
            After how many seconds without a task it leaves by itself; None: never.
        """
        process = subprocess.Popen(
            _PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env={**os.environ, **ONE_THREAD}
        )
        member = cls(process)
        member._tell((list(sys.path), assignment, patience_s))
        return member

    @property
    def stdout(self) -> IO[bytes]:
        """What it says."""
        assert self.process.stdout is not None
        return self.process.stdout

    def give(self, task: tuple[int, ...], mark: str = "") -> None:
        """Hand it a task; see `Worker.work` for the mark."""
        self.task = task
        self._tell((task, mark))

    def read(self) -> Any:
        """Its next message, or None where it died, also in the middle of one."""
        try:
            return receive(self.stdout)
        except (EOFError, ConnectionResetError):
            return None

    def close_input(self) -> None:
        """Tell it to end its case, write what is finished, and leave."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            return

    def close(self) -> None:
        """Close both of its streams."""
        self.close_input()
        self.stdout.close()

    def _tell(self, message: Any) -> None:
        """Send a message; a worker that is already dead is noticed when its output ends."""
        assert self.process.stdin is not None
        try:
            send(self.process.stdin, message)
        except (BrokenPipeError, ConnectionResetError):
            return


def let_go(members: Sequence[Member]) -> None:
    """Let every worker end its case and write it; end those that take too long."""
    for member in members:
        member.close_input()
    deadline = time.monotonic() + STOP_S
    for member in members:
        try:
            member.process.wait(timeout=max(deadline - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            member.process.kill()
            member.process.wait()
        except KeyboardInterrupt:
            for other in members:
                other.process.kill()
            raise
