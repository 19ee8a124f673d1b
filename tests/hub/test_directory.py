"""The failure matrix of a hub of two replicas, at its directory: each call has one end, says
whether it can have run, and nothing runs twice or late.

Nodes here are real in what counts: a socket that can break, and a memory of commands.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.abc
import pytest

from duetty.errors import (
    CommandExpired,
    CommandIdReused,
    DuettyError,
    EngineUnavailable,
    NodeBusy,
    NodeDisconnected,
    NodeTimeout,
    SessionClaimed,
    SessionNotFound,
    SessionOffline,
)
from duetty.hub.bus import Bus
from duetty.hub.dedupe import Dedupe
from duetty.hub.directory import CALLS_EACH, Claim, Command, Directory, open_directory
from duetty.hub.local_bus import LocalBus
from duetty.hub.nats_bus import NatsBus, nats_bus
from tests.hub.nats_server import Join, NatsServer

REJOIN_S = 0.5


class Node:
    """Runs commands on, whatever becomes of its socket; `may_end` holds them."""

    def __init__(self, tasks: anyio.abc.TaskGroup, id_: str, user: str | None) -> None:
        self.id, self.user = id_, user
        self.ran: list[str] = []
        self.may_end = anyio.Event()
        self.may_end.set()
        self.epoch = 0
        self._tasks = tasks
        self._dedupe = Dedupe(None)

    async def join(self, directory: Directory) -> "Socket":
        socket = Socket(self)
        socket.claim = await directory.claim(
            self.id,
            user=self.user,
            node=f"node-{self.id}",
            about={"title": self.id},
            after=self.epoch,
            held=socket,
        )
        self.epoch = socket.claim.epoch
        return socket

    async def run(self, command: Command) -> bytes:
        async def once() -> bytes:
            self.ran.append(command.command_id)
            await self.may_end.wait()
            return command.body.upper()

        return await self._dedupe.once(command.user, command.command_id, command.body, once)


class Socket:
    """A node's connection to one replica."""

    claim: Claim

    def __init__(self, node: Node) -> None:
        self._node = node
        self.was_replaced = False

    async def call(self, command: Command) -> bytes:
        answers: list[bytes] = []
        is_done = anyio.Event()

        async def run() -> None:
            with suppress(DuettyError):
                answers.append(await self._node.run(command))
            is_done.set()

        self._node._tasks.start_soon(run)  # pyright: ignore[reportPrivateUsage]
        await is_done.wait()
        return answers[0]

    def replaced(self) -> None:
        self.was_replaced = True

    async def drop(self) -> None:
        await self.claim.release()


class Two:
    """Two replicas, and the nodes that join them."""

    def __init__(
        self, a: Directory, b: Directory, buses: dict[str, Bus], tasks: anyio.abc.TaskGroup
    ) -> None:
        self.a, self.b = a, b
        self.buses = buses
        self.tasks = tasks

    def node(self, id_: str = "s1", user: str | None = "u") -> Node:
        return Node(self.tasks, id_, user)

    async def kill(self, name: str) -> None:
        """As SIGKILL: no word to anybody."""
        match self.buses[name]:
            case LocalBus() as bus:
                bus.leave()
            case NatsBus() as bus:
                await bus._client.close()  # pyright: ignore[reportPrivateUsage]
            case _:
                raise AssertionError


@asynccontextmanager
async def two(join: Join, **options: Any) -> AsyncGenerator[Two]:
    with anyio.fail_after(25):
        async with (
            join("a") as bus_a,
            join("b") as bus_b,
            open_directory(bus_a, rejoin_s=REJOIN_S, **options) as a,
            open_directory(bus_b, rejoin_s=REJOIN_S, **options) as b,
            anyio.create_task_group() as tasks,
        ):
            await eventually(lambda: len(a.replicas) == len(b.replicas) == 2)
            yield Two(a, b, {"a": bus_a, "b": bus_b}, tasks)
            tasks.cancel_scope.cancel()


async def eventually(condition: Callable[[], bool]) -> None:
    while not condition():
        await anyio.sleep(0.01)


async def call(
    directory: Directory,
    id_: str = "s1",
    *,
    user: str | None = "u",
    command: str = "c1",
    within_s: float = 5,
) -> bytes:
    return await directory.call(id_, user=user, command_id=command, body=b"x", within_s=within_s)


class Later:
    """A call that goes on while the test does something else."""

    def __init__(self, tasks: anyio.abc.TaskGroup, directory: Directory, **options: Any) -> None:
        self.answer: bytes | None = None
        self.error: DuettyError | None = None
        self.is_over = anyio.Event()
        tasks.start_soon(self._run, directory, options)

    async def _run(self, directory: Directory, options: dict[str, Any]) -> None:
        try:
            self.answer = await call(directory, **options)
        except DuettyError as error:
            self.error = error
        self.is_over.set()


# --- routing ------------------------------------------------------------------------


async def test_a_call_reaches_the_node_from_both_replicas(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        await node.join(hub.a)

        answers = [await call(hub.a, command="c1"), await call(hub.b, command="c2")]

    assert answers == [b"X", b"X"]
    assert node.ran == ["c1", "c2"]


async def test_nobody_finds_what_is_not_theirs_or_not_there(join: Join) -> None:
    async with two(join) as hub:
        await hub.node(user="u1").join(hub.a)
        errors: list[DuettyError] = []
        for directory in (hub.a, hub.b):
            for id_, user in (("s1", "u11"), ("s1", "u"), ("s1", None), ("nothing", "u1")):
                with pytest.raises(SessionNotFound) as refused:
                    await call(directory, id_, user=user)
                errors.append(refused.value)
            await directory.know("u11")

        assert hub.a.places("u11") == hub.b.places("u11") == []
    assert {str(each).replace("nothing", "s1") for each in errors} == {"no session 's1'"}


async def test_a_user_sees_their_own_on_every_replica_as_they_come_and_go(join: Join) -> None:
    async with two(join) as hub:
        for directory in (hub.a, hub.b):
            await directory.know("u")
        first = await hub.node("s1").join(hub.a)
        await hub.node("s2").join(hub.b)
        await hub.node("s3", user="other").join(hub.b)

        def seen(directory: Directory) -> dict[str, Any]:
            return {place.id: place.about for place in directory.places("u")}

        both = {"s1": {"title": "s1"}, "s2": {"title": "s2"}}
        await eventually(lambda: seen(hub.a) == seen(hub.b) == both)
        await first.claim.describe({"title": "renamed"})
        await eventually(lambda: seen(hub.b) == {**both, "s1": {"title": "renamed"}})
        await first.drop()
        await eventually(lambda: list(seen(hub.a)) == list(seen(hub.b)) == ["s2"])


# --- one command, once ----------------------------------------------------------------


async def test_the_same_command_on_both_replicas_at_once_runs_once(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        await node.join(hub.a)
        first, second = Later(hub.tasks, hub.a), Later(hub.tasks, hub.b)
        await eventually(lambda: bool(node.ran))
        await anyio.wait_all_tasks_blocked()
        node.may_end.set()
        await first.is_over.wait()
        await second.is_over.wait()
        third = await call(hub.b)

    assert (first.answer, second.answer, third) == (b"X", b"X", b"X")
    assert node.ran == ["c1"]


async def test_one_id_for_two_commands_is_refused(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        await node.join(hub.a)
        await call(hub.b)
        with pytest.raises(CommandIdReused):
            await hub.b.call("s1", user="u", command_id="c1", body=b"other", within_s=5)

    assert node.ran == ["c1"]


async def test_a_slow_node_is_a_timeout_and_its_result_can_be_had_later(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        await node.join(hub.a)
        for directory in (hub.a, hub.b):
            with pytest.raises(NodeTimeout) as late:
                await call(directory, within_s=0.2)
            assert late.value.details == {"executed": "unknown"}
        node.may_end.set()
        answers = [await call(hub.a), await call(hub.b)]

    assert answers == [b"X", b"X"]
    assert node.ran == ["c1"]


async def test_a_node_with_too_much_to_do_refuses_at_once(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        await node.join(hub.a)
        under_way = [Later(hub.tasks, hub.a, command=f"n{n}") for n in range(CALLS_EACH)]
        await eventually(lambda: len(node.ran) == CALLS_EACH)
        with anyio.fail_after(2), pytest.raises(NodeBusy) as busy:
            await call(hub.b, within_s=60)
        node.may_end.set()
        for each in under_way:
            await each.is_over.wait()

    assert busy.value.details == {"executed": False}
    assert len(node.ran) == CALLS_EACH


async def test_a_caller_who_leaves_ends_the_command_unless_another_waits(join: Join) -> None:
    ended: list[str] = []

    class Cancellable:
        async def call(self, command: Command) -> bytes:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append(command.command_id)
            raise AssertionError

        def replaced(self) -> None: ...

    async with two(join) as hub:
        await hub.a.claim("s1", user="u", node="n", about={}, held=Cancellable())
        async with anyio.create_task_group() as caller:
            for command in ("both", "both", "one"):
                caller.start_soon(lambda c=command: call(hub.b, command=c))
            caller.start_soon(lambda: call(hub.a, command="both"))
            claim = hub.a.held("s1")
            assert claim is not None
            await eventually(lambda: sum(len(each.waiting) for each in claim.running.values()) == 4)
            caller.cancel_scope.cancel()
        await eventually(lambda: sorted(ended) == ["both", "one"])


# --- claims -------------------------------------------------------------------------


async def test_an_id_belongs_to_one_node_of_one_user(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        socket = await node.join(hub.a)
        for directory in (hub.a, hub.b):
            for user, other in (("u", "node-x"), ("v", "node-s1"), (None, "node-s1")):
                with pytest.raises(SessionClaimed) as refused:
                    await directory.claim("s1", user=user, node=other, about={}, held=socket)
                assert "node" not in str(refused.value.details)
        answer = await call(hub.b)

    assert answer == b"X"
    assert not socket.was_replaced


async def test_a_node_that_dials_another_replica_is_there_and_its_old_socket_is_told(
    join: Join,
) -> None:
    async with two(join) as hub:
        node = hub.node()
        old = await node.join(hub.a)
        assert await call(hub.b, command="before") == b"X"
        new = await node.join(hub.b)
        await eventually(lambda: old.was_replaced)
        answers = [await call(hub.a), await call(hub.b, command="c2")]
        await old.drop()  # late, and without effect
        answers.append(await call(hub.a, command="c3"))

    assert (old.claim.epoch, new.claim.epoch) == (1, 2)
    assert not new.was_replaced
    assert answers == [b"X", b"X", b"X"]


async def test_many_claims_of_one_id_at_once_have_one_winner(join: Join) -> None:
    async with two(join) as hub:
        won: list[Claim] = []
        socket = Socket(hub.node())

        async def claim(directory: Directory, node: str) -> None:
            with suppress(SessionClaimed):
                won.append(await directory.claim("s1", user="u", node=node, about={}, held=socket))

        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(claim, (hub.a, hub.b)[number % 2], f"n{number}")

    assert len(won) == 1


# --- what goes away -------------------------------------------------------------------


async def test_a_node_that_drops_within_a_call_and_comes_back_answers(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        socket = await node.join(hub.a)
        here, there = Later(hub.tasks, hub.a), Later(hub.tasks, hub.b, command="c2")
        await eventually(lambda: len(node.ran) == 2)
        await socket.drop()
        await node.join(hub.b)
        node.may_end.set()
        await here.is_over.wait()
        await there.is_over.wait()

    assert (here.answer, there.answer) == (b"X", b"X")
    assert sorted(node.ran) == ["c1", "c2"]


async def test_a_node_that_drops_within_a_call_and_stays_away_may_have_run_it(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        socket = await node.join(hub.a)
        here, there = Later(hub.tasks, hub.a), Later(hub.tasks, hub.b, command="c2")
        await eventually(lambda: len(node.ran) == 2)
        await socket.drop()
        await here.is_over.wait()
        await there.is_over.wait()
        with pytest.raises(SessionNotFound):
            await call(hub.b)

    for each in (here, there):
        assert isinstance(each.error, NodeDisconnected)
        assert each.error.details == {"executed": "unknown"}


async def test_a_replica_that_dies_within_a_call_costs_nothing(join: Join) -> None:
    """The node dials the other one, which sends the same command: it ran once."""
    async with two(join) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        await node.join(hub.a)
        later = Later(hub.tasks, hub.b, within_s=15)
        await eventually(lambda: bool(node.ran))
        await hub.kill("a")
        await node.join(hub.b)
        node.may_end.set()
        await later.is_over.wait()

    assert later.answer == b"X"
    assert node.ran == ["c1"]


async def test_what_a_dead_replica_held_is_offline_and_then_forgotten(join: Join) -> None:
    async with two(join, forget_s=2) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        await node.join(hub.a)
        await hub.b.know("u")
        later = Later(hub.tasks, hub.b, within_s=15)
        await eventually(lambda: bool(node.ran))
        await hub.kill("a")
        await later.is_over.wait()
        assert hub.b.places("u") == []
        with pytest.raises(SessionOffline) as offline:
            await call(hub.b, command="c2")
        other = Socket(hub.node())
        while True:
            with suppress(SessionClaimed):
                other.claim = await hub.b.claim(
                    "s1", user="v", node="another", about={}, held=other
                )
                break
            await anyio.sleep(0.02)

    assert isinstance(later.error, NodeDisconnected)
    assert offline.value.details == {"executed": False}
    assert node.ran == ["c1"]


async def test_a_callers_replica_that_dies_costs_one_repetition(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        await node.join(hub.a)
        Later(hub.tasks, hub.b)
        await eventually(lambda: bool(node.ran))
        await hub.kill("b")
        again = Later(hub.tasks, hub.a)
        node.may_end.set()
        await again.is_over.wait()

    assert again.answer == b"X"
    assert node.ran == ["c1"]


async def test_a_drained_replica_ends_its_calls_and_sends_new_ones_on(join: Join) -> None:
    async with two(join) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        socket = await node.join(hub.a)
        before = Later(hub.tasks, hub.b)
        await eventually(lambda: bool(node.ran))

        async def drain() -> None:
            await hub.a.drain(within_s=10)
            await socket.drop()
            await node.join(hub.b)

        hub.tasks.start_soon(drain)
        await eventually(lambda: hub.a.is_draining)
        during = [
            Later(hub.tasks, directory, command=f"d{number}")
            for number, directory in enumerate((hub.a, hub.b))
        ]
        await anyio.wait_all_tasks_blocked()
        node.may_end.set()
        for each in (before, *during):
            await each.is_over.wait()

    assert [each.answer for each in (before, *during)] == [b"X"] * 3
    assert sorted(node.ran) == ["c1", "d0", "d1"]


# --- an engine that fails ---------------------------------------------------------------


def on(server: NatsServer) -> Join:
    return lambda name: nats_bus(server.url, name, lease_s=1, beat_s=0.2)


async def test_without_the_engine_a_replicas_own_nodes_answer_and_others_fail_at_once(
    own_server: NatsServer,
) -> None:
    async with two(on(own_server)) as hub:
        node = hub.node()
        await node.join(hub.a)
        await call(hub.b, command="before")
        own_server.kill()
        await eventually(lambda: not any(bus.connected for bus in hub.buses.values()))
        here = await call(hub.a)
        with anyio.fail_after(0.5), pytest.raises(EngineUnavailable) as refused:
            await call(hub.b, command="c2", within_s=60)
        with anyio.fail_after(0.5), pytest.raises(EngineUnavailable):
            await hub.node("s2").join(hub.b)
        own_server.start()
        await eventually(lambda: hub.buses["b"].connected)
        there = await call(hub.b, command="c3")

    assert refused.value.details == {"executed": False}
    assert (here, there) == (b"X", b"X")
    assert node.ran == ["before", "c1", "c3"]


async def test_a_call_under_way_while_the_engine_restarts_is_answered(
    own_server: NatsServer,
) -> None:
    async with two(on(own_server)) as hub:
        node = hub.node()
        node.may_end = anyio.Event()
        await node.join(hub.a)
        later = Later(hub.tasks, hub.b, within_s=15)
        await eventually(lambda: bool(node.ran))
        own_server.kill()
        await eventually(lambda: not any(bus.connected for bus in hub.buses.values()))
        node.may_end.set()  # it ends while nobody can be told
        await anyio.wait_all_tasks_blocked()
        own_server.start()
        await later.is_over.wait()

    assert later.answer == b"X"
    assert node.ran == ["c1"]


async def test_a_frozen_engine_ends_calls_by_their_deadline_and_none_runs_late(
    own_server: NatsServer,
) -> None:
    async with two(on(own_server)) as hub:
        node = hub.node()
        await node.join(hub.a)
        await call(hub.b, command="before")
        own_server.freeze()
        with anyio.fail_after(2), pytest.raises((NodeTimeout, CommandExpired)) as late:
            await call(hub.b, command="frozen", within_s=0.3)
        await eventually(lambda: not hub.buses["b"].connected)
        with anyio.fail_after(0.5), pytest.raises(EngineUnavailable):
            await call(hub.b, command="refused", within_s=60)
        own_server.thaw()
        await eventually(lambda: all(bus.connected for bus in hub.buses.values()))
        after = await call(hub.b, command="after")

    # Whether it was sent depends on whether the replica still knew the place.
    assert late.value.details["executed"] in ("unknown", False)
    assert after == b"X"
    assert node.ran == ["before", "after"]


async def test_a_node_that_moved_while_the_engine_was_away_is_where_it_went(
    own_server: NatsServer,
) -> None:
    """The replica that it left writes down what it held as well: the higher epoch wins."""
    async with two(on(own_server)) as hub:
        node = hub.node()
        old = await node.join(hub.a)
        own_server.kill()
        await eventually(lambda: not any(bus.connected for bus in hub.buses.values()))
        own_server.start()
        new: list[Socket] = []
        while not new:
            with suppress(EngineUnavailable):
                new.append(await node.join(hub.b))
            await anyio.sleep(0.01)
        await eventually(lambda: old.was_replaced)
        answer = await call(hub.a)

    assert answer == b"X"
    assert not new[0].was_replaced


class Wire:
    """A replica's own way to the engine, which can be cut while both ends live."""

    def __init__(self, port: int, tasks: anyio.abc.TaskGroup) -> None:
        self._port = port
        self._tasks = tasks
        self._scope = anyio.CancelScope()
        self.port = 0

    async def lay(self) -> None:
        self._scope = anyio.CancelScope()
        await self._tasks.start(self._serve)

    async def _serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self.port)
        self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with listener:
            task_status.started()
            with self._scope:
                await listener.serve(self._carry)

    async def _carry(self, one: anyio.abc.SocketStream) -> None:
        other = await anyio.connect_tcp("127.0.0.1", self._port)
        async with one, other, anyio.create_task_group() as tasks:
            for source, target in ((one, other), (other, one)):
                tasks.start_soon(_pump, source, target, tasks.cancel_scope)

    def cut(self) -> None:
        self._scope.cancel()


async def _pump(
    source: anyio.abc.SocketStream, target: anyio.abc.SocketStream, scope: anyio.CancelScope
) -> None:
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for chunk in source:
            await target.send(chunk)
    scope.cancel()


async def test_replicas_that_do_not_reach_each_other_keep_their_own_and_refuse_the_rest(
    own_server: NatsServer,
) -> None:
    """One of them has the engine, the other is cut off from it; both live."""
    server_port = int(own_server.url.rpartition(":")[2])
    async with anyio.create_task_group() as tasks:
        wire = Wire(server_port, tasks)
        await wire.lay()

        def join(name: str) -> Any:
            port = server_port if name == "a" else wire.port
            return nats_bus(f"nats://127.0.0.1:{port}", name, lease_s=1, beat_s=0.2)

        async with two(join) as hub:
            near, far = hub.node("near"), hub.node("far")
            await near.join(hub.a)
            await far.join(hub.b)
            await call(hub.a, "far", command="before")
            wire.cut()
            await eventually(lambda: not hub.buses["b"].connected)
            own = [await call(hub.a, "near"), await call(hub.b, "far")]
            with anyio.fail_after(0.5), pytest.raises(EngineUnavailable) as refused:
                await call(hub.b, "near", command="c2", within_s=60)
            with anyio.fail_after(0.5), pytest.raises(EngineUnavailable):
                await hub.node("new").join(hub.b)
            with anyio.fail_after(8), pytest.raises(DuettyError) as gone:
                await call(hub.a, "far", command="c3", within_s=6)
            await hub.node("other").join(hub.a)
            await wire.lay()
            await eventually(lambda: hub.buses["b"].connected)
            after = [await _soon(hub.a, "far", "c4"), await _soon(hub.b, "near", "c5")]
            ran = near.ran, far.ran
            details = refused.value.details, gone.value.details
        wire.cut()
        tasks.cancel_scope.cancel()

        assert own == after == [b"X", b"X"]
        assert [each["executed"] for each in details] == [False, False]
        assert ran == (["c1", "c5"], ["before", "c1", "c4"])


async def _soon(directory: Directory, id_: str, command: str) -> bytes:
    """When it is known again where the session is. What ran in spite of an error would be told."""
    while True:
        with suppress(SessionOffline, SessionNotFound, EngineUnavailable):
            return await call(directory, id_, command=command)
        await anyio.sleep(0.05)
