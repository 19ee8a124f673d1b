"""What replicas of a hub share: messages, requests with answers, and small soft state.

One interface, two engines: `LocalBus` in one process (the default, no server), and `NatsBus`
over NATS. The same contract tests run over both.

- A *subject* and a *key* are dotted words; `joined` makes one of texts that others chose.
- A request is never kept to be sent later: without a connection it fails at once, and what was
  under way longer than its caller waited is not run.
- State is soft: a replica holds the truth about its own nodes and writes it again after the
  engine came back (`on_reconnect`). Only keys under `kept.` outlive the engine's restart.
- Callbacks of messages and watches run on the loop, do not wait and do not raise.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

KEPT = "kept"
"""First word of the keys that the engine keeps on disk."""

LEASED = "lease"
"""First word of the keys that end with their holder."""

START_S = 2.0
"""A request that was not begun within this is not begun any more: its member was frozen, and
its caller has got an error by then (a lease ends later than this)."""

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""As much as the largest answer of a node."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


class BusError(Exception):
    """A request that was not answered, or a write that was not made."""


class NoResponder(BusError):
    """No member serves the subject. The request was not run."""


class BusTimeout(BusError):
    """No answer in time. The request may have been run, and is not begun any more."""


class ServingFailed(BusError):
    """The serving function raised. The request may have been run in part."""


class Conflict(BusError):
    """The key is not as the writer believed; `held` is what it is now, None if it is gone."""

    def __init__(self, held: "Held | None") -> None:
        super().__init__("the key has changed")
        self.held = held


@dataclass(frozen=True, slots=True)
class Held:
    value: bytes
    rev: int


class Subscription(Protocol):
    async def close(self) -> None: ...


OnMessage = Callable[[bytes], None]
Serve = Callable[[bytes, float], Awaitable[bytes]]
"""A request and the seconds that its caller still waits in, its answer out."""
OnChange = Callable[[str, Held | None], None]
"""A key and what it holds now; None when it is gone."""


class Bus(Protocol):
    """Every method raises `EngineUnavailable`, at once, when there is no connection."""

    @property
    def name(self) -> str:
        """Of this member, new with every start."""
        ...

    @property
    def connected(self) -> bool: ...

    @property
    def on_reconnect(self) -> list[Callable[[], Awaitable[None]]]:
        """Called after the engine came back, when state can be written again."""
        ...

    async def publish(self, subject: str, message: bytes) -> None:
        """To the members that listen now; at most once, in order."""
        ...

    async def subscribe(self, subject: str, on_message: OnMessage) -> Subscription: ...

    async def serve(self, subject: str, serve: Serve) -> Subscription:
        """Answer requests, each in a task of its own."""
        ...

    async def request(self, subject: str, message: bytes, *, within_s: float) -> bytes:
        """Raises:
        NoResponder: at once, if no member serves it.
        BusTimeout: if no answer came in time.
        ServingFailed: if the member that serves it failed.
        """
        ...

    async def create(self, key: str, value: bytes) -> int:
        """The revision.

        Raises:
            Conflict: if it is there.
        """
        ...

    async def update(self, key: str, value: bytes, rev: int) -> int:
        """The new revision.

        Raises:
            Conflict: if `rev` is not the last one.
        """
        ...

    async def put(self, key: str, value: bytes) -> int:
        """Whatever was there."""
        ...

    async def get(self, key: str) -> Held | None: ...

    async def delete(self, key: str, rev: int | None = None) -> None:
        """Raises:
        Conflict: if `rev` is given and not the last one.
        """
        ...

    async def watch(self, prefix: str, on_change: OnChange) -> Subscription:
        """Every key below the prefix, by whole words: all there are before this returns, then
        each change. After the engine came back, what is gone is reported so.
        """
        ...

    async def lease(self, key: str, value: bytes) -> Subscription:
        """Hold a key below `lease.` as long as this member lives; `close` gives it up."""
        ...


def joined(*words: str) -> str:
    """A key or subject of one word for each text, whatever is in it; two texts never share one."""
    return ".".join(_word(each) for each in words)


def _word(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    encoded = "".join(
        char if _PLAIN.fullmatch(char) else "".join(f"={byte:02X}" for byte in char.encode())
        for char in text
    )
    return encoded or "="
