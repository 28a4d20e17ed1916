"""Calls that the tests of the pool have done by worker processes."""

import os
import signal
import struct
import time
from contextlib import contextmanager
from pathlib import Path


def process_id(channel):
    return os.getpid()


def parent_id(channel):
    return os.getppid()


def squared(channel, number):
    return number * number


def set_up_value(channel):
    return channel.state


def count_until_stopped(channel):
    count = 0
    while not channel.should_stop():
        channel.send(count)
        count += 1
        time.sleep(0.01)
    return count


def sleep(channel, seconds):
    time.sleep(seconds)


def killed(channel):
    os.kill(os.getpid(), signal.SIGKILL)


def leave_with(channel, status):
    os._exit(status)


def divide(channel, number, by):
    return number / by


def unpicklable(channel):
    return lambda: None


class OddError(Exception):
    """An error that cannot be sent to another process."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def fail_oddly(channel):
    raise OddError(1, 2)


def killed_while_it_answers(channel):
    """Killed when the length of a message and the first bytes of it have been sent."""
    os.write(channel._connection.fileno(), struct.pack("!i", 1_000_000) + b"the beginning")
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def signed_on(path):
    """A setup that leaves a file while its process is at work."""
    file = Path(path) / str(os.getpid())
    file.touch()
    yield file.name
    file.unlink()


def refused():
    raise ValueError("there is nothing to set up")
