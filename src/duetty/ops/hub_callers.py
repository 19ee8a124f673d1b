"""Who calls through a hub that this node joined, and what of theirs this node hears and says back."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any, cast

import anyio
from pydantic import TypeAdapter, ValidationError

from duetty.approvals import Answer, HostAsk
from duetty.calls import Actor, Scope
from duetty.store import ApprovalRecord
from duetty.upstreams import Progress

MAX_NAME = 64
NEVER = frozenset({Scope.ADMIN, Scope.JOIN})
"""What no hub can have of a node."""


@cache  # made at the first one, not at every start
def _answer() -> TypeAdapter[Answer]:
    return TypeAdapter(Answer)


def hub_actor(value: object, *, hub: str, allowed: frozenset[Scope]) -> Actor:
    """The hub's caller as this node knows it: `ann@hub`, with no more than the node lets the hub have.

    A caller through the hub counts as a person only with the scope `approve`.
    """
    caller = cast("dict[str, object]", value if isinstance(value, dict) else {})
    given = caller.get("scopes")
    names = cast("list[object]", given) if isinstance(given, list) else []
    scopes = frozenset(scope for scope in Scope if scope.value in names) & (allowed - NEVER)
    is_person = caller.get("kind") == "person" and Scope.APPROVE in allowed
    session = caller.get("session_id")
    client = caller.get("client")
    return Actor(
        kind="person" if is_person else "agent",
        name=f"{_plain(caller.get('name')) or 'unnamed'}@{hub}",
        scopes=scopes,
        session=_plain(session) or None,
        session_id=_plain(session) or None,
        via=hub,
        client=_plain(client) or None,
    )


def _plain(text: object) -> str:
    if not isinstance(text, str):
        return ""
    return "".join(char for char in text[:MAX_NAME] if char.isprintable())


Say = Callable[[Mapping[str, object]], Awaitable[None]]


class HubCall:
    """What a call says to its caller before it answers, and what that says back."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._waiting: dict[str, tuple[anyio.Event, list[Mapping[str, Any]]]] = {}

    @property
    def progress(self) -> Progress:
        async def tell(done: float, total: float | None, message: str | None) -> None:
            await self._say({"progress": [done, total, message]})

        return tell

    @property
    def host(self) -> HostAsk:
        async def ask(record: ApprovalRecord) -> Answer | None:
            id_ = secrets.token_hex(4)
            came, answers = self._waiting.setdefault(id_, (anyio.Event(), []))
            try:
                await self._say({"id": id_, "question": asdict(record)})
                await came.wait()
                return _answer().validate_python(answers[0])
            except ValidationError:
                return None
            finally:
                del self._waiting[id_]

        return ask

    def hear(self, message: Mapping[str, Any]) -> None:
        waiting = self._waiting.get(str(message.get("id")))
        answer = message.get("answer")
        if waiting is not None and isinstance(answer, dict):
            waiting[1].append(cast("Mapping[str, Any]", answer))
            waiting[0].set()
