"""The program that worker processes are forked from: `python -m reluflow.workers.fork_server DESCRIPTOR SECONDS`.

It loads once what every worker needs, and then follows the socket with that descriptor: a message with a
descriptor forks a worker, which talks over it, and is answered with the worker's process id; a message with a process
id waits for the end of that process and is answered with its status. What workers print goes to standard error.

`multiprocessing` has a fork server too, one for the whole parent process: what is loaded into it, its signals and its
environment would be those of every other use of it there, and it imports the user's script.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import time
from multiprocessing.connection import Connection

from reluflow.workers.serving import serve

LARGEST_MESSAGE = 1 << 16
UNKNOWN = b"unknown"


def main() -> None:
    """Set up the streams, load what every worker needs, and serve until the parent process is gone."""
    descriptor, seconds = int(sys.argv[1]), float(sys.argv[2])
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    control = socket.socket(fileno=descriptor)
    first = control.recv(LARGEST_MESSAGE)
    prepare = pickle.loads(first) if first else None
    if prepare is not None:
        prepare()
    children: set[int] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, LARGEST_MESSAGE, 1)
        if not message:
            break
        if descriptors:
            child = _forked(control, descriptors[0])
            children.add(child)
            control.send(str(child).encode())
        elif int(message) in children:
            children.discard(child := int(message))
            _, status = os.waitpid(child, 0)
            control.send(str(os.waitstatus_to_exitcode(status)).encode())
        else:
            control.send(UNKNOWN)  # of an earlier fork server, which was killed
    _see_off(children, seconds)
    os._exit(0)


def _forked(control: socket.socket, descriptor: int) -> int:
    child = os.fork()
    if child:
        os.close(descriptor)
        return child
    status = 1
    try:
        control.close()
        serve(Connection(descriptor))
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _see_off(children: set[int], seconds: float) -> None:
    """The parent process is gone: workers may hand in what they have, and are then killed."""
    end = time.monotonic() + seconds
    while children and time.monotonic() < end:
        children = {child for child in children if os.waitpid(child, os.WNOHANG) == (0, 0)}
        time.sleep(0.02)
    for child in children:
        os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
