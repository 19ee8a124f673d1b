"""Opening the page in the browser of the person at this machine's desktop."""

import shutil
import subprocess
from collections.abc import Callable, Mapping

import anyio

from duetty.clock import Clock

START_S = 10.0
"""How long the desktop gets to hand the link to a browser."""

AGAIN_S = 30.0
"""Until a second window is opened, however many calls ask for one."""


class PageOpening:
    def __init__(self, environment: Mapping[str, str], clock: Clock) -> None:
        self._environment = environment
        self._clock = clock
        self._opened_s: float | None = None

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
        self._opened_s = now_s
        with anyio.move_on_after(START_S):
            await anyio.run_process(
                [program, new_link()],
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=dict(self._environment),
                start_new_session=True,
            )
