"""Writing a file so that a reader sees the old one or the new one, and two writers do not undo each other."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file beside `path` for writing, and put it in the place of `path` when the block ends well.

    If the block raises, or the disk is full, the new file is removed and the old one is untouched. A link is
    followed, so that the file it names is replaced and not the link.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "number.txt"
    >>> with replacing(target) as handle:
    ...     size = handle.write(b"42")
    >>> target.read_text()
    '42'
    """
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    # os.open rather than tempfile: the new file then gets the permissions any file of this user gets.
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # file systems that have none


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process holds this folder, and hold it during the block.

    For reading a file of the folder and writing it anew. A process that dies lets go of it. On a file system without
    locks the block runs unlocked.

    >>> import tempfile
    >>> with locked(Path(tempfile.mkdtemp())):
    ...     pass
    """
    descriptor = _opened_for_locking(folder)
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno not in _WITHOUT_LOCKS:
                raise
        yield
    finally:
        os.close(descriptor)  # which unlocks it


if sys.platform == "win32":
    import msvcrt
    import time

    def _opened_for_locking(folder: Path) -> int:
        return os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)  # a folder itself cannot be opened there

    def _lock(descriptor: int) -> None:
        while True:
            try:
                return msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EDEADLK):
                    raise
                time.sleep(0.05)

else:
    import fcntl

    def _opened_for_locking(folder: Path) -> int:
        return os.open(folder, os.O_RDONLY)

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
