"""A session's overlays and panels in a file beside its journal, so that they outlive the server."""

import json
import logging
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.abc
import anyio.to_thread

from duetty.session.elements import KeptElements, kept_from
from duetty.session.session import Session

NAME = "elements.json"

SAVE_S = 0.2
"""Between a change and the file: an agent that redraws often costs five writes a second."""

log = logging.getLogger("duetty.sessions")


def write_elements(directory: Path, kept: KeptElements, *, by: str = "new") -> None:
    """Replace the file, whole or not at all; where there is nothing to keep there is none.

    `by` tells writers apart that may be at it at the same time.

    Raises:
        OSError: if the disk refuses, or the session was removed meanwhile.
    """
    place = directory / NAME
    if not kept.overlays and not kept.panels and kept.screen_mode == "normal":
        place.unlink(missing_ok=True)
        return
    temporary = directory / f"{NAME}.{by}"
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(kept.to_json()), encoding="utf-8")
    temporary.replace(place)


def read_elements(directory: Path) -> KeptElements | None:
    """None if there is none, or none that can be read."""
    try:
        shape = json.loads((directory / NAME).read_text(encoding="utf-8"))
        return kept_from(cast("dict[str, Any]", shape))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


class ElementFiles:
    """Writes the files a moment after a change, one at a time, in a worker thread.

    What takes rows from the program is written at once: else a server that is killed
    a moment later would leave the program smaller, without a visible reason.
    """

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self._tasks = tasks
        self._changed: dict[str, tuple[Session, bool]] = {}
        """Sessions with a task that will write them, and whether they changed since it did."""

        self._lock = anyio.Lock()

    def keep(self, session: Session, urgent: bool) -> None:
        """The session's elements changed."""
        if urgent:
            self._write_now(session)
        is_new = session.profile.id not in self._changed
        self._changed[session.profile.id] = (session, True)
        if is_new:
            self._tasks.start_soon(self._write_while_changing, session)

    async def flush(self) -> None:
        """Write what is not written yet: the server ends."""
        for session, _ in list(self._changed.values()):
            await self._write(session)
        self._changed.clear()

    async def _write_while_changing(self, session: Session) -> None:
        id_ = session.profile.id
        while self._changed.get(id_, (session, False))[1]:
            await anyio.sleep(SAVE_S)
            self._changed[id_] = (session, False)
            await self._write(session)
        self._changed.pop(id_, None)

    def _write_now(self, session: Session) -> None:
        try:
            write_elements(session.journal.directory, _elements_of(session), by="now")
        except OSError as error:
            _log_failure(session, error)

    async def _write(self, session: Session) -> None:
        try:
            async with self._lock:
                await anyio.to_thread.run_sync(
                    write_elements, session.journal.directory, _elements_of(session)
                )
        except OSError as error:
            _log_failure(session, error)


def _elements_of(session: Session) -> KeptElements:
    return session.elements.kept(cols=session.profile.cols, rows=session.profile.rows)


def _log_failure(session: Session, error: OSError) -> None:
    log.info("elements_not_kept", extra={"session": session.name, "reason": error.strerror})
