"""The log: one JSON object a line, in files that only their owner may read."""

import contextlib
import json
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOG_BYTES = 8 * 1024 * 1024
LOG_FILES = 3


class FieldsFormatter(logging.Formatter):
    """One JSON object a line: an event with fields, never a sentence."""

    _KNOWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}

    def __init__(self) -> None:
        super().__init__()
        self._second, self._at = -1, ""

    def format(self, record: logging.LogRecord) -> str:
        if int(record.created) != self._second:
            self._second = int(record.created)
            self._at = self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z")
        entry: dict[str, object] = {
            "at": self._at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        known = self._KNOWN
        entry |= {key: value for key, value in record.__dict__.items() if key not in known}
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return _encoded(entry)


class _PlainRecord(logging.LogRecord):
    """What a line says, and nothing besides."""

    def __init__(
        self, name: str, level: int, pathname: str, lineno: int, msg: object, args: Any, exc_info: Any,
        func: str | None = None, sinfo: str | None = None, **_: object,
    ) -> None:  # fmt: skip
        self.name = name
        self.msg = msg
        self.args = args[0] if len(args or ()) == 1 and isinstance(args[0], Mapping) else args
        self.levelname = logging.getLevelName(level)
        self.levelno = level
        self.exc_info = exc_info
        self.exc_text = self.stack_info = None
        self.created = time.time()
        self.msecs = int(self.created % 1 * 1000) + 0.0


_encoded = json.JSONEncoder(default=str).encode


class PrivateLog(logging.Handler):
    """Files for their owner alone, those of an earlier version too; a full one is put aside.

    A hub writes a line for each call. The library's own handler asks the disk, formats the line twice and
    flushes a buffer for each, which takes longer than the call's way to its machine.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._fd = -1
        self._bytes = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record).encode() + b"\n"
            if self._fd < 0:
                self._open()
            elif self._bytes + len(line) > LOG_BYTES:
                self._put_aside()
            self._bytes += os.write(self._fd, line)
        except Exception:  # noqa: BLE001 - a disk that is full costs log lines only
            self.handleError(record)

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)
        os.fchmod(self._fd, 0o600)
        self._bytes = os.fstat(self._fd).st_size

    def _put_aside(self) -> None:
        self._close()
        names = [self._path, *(Path(f"{self._path}.{n}") for n in range(1, LOG_FILES + 1))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        self._open()

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        self.acquire()
        try:
            self._close()
        finally:
            self.release()
        super().close()


def log_to(path: Path, level: str = "info") -> None:
    """Write the log to files of the state directory; a disk that is full costs log lines only.

    `level` is for our own lines: what libraries say at `debug` may hold credentials.
    """
    handler = PrivateLog(path)
    handler.setFormatter(FieldsFormatter())
    logging.raiseExceptions = False
    # Lines say neither file, function, process nor thread: to find them out takes longer than to write the line.
    logging._srcfile = None  # type: ignore[attr-defined]
    logging.setLogRecordFactory(_PlainRecord)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("duetty").setLevel(level.upper())
