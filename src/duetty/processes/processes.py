"""Every command without a terminal: starting, finding, bounding, ending with the server."""

import logging
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import anyio
from anyio.abc import TaskGroup

from duetty.clock import Clock
from duetty.config import OWN_PLACE
from duetty.errors import MaxProcesses, ProcessNotFound
from duetty.platform.descendants import started_at
from duetty.processes.process import Order, Process, start
from duetty.removal import remove_trees

KEPT = 100
"""Ended ones that stay readable."""

KEPT_S = 3_600.0

log = logging.getLogger("duetty.processes")


class Processes:
    """Owns them; they are found by id."""

    def __init__(
        self,
        *,
        directory: Path,
        environment: Mapping[str, str],
        most: int,
        output_bytes: int,
        clock: Clock,
        tasks: TaskGroup,
    ) -> None:
        self._directory = directory
        self._most = most
        self._output_bytes = output_bytes
        self._clock = clock
        self._tasks = tasks
        self._by_id: dict[str, Process] = {}
        self._starting = 0
        """Let in, and not known by an id yet."""

        self.environment = {
            key: value
            for key, value in environment.items()
            if key in OWN_PLACE or not key.startswith("DUETTY_")
        }
        """What a command inherits."""

    def all(self) -> list[Process]:
        """Oldest first."""
        return list(self._by_id.values())

    @property
    def running(self) -> int:
        return sum(not process.is_quiet for process in self._by_id.values())

    def find(self, id_: str) -> Process:
        """By id.

        Raises:
            ProcessNotFound: if there is none, or it is forgotten.
        """
        try:
            return self._by_id[id_]
        except KeyError:
            raise ProcessNotFound(id_) from None

    async def start(
        self, order: Order, *, id_: str | None = None, timeout_s: float | None = None
    ) -> Process:
        """Start a command; it lives until its end, its bound, `stop` or the server's end.

        Raises:
            MaxProcesses: if too many run.
            BadCommand, BadWorkingDirectory, ForkFailed: if it cannot be started.
        """
        self.sweep()
        if self.running + self._starting >= self._most:
            raise MaxProcesses(f"{self._most} commands run already", hint="list them and stop one")
        id_ = id_ or token_hex(6)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._starting += 1
        try:
            process = await start(
                id_,
                order,
                directory=self._directory / id_,
                output_bytes=self._output_bytes,
                clock=self._clock,
            )
        finally:
            self._starting -= 1
        self._by_id[id_] = process
        self._tasks.start_soon(self._live, process, order.stdin, timeout_s)
        return process

    async def _live(self, process: Process, stdin: bytes, timeout_s: float | None) -> None:
        try:
            await process.live(stdin, timeout_s)
        except Exception:
            # One command's trouble must not end the server.
            log.exception("process_failed", extra={"process_id": process.id})
            process.signal(signal.SIGKILL)

    def sweep(self) -> None:
        """Forget ended ones that are too many or too old."""
        ended = [process for process in self._by_id.values() if process.is_quiet]
        now_s = self._clock.monotonic_s()
        too_many = max(0, len(ended) - KEPT)
        for at, process in enumerate(ended):
            if at < too_many or now_s - (process.ended_s or now_s) > KEPT_S:
                del self._by_id[process.id]
                process.forget()

    def clear_leftovers(self) -> None:
        """What a server that was killed left behind: its commands end, their files go."""
        if not self._directory.is_dir():
            return
        found = list(self._directory.iterdir())
        for left in found:
            with suppress(OSError, ValueError):
                pid_text, began = (left / "pid").read_text(encoding="utf-8").split()
                pid = int(pid_text)
                if pid > 1 and started_at(pid) == began:
                    os.killpg(pid, signal.SIGKILL)
        remove_trees(*found)

    async def shut_down(self, *, grace_s: float) -> None:
        """End all of them, side by side."""
        async with anyio.create_task_group() as tasks:
            for process in self._by_id.values():
                tasks.start_soon(_stop, process, grace_s)
        for process in self._by_id.values():
            process.forget()
        self._by_id.clear()


async def _stop(process: Process, grace_s: float) -> None:
    await process.stop(grace_s=grace_s)
