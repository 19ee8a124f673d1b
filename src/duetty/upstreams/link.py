"""An open connection to an upstream, as the rest of this package knows it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import parse_qs, urlsplit

import anyio

from duetty.errors import DuettyError
from duetty.sandbox import Level, SandboxRequest
from duetty.upstreams.upstream_settings import Program

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""How far a call is: done, of how much, in the upstream's words."""

Changed = Callable[[Literal["tools", "resources", "prompts"]], None]
"""A list of the upstream is no longer what it was."""

Asked = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""A request of the upstream (`sampling/createMessage`, `elicitation/create`) in, our answer out.

Raises:
    DuettyError: it is refused.
"""

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Of log messages, the most talkative first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hears:
    """Who hears what the upstream says unasked."""

    changed: Changed
    asked: Asked
    """For requests that do not say which call they belong to."""

    logged: Callable[[str, str | None, object], None]
    """Level, name of the logger, and whatever it says."""

    updated: Callable[[str], None]
    """A resource that was subscribed to is not what it was."""


class Link(Protocol):
    """Every wait has a bound; what goes wrong is a coded error."""

    @property
    def pid(self) -> int | None: ...
    @property
    def sandbox(self) -> Level | None: ...
    @property
    def protocol(self) -> str: ...
    @property
    def implementation(self) -> str | None: ...
    @property
    def instructions(self) -> str | None:
        """How it wants to be used, in its own words."""

    @property
    def can_subscribe(self) -> bool: ...

    async def wait_lost(self) -> None:
        """Until it is of no more use.

        Raises:
            DuettyError: saying what ended it.
        """

    async def tools(self) -> list[dict[str, Any]]: ...
    async def resources(self) -> list[dict[str, Any]]: ...
    async def templates(self) -> list[dict[str, Any]]: ...
    async def prompts(self) -> list[dict[str, Any]]: ...
    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float,
        progress: Progress | None = None,
        asked: Asked | None = None,
        as_task: bool = False,
    ) -> dict[str, Any]: ...
    async def complete(
        self,
        kind: Literal["prompt", "resource"],
        about: str,
        argument: tuple[str, str],
        *,
        given: Mapping[str, str],
        timeout_s: float,
    ) -> dict[str, Any]: ...
    async def read(
        self, uri: str, *, timeout_s: float, asked: Asked | None = None
    ) -> dict[str, Any]: ...
    async def prompt(
        self,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout_s: float,
        asked: Asked | None = None,
    ) -> dict[str, Any]: ...
    async def subscribe(self, uri: str, *, on: bool) -> None: ...
    async def set_level(self, level: str) -> None:
        """From now on it tells of this level and graver ones, where it has a log."""


class LoginAttempt:
    """A person signs in: the page that they open, and where that sent their browser."""

    def __init__(self) -> None:
        self.url: str | None = None
        self.error: DuettyError | None = None
        self.scope = anyio.CancelScope()
        self.shown = anyio.Event()
        """Set when there is a page, or none will come."""

        self._address = ""
        self._came = anyio.Event()

    async def ask(self, url: str) -> str:
        self.url = url
        self.shown.set()
        await self._came.wait()
        return self._address

    def come(self, address: str) -> bool:
        """Whether it is the answer to this question: who does not know its state is not listened to."""
        asked, given = (
            parse_qs(urlsplit(each).query).get("state", [""])[0]
            for each in (self.url or "", address)
        )
        if not asked or not compare_digest(asked.encode(), given.encode()):
            return False
        if not self._came.is_set():
            self._address = address
            self._came.set()
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What upstreams are started in."""

    environment: Mapping[str, str]
    """The server's own; a child gets a few plain variables of it, and what its table names."""

    logs: Path
    """Directory for what they print on standard error, and for places of their own."""

    sandbox: Callable[[Program], SandboxRequest]
    logins: Path | None = None
    """Directory for what was granted when a person signed in to one; None: it is not kept."""

    sign_in: Callable[[str], Awaitable[str]] | None = None
    """Opens an address for a person and returns where they were sent; None: no person is here."""

    roots: Callable[[], list[str]] = list[str]
    """Workspaces of open sessions, for those that may know of them."""

    hidden: tuple[Path, ...] = ()
    """Where the server keeps its own things, which no sandbox shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How failures are met."""

    first_retry_s: float = 1.0
    last_retry_s: float = 60.0
    retries: int = 5
    """In a row, of a program that ends by itself; an address is tried for as long as it is on."""

    stable_s: float = 60.0
    """One that ran this long begins to count anew."""

    jitter: Callable[[], float] = field(default=lambda: 0.5)
    """Between 0 and 1: many that failed together do not come back together."""
