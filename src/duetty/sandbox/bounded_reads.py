"""Bounded reads of small files that a hostile program may have put there: a FIFO, or one without an end."""

import errno
import os
import stat
from pathlib import Path

from duetty.platform.own_process import opened_again
from duetty.platform.sandbox_launch import open_plain


def bytes_of(path: Path, most_bytes: int, *, through_links: bool) -> bytes:
    """Its beginning, up to this many bytes; of a file only, since anything else may wait, or do something.

    Raises:
        OSError: if it cannot be read, is no file, or a link leads there that must not.
        ValueError: if no file can have this name.
    """
    # What it is, is looked at before it is opened: that alone may wait (a FIFO) or act (a device).
    found = os.open(path, os.O_PATH | os.O_CLOEXEC) if through_links else open_plain(str(path))
    try:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise OSError(errno.ENOENT, "it is no file")
        readable = opened_again(found, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    finally:
        os.close(found)
    with os.fdopen(readable, "rb", buffering=0) as file:
        parts: list[bytes] = []
        while most_bytes > 0 and (part := file.read(most_bytes)):
            parts.append(part)
            most_bytes -= len(part)
    return b"".join(parts)
