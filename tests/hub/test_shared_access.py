"""Two replicas of a hub: who may call at one may call at the other, and who may not any more, at neither."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from duetty.calls import Scope
from duetty.clock import SystemClock
from duetty.hub import Bus, Replicas, Users
from duetty.hub.away import AwayMachines
from duetty.hub.directory import open_directory
from duetty.hub.nats_bus import nats_bus
from duetty.ops.access import Access
from duetty.ops.shared_access import share_access
from duetty.store import Store
from tests.hub.nats_server import Join, NatsServer


@dataclass
class Replica:
    users: Users
    access: Access
    settled: Callable[[], Awaitable[None]]


@asynccontextmanager
async def replica(join: Join, name: str, home: Path) -> AsyncGenerator[Replica]:
    home.mkdir(exist_ok=True)
    clock = SystemClock()
    with Store.open(home / "store") as store:
        users = Users(home / "users.json", clock)
        users.restore()
        access = Access(store, clock, own_token=name, is_user=users.has)
        async with (
            join(name) as bus,
            open_directory(bus) as directory,
            anyio.create_task_group() as tasks,
        ):
            away = AwayMachines(bus, clock, forget_s=60, changed=lambda: None)
            replicas = Replicas(
                bus, directory, tasks, find=lambda _id: None, clock=clock, away=away
            )
            records = await share_access(
                replicas, users=users, store=store, access=access, clock=clock, tasks=tasks
            )
            yield Replica(users, access, records.written)
            users.end_expired()
            tasks.cancel_scope.cancel()


def _bus_of(server: NatsServer, name: str) -> AbstractAsyncContextManager[Bus]:
    return nats_bus(server.url, name, lease_s=1, beat_s=0.2)


async def eventually(condition: Callable[[], object]) -> None:
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.005)


async def test_a_token_made_at_one_replica_counts_at_the_other_until_it_is_revoked_at_either(
    join: Join, tmp_path: Path
) -> None:
    closed: list[str] = []
    async with replica(join, "a", tmp_path / "a") as a, replica(join, "b", tmp_path / "b") as b:
        a.users.add("ann")
        token, record = a.access.issue("laptop", scopes=[Scope.READ], user="ann")
        await eventually(lambda: b.access.by_token(token))
        actor = b.access.by_token(token)
        assert actor is not None
        with a.access.live.joined(actor, lambda: closed.append("at a")):
            b.access.revoke(record.id)
            await eventually(lambda: closed)

        assert actor == a.access.by_token(token) or a.access.by_token(token) is None
        assert (actor.user, actor.scopes) == ("ann", {Scope.READ})
        assert a.access.by_token(token) is None
        assert b.access.by_token(token) is None


async def test_a_user_who_is_removed_is_gone_everywhere_and_a_replica_that_was_away_brings_none_back(
    join: Join, tmp_path: Path
) -> None:
    async with replica(join, "a", tmp_path / "a") as a:
        async with replica(join, "b", tmp_path / "b") as b:
            for name in ("ann", "bob"):
                a.users.add(name)
            token, _ = a.access.issue("t", scopes=[Scope.READ], user="bob")
            given = a.users.share(
                owner="ann", node="n", session="s", user="bob", role="watch", for_s=None
            )
            await eventually(lambda: b.users.of("bob") == [given])
            await eventually(lambda: b.access.by_token(token))
        a.users.remove("bob")
        a.access.revoke_user("bob")
        async with replica(join, "b", tmp_path / "b") as b:
            await eventually(lambda: not b.users.has("bob"))
            assert b.users.has("ann")
            assert b.users.of("bob") == []
            await eventually(lambda: b.access.by_token(token) is None)
        assert not a.users.has("bob")
        again = a.users.add("bob")
        async with replica(join, "c", tmp_path / "c") as c:
            assert c.users.find("bob") == again


async def test_what_one_hub_has_from_before_its_engine_is_shared(
    join: Join, tmp_path: Path
) -> None:
    clock = SystemClock()
    for name, user in (("a", "ann"), ("b", "bob")):
        (tmp_path / name).mkdir()
        Users(tmp_path / name / "users.json", clock).add(user)

    async with replica(join, "a", tmp_path / "a") as a, replica(join, "b", tmp_path / "b") as b:
        await eventually(lambda: a.users.has("bob") and b.users.has("ann"))


async def test_a_ticket_and_a_link_work_at_any_replica_and_once(join: Join, tmp_path: Path) -> None:
    async with replica(join, "a", tmp_path / "a") as a, replica(join, "b", tmp_path / "b") as b:
        a.users.add("ann")
        token, record = a.access.issue("t", scopes=[Scope.READ], user="ann")
        await eventually(lambda: b.access.by_token(token))
        actor = a.access.by_token(token)
        assert actor is not None
        ticket, ended = a.access.new_ticket(actor), a.access.new_ticket(actor)
        link = a.access.new_link_code("ann")
        assert b.access.fetch is not None
        for each in (ticket, link, "x" * 32, ticket[:6] + "y" * 26):
            await b.access.fetch(each)

        assert b.access.by_ticket(ticket) == actor
        assert b.access.by_ticket(ticket) is None
        assert a.access.by_ticket(ticket) is None
        assert b.access.by_ticket(ticket[:6] + "y" * 26) is None
        cookie = b.access.sign_in(link)
        assert cookie is not None
        await eventually(lambda: a.access.by_cookie(cookie))
        assert a.access.sign_in(link) is None
        a.access.revoke(record.id)
        await b.access.fetch(ended)
        assert b.access.by_ticket(ended) is None


async def test_a_revocation_is_not_lost_to_a_change_that_was_made_beside_it(
    join: Join, tmp_path: Path
) -> None:
    async with replica(join, "a", tmp_path / "a") as a, replica(join, "b", tmp_path / "b") as b:
        cookie = a.access.sign_in(a.access.new_link_code(None))
        assert cookie is not None
        await eventually(lambda: b.access.by_cookie(cookie))
        [record] = a.access.tokens()
        # In one turn of the loop: neither has heard of the other.
        a.access.revoke(record.id)
        b.access._store.give_key(record.id, "key")  # pyright: ignore[reportPrivateUsage] - what `prove` does
        await eventually(lambda: b.access.by_cookie(cookie) is None)
        await eventually(lambda: a.access.tokens()[0].key == "key")

        assert a.access.by_cookie(cookie) is None


async def test_an_engine_that_lost_its_disk_costs_nobody_their_token(
    own_server: NatsServer, tmp_path: Path
) -> None:
    join: Join = partial(_bus_of, own_server)
    async with replica(join, "a", tmp_path / "a") as a:
        a.users.add("ann")
        token, _ = a.access.issue("t", scopes=[Scope.READ], user="ann")
        await a.settled()
        own_server.kill()
        own_server.forget()
        later, record = a.access.issue("t", scopes=[Scope.READ], user="ann")
        a.access.revoke(record.id)
        own_server.start()
        async with replica(join, "b", tmp_path / "b") as b:
            await eventually(lambda: b.access.by_token(token))
            await eventually(lambda: len(b.access.tokens()) == 2)

            assert a.access.by_token(token)
            assert b.users.has("ann")
            assert b.access.by_token(later) is None


async def test_the_engine_never_sees_a_token(join: Join, tmp_path: Path) -> None:
    seen: list[bytes] = []
    async with replica(join, "a", tmp_path / "a") as a, join("b") as bus:
        token, _ = a.access.issue("t", scopes=[Scope.READ])
        await bus.watch("kept", lambda _key, held: seen.append(b"" if held is None else held.value))
        await eventually(lambda: seen)

        assert not any(token.encode() in each for each in seen)
