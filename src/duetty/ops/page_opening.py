"""Opening the page in the browser of the person at this machine's desktop.

The link signs in, and every user of the machine can read the command lines of all: a browser is
given the name of a file instead, which only the person can read, and which leads to the link.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from html import escape
from pathlib import Path
from tempfile import mkstemp

import anyio
from anyio.abc import TaskGroup

from duetty.clock import Clock

START_S = 10.0
"""How long the desktop gets to hand the file to a browser."""

READ_S = 20.0
"""How long a browser gets to read the file; what the desktop calls may end before it has."""

AGAIN_S = 30.0
"""Until a second window is opened, however many calls ask for one."""

_PREFIX, _SUFFIX = "page-", ".html"

_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={link}">
<title>Duetty</title>
<p><a href="{link}">Open Duetty</a></p>
"""


class PageOpening:
    def __init__(
        self,
        environment: Mapping[str, str],
        clock: Clock,
        *,
        directory: Path,
        tasks: TaskGroup,
    ) -> None:
        """`directory` is private to the person."""
        self._environment = environment
        self._clock = clock
        self._directory = directory
        self._tasks = tasks
        self._opened_s: float | None = None
        for left in directory.glob(f"{_PREFIX}*{_SUFFIX}"):  # of a server that was killed
            _remove(left)

    @property
    def is_possible(self) -> bool:
        """Whether there is a desktop, as far as the server's environment tells."""
        env = self._environment
        has_desktop = bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))
        return has_desktop and self._program() is not None

    def _program(self) -> str | None:
        return shutil.which("xdg-open", path=self._environment.get("PATH"))

    async def open(self, new_link: Callable[[], str]) -> None:
        """Hand a link that signs in once to the desktop, unless one was handed over just now."""
        program, now_s = self._program(), self._clock.monotonic_s()
        if program is None or (self._opened_s is not None and now_s - self._opened_s < AGAIN_S):
            return
        try:
            page = _written(self._directory, new_link())
        except OSError:
            return  # nowhere to write: no page opens, and the caller's answer says so
        self._opened_s = now_s
        self._tasks.start_soon(self._show, program, page)

    async def _show(self, program: str, page: Path) -> None:
        try:
            with anyio.move_on_after(START_S), suppress(OSError):
                await anyio.run_process(
                    [program, page.as_uri()],
                    check=False,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=dict(self._environment),
                    start_new_session=True,
                )
            await anyio.sleep(READ_S)
        finally:
            _remove(page)


def _written(directory: Path, link: str) -> Path:
    """Its name appears only when it is complete, and only its owner may read it."""
    descriptor, name = mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=directory)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_PAGE.format(link=escape(link)))
    except OSError:
        _remove(Path(name))
        raise
    return Path(name)


def _remove(page: Path) -> None:
    with suppress(OSError):
        page.unlink()
