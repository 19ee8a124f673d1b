"""The caller's identity in a request to another node, and messages to that caller before the answer."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from duetty.approvals import HostAsk
from duetty.calls import Actor
from duetty.hub import Aside
from duetty.store import ApprovalRecord
from duetty.upstreams import Progress

MAX_ASIDE_CHARS = 1_000


def plain_text(text: str) -> str:
    """What a node says, without what could move a cursor, and not too long."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text[:MAX_ASIDE_CHARS])


def caller_of(actor: Actor) -> dict[str, object]:
    """The caller's identity, as a joined node gets it."""
    return {
        "kind": actor.kind,
        "name": actor.name if actor.user is None else actor.user,
        "scopes": sorted(actor.scopes),
        "session_id": actor.session_id,
        "client": actor.client,
    }


@cache  # made at the first one, not at every start
def _question() -> TypeAdapter[ApprovalRecord]:
    return TypeAdapter(ApprovalRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What the caller hears before the answer, where it can."""

    host: HostAsk | None = None
    progress: Progress | None = None

    @property
    def aside(self) -> Aside | None:
        return None if self.host is None and self.progress is None else self._take_aside

    async def _take_aside(self, question: Mapping[str, Any]) -> Mapping[str, Any] | None:
        match question:
            case {"progress": [float() | int() as done, total, message]} if self.progress:
                await self.progress(
                    float(done),
                    float(total) if isinstance(total, int | float) else None,
                    plain_text(message) if isinstance(message, str) else None,
                )
            case {"question": question} if self.host:
                try:
                    asked = _question().validate_python(question)
                except ValidationError:
                    return None
                answer = await self.host(asked)
                return None if answer is None else asdict(answer)
            case _:
                pass
        return None
