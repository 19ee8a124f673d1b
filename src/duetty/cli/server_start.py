"""A server of one's own, on its way up: for a caller that finds none.

It ends when no client uses it any more. Imports little, since the MCP bridge starts
one before it does anything else.
"""

import os
import subprocess
import sys
import time

from duetty.errors import InstanceBusy, ServerUnreachable

SPAWN_S = 60.0
"""For a spawned server to answer. It takes a second; a machine with much else to do takes longer."""

AGAIN_S = 2.0
"""After one that found another server there: that one is about to answer, or on its way out."""


class SpawnedServer:
    """A server that was just started, and does not answer yet.

    Inside a session none is started: there the session's own server is meant, which may be
    about to come back. To another one, an agent in the session would be a person.
    """

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._inside = os.environ.get("DUETTY_SESSION")
        self._again_s = time.monotonic() + AGAIN_S
        self._process: subprocess.Popen[bytes] | None = None
        if not self._inside:
            self._process = _start(instance)

    def check(self) -> None:
        """Go on waiting, unless there is nothing to wait for.

        Raises:
            ServerUnreachable: if none is started here, or it ended; not, if it did since another one was there first.
        """
        if self._process is None:
            if time.monotonic() < self._again_s:
                return
            if self._inside:
                raise ServerUnreachable(
                    f"no server runs for instance {self._instance!r},"
                    f" and inside session {self._inside!r} none is started",
                    hint="-L and DUETTY_HOME name another one; start one outside of any session",
                )
            self._process = _start(self._instance)
        elif self._process.poll() is not None:
            printed = self._let_go()
            if f"[{InstanceBusy.code}]" not in printed:
                raise _unreachable(printed)
            self._again_s = time.monotonic() + AGAIN_S

    def came_up(self) -> None:
        """It answers: what it says from now on is for its log."""
        if self._process is not None and self._process.stderr is not None:
            self._process.stderr.close()
        self._process = None

    def give_up(self) -> ServerUnreachable:
        """It took too long; the error to raise."""
        if self._process is not None:
            self._process.kill()
        return _unreachable(self._let_go())

    def _let_go(self) -> str:
        process, self._process = self._process, None
        if process is None:
            return ""
        return process.communicate()[1].decode(errors="replace").strip()


def _start(instance: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "duetty", "server", "--ephemeral", "--quiet"]
    return subprocess.Popen(  # noqa: S603 - ourselves
        [*argv, "--bind", "127.0.0.1:0", "--instance", instance],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _unreachable(reason: str) -> ServerUnreachable:
    return ServerUnreachable(
        f"a server could not be started: {reason or 'it did not answer'}",
        hint="try `duetty server`",
    )
