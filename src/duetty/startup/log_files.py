"""The log: one JSON object a line, in files that only their owner may read."""

import json
import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

LOG_BYTES = 8 * 1024 * 1024
LOG_FILES = 3


class FieldsFormatter(logging.Formatter):
    """One JSON object a line: an event with fields, never a sentence."""

    _KNOWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}

    def format(self, record: logging.LogRecord) -> str:
        fields = {key: value for key, value in record.__dict__.items() if key not in self._KNOWN}
        entry: dict[str, object] = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **fields,
        }
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


class _PrivateLog(RotatingFileHandler):
    """Its files are for their owner alone, those of an earlier version too."""

    def _open(self) -> TextIOWrapper:
        fd = os.open(
            self.baseFilename,
            os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC,
            0o600,
        )
        os.fchmod(fd, 0o600)
        return open(fd, "a", encoding="utf-8")


def log_to(path: Path, level: str = "info") -> None:
    """Write the log to files of the state directory; a disk that is full costs log lines only.

    `level` is for our own lines: what libraries say at `debug` may hold credentials.
    """
    handler = _PrivateLog(
        path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", delay=True
    )
    handler.setFormatter(FieldsFormatter())
    logging.raiseExceptions = False
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("duetty").setLevel(level.upper())
