"""What happens to sessions as a whole, numbered: created, renamed, changed, exited, removed."""

from dataclasses import dataclass
from typing import Literal

from duetty.events.numbered_log import NumberedLog
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


class SessionsLog(NumberedLog[SessionsEntry]):
    """As `EventLog`, for all sessions; a subscriber that lagged lists them again."""

    __slots__ = ()

    def append(self, event: SessionsEvent) -> Seq:
        seq = self._next()
        if self._subscriptions:
            self._offer(SessionsEntry(seq=seq, at_ns=self._clock.wall_ns(), event=event))
        return seq
