"""What happens to sessions as a whole, numbered: created, renamed, changed, exited, removed."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from duetty.clock import Clock
from duetty.events.queue import Subscription
from duetty.ids import Seq, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated:
    id: SessionId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRenamed:
    id: SessionId
    name: str
    old_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTagged:
    id: SessionId
    name: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUpdated:
    """Something that a list of sessions shows is different: its state, title or size."""

    id: SessionId
    name: str
    part: Literal["state", "title", "size", "viewers", "health"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded:
    """The process exited; the session stays readable."""

    id: SessionId
    name: str
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRemoved:
    id: SessionId
    name: str


SessionsEvent = (
    SessionCreated | SessionRenamed | SessionTagged | SessionUpdated | SessionEnded | SessionRemoved
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsEntry:
    seq: Seq
    at_ns: int
    event: SessionsEvent


class SessionsLog:
    """As `EventLog`, for all sessions; a subscriber that lagged lists them again."""

    __slots__ = ("_clock", "_seq", "_subscriptions")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seq = Seq(0)
        self._subscriptions: set[Subscription[SessionsEntry]] = set()

    @property
    def seq(self) -> Seq:
        return self._seq

    def append(self, event: SessionsEvent) -> Seq:
        self._seq = Seq(self._seq + 1)
        if self._subscriptions:
            entry = SessionsEntry(seq=self._seq, at_ns=self._clock.wall_ns(), event=event)
            kind = type(event)
            for subscription in self._subscriptions:
                if subscription.skips is not kind:
                    subscription.offer(entry)
        return self._seq

    @contextmanager
    def subscribe(self) -> Generator[Subscription[SessionsEntry]]:
        subscription = Subscription[SessionsEntry]()
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def close(self) -> None:
        for subscription in self._subscriptions:
            subscription.close()
