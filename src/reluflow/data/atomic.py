"""Writing a file so that a reader sees the old one or the new one, never half of either."""

from __future__ import annotations

import os
import secrets
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
