"""Messages over a pipe: a length and a pickle. A message cut short by a death is the end of the stream."""

from __future__ import annotations

import pickle
import struct
from typing import Any, Protocol

_LENGTH = struct.Struct("!Q")


class Readable(Protocol):
    """An unbuffered stream to read from, so that what waits in it shows in `select`."""

    def fileno(self) -> int: ...
    def read(self, size: int, /) -> bytes | None: ...


class Writable(Protocol):
    """A stream to write to."""

    def write(self, data: memoryview, /) -> Any: ...
    def flush(self) -> None: ...


def send(stream: Writable, message: Any) -> None:
    """Write one message."""
    content = pickle.dumps(message)
    view = memoryview(_LENGTH.pack(len(content)) + content)
    while view:
        view = view[stream.write(view) :]
    stream.flush()


def receive(stream: Readable) -> Any:
    """Read one message; EOFError where the other side has ended, also in the middle of one."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: Readable, size: int) -> bytes:
    parts = []
    while size:
        part = stream.read(size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
