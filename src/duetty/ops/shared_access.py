"""Who may call, the same at every replica of a hub: tokens, users and shares; tickets and links.

Tickets and sign-in links work once, so they stay with the replica that made them. Their first
letters name it, and the one to which they are shown asks it for them: who has it gives it away.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from typing import Any, cast

import anyio
import anyio.abc

from duetty.clock import Clock
from duetty.errors import EngineUnavailable
from duetty.hub import BusError, RecordKind, Replicas, SharedRecords, Users, joined
from duetty.ops.access import Access, digest
from duetty.store import Store, TokenRecord

ASK_S = 2.0
"""For the replica that made a ticket to hand it over."""

MARK_CHARS = 6
"""Of a ticket: which replica made it."""

MAX_CHARS = 200
"""Of what can be a ticket or the code of a link."""


async def share_access(
    replicas: Replicas,
    *,
    users: Users,
    store: Store,
    access: Access,
    clock: Clock,
    tasks: anyio.abc.TaskGroup,
) -> SharedRecords:
    """From now on what is changed here counts at every replica, and the other way round.

    Raises:
        EngineUnavailable: if the engine cannot be asked.
    """
    records = SharedRecords(replicas.bus, clock, tasks)

    def take_user(name: str, fields: Mapping[str, Any] | None) -> None:
        users.take_user(name, fields)
        if fields is None:
            access.end_jwts(name)

    users.listen(records.changed)
    store.listen(token=lambda id_, record: records.changed("token", id_, _fields(record)))
    await records.start(
        [
            RecordKind(name="user", own=lambda: users.records("user"), take=take_user),
            RecordKind(name="share", own=lambda: users.records("share"), take=users.take_share),
            RecordKind(
                name="token",
                own=lambda: [(each.id, cast("Any", _fields(each))) for each in store.tokens()],
                take=lambda id_, fields: access.take_token(id_, _record(fields)),
                merged=_merged,
            ),
        ]
    )
    bus = replicas.bus
    access.join_replicas(mark=_mark(bus.name), fetch=_fetching(replicas, access))
    await bus.serve(joined("access", bus.name), _giving(access))
    return records


def _fields(record: TokenRecord | None) -> dict[str, Any] | None:
    if record is None:
        return None
    fields = asdict(record)
    del fields["last_used_at_ns"]  # each replica knows of its own
    return fields


def _record(fields: Mapping[str, Any] | None) -> TokenRecord | None:
    if fields is None:
        return None
    given: dict[str, Any] = {**fields, "scopes": tuple(fields["scopes"])}
    return TokenRecord(**given)


def _merged(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """A revocation stays, and so does the key that a page brought first."""
    stays = {name: earlier[name] for name in ("revoked_at_ns", "key") if earlier[name] is not None}
    return {**later, **stays}


def _mark(replica: str) -> str:
    return sha256(replica.encode()).hexdigest()[:MARK_CHARS]


def _fetching(replicas: Replicas, access: Access) -> Callable[[str], Any]:
    async def fetch(secret: str) -> None:
        """Have a ticket or link here that another replica made, if one did."""
        if len(secret) > MAX_CHARS or secret[:MARK_CHARS] == access.mark:
            return
        for replica in replicas.directory.replicas:
            if _mark(replica) != secret[:MARK_CHARS]:
                continue
            with suppress(BusError, EngineUnavailable):
                given = await replicas.bus.request(
                    joined("access", replica), digest(secret), within_s=ASK_S
                )
                if given:
                    access.take_passed(digest(secret), json.loads(given))

    return fetch


def _giving(access: Access) -> Callable[[bytes, float], Any]:
    async def give(asked: bytes, _remaining_s: float) -> bytes:
        passed = access.pass_on(asked)
        return b"" if passed is None else json.dumps(passed).encode()

    return give
