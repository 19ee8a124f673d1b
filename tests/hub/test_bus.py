"""One contract, two engines: what a member may rely on in one process and over a real NATS."""
# pyright: reportUnknownMemberType=false

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import nats
import pytest
from nats.js.api import KeyValueConfig

from duetty.errors import EngineUnavailable
from duetty.hub.bus import (
    Bus,
    BusTimeout,
    Conflict,
    Held,
    NoResponder,
    ServingFailed,
    joined,
)
from duetty.hub.local_bus import LocalNetwork
from duetty.hub.nats_bus import Ages, NatsBus, nats_bus
from tests.hub.nats_server import Join, NatsServer


@asynccontextmanager
async def two(join: Join) -> AsyncGenerator[tuple[Bus, Bus]]:
    with anyio.fail_after(20):
        async with join("a") as a, join("b") as b:
            yield a, b


async def eventually(condition: Callable[[], bool]) -> None:
    while not condition():
        await anyio.sleep(0.01)


def _changes() -> tuple[dict[str, bytes], Callable[[str, Held | None], None]]:
    seen: dict[str, bytes] = {}

    def on_change(key: str, held: Held | None) -> None:
        if held is None:
            seen.pop(key, None)
        else:
            seen[key] = held.value

    return seen, on_change


# --- messages ---------------------------------------------------------------------


async def test_every_listener_hears_a_message_in_order(join: Join) -> None:
    async with two(join) as (a, b):
        heard: dict[str, list[bytes]] = {"a": [], "b": []}
        await a.subscribe("out.1", heard["a"].append)
        closed = await b.subscribe("out.1", heard["b"].append)
        for number in range(100):
            await a.publish("out.1", b"%d" % number)
        await eventually(lambda: len(heard["a"]) == len(heard["b"]) == 100)
        await closed.close()
        await a.publish("out.1", b"after")
        await eventually(lambda: len(heard["a"]) == 101)

    assert heard["b"] == [b"%d" % number for number in range(100)]


async def test_a_request_is_answered_by_whoever_serves_it(join: Join) -> None:
    async def serve(message: bytes, remaining_s: float) -> bytes:
        assert 0 < remaining_s <= 5
        return message.upper()

    async with two(join) as (a, b):
        await b.serve("hub.b", serve)

        answers = [
            await a.request("hub.b", b"x", within_s=5),
            await b.request("hub.b", b"y", within_s=5),
        ]

    assert answers == [b"X", b"Y"]


async def test_nobody_there_is_known_at_once(join: Join) -> None:
    async with two(join) as (a, _b):
        with anyio.fail_after(1), pytest.raises(NoResponder):
            await a.request("hub.nobody", b"x", within_s=60)


async def test_an_answer_that_does_not_come_in_time_is_not_waited_for(join: Join) -> None:
    async def serve(_message: bytes, _remaining_s: float) -> bytes:
        await anyio.sleep_forever()
        raise AssertionError

    async with two(join) as (a, b):
        await b.serve("hub.b", serve)
        with pytest.raises(BusTimeout):
            await a.request("hub.b", b"x", within_s=0.1)


async def test_a_caller_hears_at_once_that_serving_failed(join: Join) -> None:
    async def serve(_message: bytes, _remaining_s: float) -> bytes:
        raise ValueError("no")

    async with two(join) as (a, b):
        await b.serve("hub.b", serve)
        with anyio.fail_after(2), pytest.raises(ServingFailed):
            await a.request("hub.b", b"x", within_s=60)


async def test_requests_are_served_side_by_side(join: Join) -> None:
    arrived: list[bytes] = []

    async def serve(message: bytes, _remaining_s: float) -> bytes:
        arrived.append(message)
        await eventually(lambda: len(arrived) == 50)
        return message

    async with two(join) as (a, b), anyio.create_task_group() as tasks:
        await b.serve("hub.b", serve)
        for number in range(50):
            tasks.start_soon(lambda n=number: a.request("hub.b", b"%d" % n, within_s=10))


async def test_requests_and_answers_larger_than_a_message_arrive_whole(join: Join) -> None:
    body = bytes(range(256)) * 12_000

    async def serve(message: bytes, _remaining_s: float) -> bytes:
        return message[::-1]

    async with two(join) as (a, b):
        await b.serve("hub.b", serve)
        answer = await a.request("hub.b", body, within_s=10)

    assert answer == body[::-1]


# --- state ------------------------------------------------------------------------


async def test_one_of_two_who_create_a_key_gets_it(join: Join) -> None:
    async with two(join) as (a, b):
        rev = await a.create("sess.1", b"a")
        with pytest.raises(Conflict) as refused:
            await b.create("sess.1", b"b")

    assert refused.value.held == Held(b"a", rev)


async def test_a_writer_with_an_old_revision_is_refused(join: Join) -> None:
    async with two(join) as (a, b):
        first = await a.create("sess.1", b"1")
        second = await b.update("sess.1", b"2", first)
        with pytest.raises(Conflict) as refused:
            await a.update("sess.1", b"3", first)
        with pytest.raises(Conflict):
            await a.delete("sess.1", first)
        await a.delete("sess.1", second)
        assert await a.get("sess.1") is None
        with pytest.raises(Conflict) as gone:
            await b.update("sess.1", b"4", second)
        await b.create("sess.1", b"5")
        assert (held := await a.get("sess.1")) is not None

    assert refused.value.held == Held(b"2", second)
    assert gone.value.held is None
    assert held.value == b"5"


async def test_a_watch_sees_what_is_there_and_what_changes_by_whole_words(join: Join) -> None:
    async with two(join) as (a, b):
        for user in ("1", "11", "101"):
            await a.create(joined("of", user, "s1"), user.encode())
        seen, on_change = _changes()
        await b.watch(joined("of", "1"), on_change)
        assert seen == {"of.1.s1": b"1"}

        await a.create("of.11.s2", b"11")
        await a.create("of.1.s2", b"new")
        await a.delete("of.1.s1")
        await eventually(lambda: seen == {"of.1.s2": b"new"})


async def test_a_lease_ends_with_its_member_and_by_close(join: Join) -> None:
    with anyio.fail_after(20):
        async with AsyncExitStack() as stack:
            b = await stack.enter_async_context(join("b"))
            seen, on_change = _changes()
            await b.watch("lease", on_change)
            async with join("a") as a:
                held = await a.lease("lease.a", b"here")
                await a.lease("lease.kept", b"here")
                await eventually(lambda: len(seen) == 2)
                await held.close()
                await eventually(lambda: seen == {"lease.kept": b"here"})
                await anyio.sleep(1.5)  # longer than a lease: it is renewed
                assert seen == {"lease.kept": b"here"}
            await eventually(lambda: not seen)


async def test_a_key_can_be_created_again_after_its_lease_ended(join: Join) -> None:
    """nats-py refuses as long as the marker of the expired key stands, which is a minute here."""
    with anyio.fail_after(20):
        async with join("b") as b:
            seen, on_change = _changes()
            await b.watch("lease", on_change)
            with anyio.CancelScope() as stopped:
                async with join("a") as a:
                    await a.lease("lease.1", b"first")
                    if isinstance(a, NatsBus):
                        a._leases.clear()  # pyright: ignore[reportPrivateUsage] # no word on leaving
                    stopped.cancel()
            await eventually(lambda: "lease.1" not in seen)
            assert await b.get("lease.1") is None
            rev = await b.create("lease.1", b"second")

            assert await b.get("lease.1") == Held(b"second", rev)


async def test_a_member_that_left_fails_at_once(join: Join) -> None:
    async with join("a") as a:
        pass

    with pytest.raises(EngineUnavailable):
        await a.request("hub.b", b"x", within_s=60)


# --- words ------------------------------------------------------------------------


def test_any_text_is_one_word_of_a_key_that_no_other_text_has() -> None:
    texts = ["u1", "u.1", "u=2E1", "*", ">", "a b", "é", "", "=", "==", "$KV.x"]
    keys = [joined("of", text) for text in texts]

    assert len(set(keys)) == len(texts)
    assert all(key.count(".") == 1 and not set(key) & set("*> $") for key in keys)


# --- kept over a restart ------------------------------------------------------------


async def test_a_hub_of_one_process_keeps_what_must_be_kept(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    async with LocalNetwork(file=file).bus("a") as a:
        await a.put("kept.revoked.1", b"gone")
        await a.put("sess.1", b"soft")

    async with LocalNetwork(file=file).bus("a") as a:
        assert (await a.get("kept.revoked.1")) == Held(b"gone", 1)
        assert (await a.get("sess.1")) is None
    assert file.stat().st_mode & 0o777 == 0o600


# --- an engine that fails -------------------------------------------------------------


async def test_state_is_made_again_after_the_engine_was_killed(own_server: NatsServer) -> None:
    with anyio.fail_after(30):
        async with (
            nats_bus(own_server.url, "a", lease_s=1, beat_s=0.2) as a,
            nats_bus(own_server.url, "b", lease_s=1, beat_s=0.2) as b,
        ):
            seen, on_change = _changes()
            await b.watch("sess", on_change)
            leases, on_lease = _changes()
            await b.watch("lease", on_lease)
            await a.lease("lease.a", b"a")
            await a.put("kept.revoked.1", b"gone")
            await a.put("sess.1", b"a's")
            await a.put("sess.2", b"nobody's")
            await eventually(lambda: len(seen) == 2 and len(leases) == 1)

            async def announce() -> None:
                await a.put("sess.1", b"a's again")

            a.on_reconnect.append(announce)
            own_server.kill()
            await eventually(lambda: not a.connected and not b.connected)
            with anyio.fail_after(0.5), pytest.raises(EngineUnavailable) as refused:
                await a.request("hub.b", b"x", within_s=60)
            own_server.start()

            await eventually(lambda: seen == {"sess.1": b"a's again"})
            await eventually(lambda: leases == {"lease.a": b"a"})
            held = await b.get("kept.revoked.1")
            await a.put("sess.3", b"new")
            await eventually(lambda: "sess.3" in seen)

    assert refused.value.details == {"executed": False}
    assert held is not None
    assert held.value == b"gone"


async def test_an_answer_made_while_the_engine_is_away_arrives_when_it_is_back(
    own_server: NatsServer,
) -> None:
    may_answer = anyio.Event()

    async def serve(_message: bytes, _remaining_s: float) -> bytes:
        await may_answer.wait()
        return b"done"

    answers: list[bytes] = []
    with anyio.fail_after(30):
        async with (
            nats_bus(own_server.url, "a") as a,
            nats_bus(own_server.url, "b") as b,
            anyio.create_task_group() as tasks,
        ):
            await b.serve("hub.b", serve)

            async def ask() -> None:
                answers.append(await a.request("hub.b", b"x", within_s=20))

            tasks.start_soon(ask)
            await eventually(lambda: b._served == 1)  # pyright: ignore[reportPrivateUsage]
            own_server.kill()
            await eventually(lambda: not b.connected)
            own_server.start()
            await eventually(lambda: a.connected and b.connected)
            may_answer.set()

    assert answers == [b"done"]


async def test_a_frozen_engine_is_noticed_and_nothing_runs_late(own_server: NatsServer) -> None:
    ran: list[bytes] = []

    async def serve(message: bytes, _remaining_s: float) -> bytes:
        ran.append(message)
        return message

    with anyio.fail_after(30):
        async with (
            nats_bus(own_server.url, "a", beat_s=0.2) as a,
            nats_bus(own_server.url, "b", beat_s=0.2) as b,
        ):
            await b.serve("hub.b", serve)
            await a.request("hub.b", b"before", within_s=5)
            own_server.freeze()
            with pytest.raises(BusTimeout):  # in the server's socket by now
                await a.request("hub.b", b"frozen", within_s=0.3)
            await eventually(lambda: not a.connected)
            with anyio.fail_after(0.5), pytest.raises(EngineUnavailable):
                await a.request("hub.b", b"refused", within_s=60)
            own_server.thaw()
            await eventually(lambda: a.connected and b.connected)
            await a.request("hub.b", b"after", within_s=5)

    assert ran == [b"before", b"after"]


async def test_a_server_that_is_away_for_long_is_still_tried(own_server: NatsServer) -> None:
    """nats-py gives a server up after sixty attempts unless it is told otherwise."""
    async with nats_bus(own_server.url, "a") as a:
        client = a._client  # pyright: ignore[reportPrivateUsage]

        assert client.options["max_reconnect_attempts"] == -1


async def test_no_engine_is_said_at_the_start(
    own_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_server.kill()
    monkeypatch.setattr("duetty.hub.nats_bus.CONNECT_S", 0.5)

    with anyio.fail_after(10), pytest.raises(EngineUnavailable):
        async with nats_bus(own_server.url, "a"):
            pass


async def test_the_filter_of_nats_py_still_compares_parts_of_words(
    shared_server: NatsServer,
) -> None:
    """Why watches are used instead: if this fails, nats-py was mended."""
    client = await nats.connect(shared_server.url)
    bucket = await client.jetstream().create_key_value(KeyValueConfig(bucket="trap"))
    for user in ("u1", "u11"):
        await bucket.put(f"{user}.s1", b"x")

    keys = await bucket.keys(filters=["1.s1"])
    await client.close()

    assert keys == ["u1.s1", "u11.s1"]


# --- ages -------------------------------------------------------------------------


def test_an_age_does_not_need_clocks_that_agree() -> None:
    ages = Ages()

    usual = [ages.age_s("b", stamp_s=1_000 + t, now_s=5 + t + 0.01) for t in range(10)]
    late = ages.age_s("b", stamp_s=1_010, now_s=5 + 10 + 4)

    assert usual == pytest.approx([0] * 10)
    assert late == pytest.approx(3.99)


def test_clocks_that_drift_apart_age_no_message() -> None:
    ages = Ages()
    drift = 1.0001

    oldest = max(ages.age_s("b", stamp_s=t, now_s=t * drift) for t in range(100_000))

    assert oldest < 0.1
